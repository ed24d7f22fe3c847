/// What an operation reads and writes, as far as its text tells: for explanations and lints, never for refreshing.
///
/// Values are named by where they come from, as a refresh condition would: `variables.id`, `auth.uid`.
package struct ReadWriteSet: Sendable {
    /// Rows of one table at one place of a query.
    package struct Read: Sendable {
        /// SQL name.
        package let table: String
        /// Fields that have one known value in all rows read here, with its source.
        package let equal: [String: String]
        /// Fields that the rows are searched by, in a way that a B-tree index could serve.
        package let searchedBy: [String]
        package let kind: Kind

        package enum Kind: Sendable {
            /// By primary key.
            case lookup
            /// One row by another condition, or of a reference.
            case single
            case list
            /// Only looked at by a filter.
            case filter
        }
    }

    /// Rows of one table that a mutation writes.
    package struct Write: Sendable {
        package let table: String
        /// Fields that have one known value in all these rows, before and after, with its source.
        package let known: [String: String]
        /// Deleted or set to null because a row it refers to is deleted.
        package let isCascade: Bool
    }

    package internal(set) var reads: [Read] = []
    package internal(set) var writes: [Write] = []
    /// Native SQL, a view, a filter from a variable or a custom resolver: not all is known here.
    package internal(set) var isPartial = false
    /// The result may change by itself as time passes.
    package internal(set) var readsTime = false

    package static let nothing = ReadWriteSet()

    package var tablesRead: Set<String> { Set(reads.map(\.table)) }
    package var tablesWritten: Set<String> { Set(writes.map(\.table)) }

    /// The one condition under which a mutation concerns a query, `request.variables.id == mutation.variables.movieId`;
    /// nil when there is no such condition or more than one.
    ///
    /// Sound because every row that the mutation writes and that the query could read has, before and after, the same
    /// value of a field that both know.
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
