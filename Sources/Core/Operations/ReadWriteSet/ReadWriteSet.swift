package import SchemaModel

/// The tables and rows that an operation reads and writes, as far as its text determines them, for explanations and
/// lints, and the sites by which automatic refreshes find what a change concerns.
///
/// Values are named by their sources as in a refresh condition: `variables.id`, `auth.uid`.
package struct ReadWriteSet: Sendable {
    /// The rows of one table that a part of a query reads.
    package struct Read: Sendable {
        /// SQL name of the table.
        package let table: String
        /// Fields that have the same known value in all these rows, with its source.
        package let equal: [String: String]
        /// Fields that the rows are filtered by in a way that a B-tree index supports.
        package let searchedBy: [String]
        package let kind: Kind

        package enum Kind: Sendable {
            /// A lookup by primary key.
            case lookup
            /// A single row found by another condition or through a reference.
            case single
            case list
            /// Read only by a filter.
            case filter
        }
    }

    /// The rows of one table that a mutation writes.
    package struct Write: Sendable {
        package let table: String
        /// Fields that have the same known value in all these rows, before and after, with its source.
        package let known: [String: String]
        /// The fields that are set in existing rows; nil if rows come or go.
        package let fields: Set<String>?
        /// Whether Postgres deletes the rows, or sets columns to null, because a referenced row is deleted.
        package let isCascade: Bool
    }

    package internal(set) var reads: [Read] = []
    package internal(set) var writes: [Write] = []
    /// The tables of a query's root fields.
    package internal(set) var rootTables: Set<String> = []
    /// The fields that a query selects, compares, orders by or joins by, by table.
    package internal(set) var fieldsRead: [String: Set<String>] = [:]
    /// Whether the set is incomplete, because of native SQL or a view of which it is not known what it reads, a
    /// filter or order from a variable or a custom resolver.
    package internal(set) var isPartial = false
    /// Whether the result may change as time passes.
    package internal(set) var readsTime = false
    /// Whether a mutation may write any rows of any table: native SQL.
    package internal(set) var mayWriteAnything = false
    /// The tables of a mutation whose references may follow what it changes.
    package internal(set) var tablesFollowing: Set<String> = []
    /// The places where a query reads rows.
    package internal(set) var sites = ReadSites()
    /// The SQL texts of native SQL and views that a query reads, with `NULL::type` in place of parameters.
    package internal(set) var sqlTexts: Set<String> = []
    /// The SQL texts of native SQL that a mutation runs, with `NULL::type` in place of parameters.
    package internal(set) var sqlWriteTexts: Set<String> = []
    /// The tables that these read, as far as they are known.
    package internal(set) var sqlReads = SQLReads.none

    package static let nothing = ReadWriteSet()

    package var tablesRead: Set<String> { Set(reads.map(\.table)) }
    package var tablesWritten: Set<String> { Set(writes.map(\.table)) }

    /// Returns whether a write may change what this query reads.
    package func isChanged(by write: Write) -> Bool {
        guard tablesRead.contains(write.table) else { return false }
        guard !isPartial, let fields = write.fields else { return true }
        return !fields.isDisjoint(with: fieldsRead[write.table] ?? [])
    }

    /// Returns the tables in which a mutation may change what this query reads.
    package func tablesChanged(by mutation: ReadWriteSet) -> Set<String> {
        Set(mutation.writes.filter(isChanged).map(\.table))
    }

    /// Returns the only condition under which a mutation affects a query, `request.variables.id ==
    /// mutation.variables.novelId`; nil if there is none, or more than one.
    ///
    /// The condition is sound because every row that the mutation writes and the query could read has the same value,
    /// before and after, in a field that both know.
    package static func condition(query: ReadWriteSet, mutation: ReadWriteSet) -> String? {
        guard !query.isPartial, !mutation.isPartial, !query.readsTime else { return nil }
        var conditions: Set<String> = []
        for write in mutation.writes {
            for read in query.reads where read.table == write.table {
                let shared = read.equal.keys.sorted().first { write.known[$0] != nil }
                guard let shared, let mine = read.equal[shared], let other = write.known[shared] else { return nil }
                conditions.insert("request.\(mine) == mutation.\(other)")
            }
        }
        return conditions.count == 1 ? conditions.first : nil
    }
}
