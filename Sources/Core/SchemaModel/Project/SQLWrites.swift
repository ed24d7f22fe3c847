/// The tables that the native SQL of a project's mutations writes, as its database says. A text that is not among them
/// may write anything.
///
/// Part of what is stored with a deployment, so that all nodes decide alike.
package struct SQLWrites: Sendable, Hashable {
    /// A table in which a text changes rows, itself or because foreign keys make rows follow others.
    package struct Table: Sendable, Hashable {
        /// The SQL name.
        package let name: String
        package let inserts: Bool
        package let deletes: Bool
        package let updates: Updates

        package init(name: String, inserts: Bool, deletes: Bool, updates: Updates) {
            self.name = name
            self.inserts = inserts
            self.deletes = deletes
            self.updates = updates
        }
    }

    package enum Updates: Sendable, Hashable {
        case none
        /// The SQL names of the columns that may be set, sorted.
        case columns([String])
        case anyColumn
    }

    package struct Finding: Sendable, Hashable {
        /// Sorted by name.
        package let tables: [Table]
        /// The digests of the definitions in the database that this follows from, as in `SQLReads`; `w:public.lot` is
        /// all that decides what writing rows of a table entails.
        package let definitions: [String: String]

        package init(tables: [Table], definitions: [String: String] = [:]) {
            self.tables = tables
            self.definitions = definitions
        }
    }

    package private(set) var findings: [String: Finding]

    package init(_ findings: [String: Finding] = [:]) { self.findings = findings }

    package static let none = SQLWrites()

    package var isEmpty: Bool { findings.isEmpty }

    /// Returns what a text writes; nil if it is not known.
    /// - Parameter text: with `NULL::type` in place of its parameters.
    package subscript(text: String) -> Finding? { findings[text] }

    package mutating func add(_ finding: Finding, of text: String) { findings[text] = finding }

    /// The definitions that the findings follow from.
    package var definitions: [String: String] {
        findings.values.reduce(into: [:]) { $0.merge($1.definitions, uniquingKeysWith: SQLDigests.common) }
    }
}
