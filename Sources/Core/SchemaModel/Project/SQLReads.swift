/// The tables that the native SQL and the views of a project read, as its database says. A text that is not among them
/// may read anything.
///
/// Part of what is stored with a deployment, so that all nodes decide alike.
package struct SQLReads: Sendable, Hashable {
    package struct Table: Sendable, Hashable {
        /// The SQL name.
        package let name: String
        /// The SQL names of the columns, sorted; nil if the text reads whole rows.
        package let columns: [String]?

        package init(name: String, columns: [String]?) {
            self.name = name
            self.columns = columns
        }
    }

    /// How the result of a text depends on the order in which the rows of its tables are stored, which every update may
    /// change.
    package enum StoredOrder: String, Sendable, Hashable, CaseIterable {
        /// It is the same in every order.
        case none
        /// The same rows come in another order.
        case order
        /// It may have other rows: `LIMIT`, `string_agg`.
        case rows
    }

    package struct Finding: Sendable, Hashable {
        /// Sorted by name.
        package let tables: [Table]
        package let storedOrder: StoredOrder
        /// Whether the result may change as time passes.
        package let readsTime: Bool
        /// The digests of the definitions in the database that this follows from: `r:public.lot` of a table or view,
        /// `f:public.score(integer)` of a function.
        package let definitions: [String: String]

        package init(
            tables: [Table], storedOrder: StoredOrder, readsTime: Bool, definitions: [String: String] = [:]
        ) {
            self.tables = tables
            self.storedOrder = storedOrder
            self.readsTime = readsTime
            self.definitions = definitions
        }
    }

    package private(set) var findings: [String: Finding]

    package init(_ findings: [String: Finding] = [:]) { self.findings = findings }

    package static let none = SQLReads()

    package var isEmpty: Bool { findings.isEmpty }

    /// Returns what a text reads; nil if it is not known.
    /// - Parameter text: with `NULL::type` in place of its parameters.
    package subscript(text: String) -> Finding? { findings[text] }

    package mutating func add(_ finding: Finding, of text: String) { findings[text] = finding }

    /// The definitions that the findings follow from.
    package var definitions: [String: String] {
        findings.values.reduce(into: [:]) { $0.merge($1.definitions, uniquingKeysWith: SQLDigests.common) }
    }
}

extension Table {
    /// The query that a view stands for; nil for a table.
    package var viewText: String? {
        switch view {
        case nil: nil
        case .named: "SELECT * FROM \(SQLName.quoted(name))"
        case .sql(let text): text
        }
    }
}
