import SchemaModel

/// A name qualified by its Postgres schema.
package struct QualifiedName: Sendable, Hashable {
    package var namespace: String
    package var name: String

    var quoted: String { "\(SQLName.quoted(namespace)).\(SQLName.quoted(name))" }
}

/// The partitioning of a table.
package struct Partitioning: Sendable, Hashable {
    /// The columns that the table or its partitions are partitioned by; every unique index must include them.
    package var columns: [String]
    /// Whether it is partitioned by an expression, so that no index can be unique.
    package var usesExpressions: Bool
    /// All partitions, including partitions of partitions.
    package var partitions: [Partition] = []

    /// Explains why no unique index over these columns is possible; nil if it is. Postgres would also reject it, but
    /// only after the indexes of the partitions are built.
    func refusal(ofUnique columns: Set<String>) -> String? {
        if let foreign = partitions.first(where: { $0.kind == .foreign }) {
            return "its partition \"\(foreign.name.name)\" is a foreign table"
        }
        if usesExpressions { return "it is partitioned by an expression" }
        return self.columns.first { !columns.contains($0) }.map {
            "it is partitioned by \"\($0)\", which every unique index must include"
        }
    }
}

/// A table that contains rows of another one: `PARTITION OF`.
package struct Partition: Sendable, Hashable {
    /// The `relkind` of `pg_class`.
    package enum Kind: String, Sendable, Hashable {
        case table = "r"
        /// A partition that is partitioned itself.
        case partitioned = "p"
        /// A foreign table, which has no indexes.
        case foreign = "f"
    }

    package var name: QualifiedName
    package var kind: Kind
    /// Valid indexes that are not partial and not part of an index of the whole table, in the order in which Postgres
    /// searches for an index to attach.
    package var indexes: [DatabaseDescription.Index] = []
    /// Names of valid indexes that are not attached to an index of the parent table.
    package var looseIndexes: [String] = []
    /// Names of invalid indexes that no process is building.
    package var invalidIndexes: [String] = []
}
