import SchemaModel

/// A name with its Postgres schema.
package struct QualifiedName: Sendable, Hashable {
    package var namespace: String
    package var name: String

    var quoted: String { "\(SQLName.quoted(namespace)).\(SQLName.quoted(name))" }
}

/// How a table is divided.
package struct Partitioning: Sendable, Hashable {
    /// That the table or one of its partitions is divided by: every unique index must hold them.
    package var columns: [String]
    /// Divided by an expression, so that no index can be unique.
    package var usesExpressions: Bool
    /// All below, partitions of partitions included.
    package var partitions: [Partition] = []

    /// Why no unique index over these columns can be had; nil where it can. Postgres would refuse it, too, but only once
    /// the indexes of the partitions are built.
    func refusal(ofUnique columns: Set<String>) -> String? {
        if let foreign = partitions.first(where: { $0.kind == .foreign }) {
            return "its partition \"\(foreign.name.name)\" is a foreign table"
        }
        if usesExpressions { return "it is divided by an expression" }
        return self.columns.first { !columns.contains($0) }.map {
            "it is divided by \"\($0)\", which every unique index of it must hold"
        }
    }
}

/// A table that holds rows of another one, by `PARTITION OF`.
package struct Partition: Sendable, Hashable {
    /// `relkind` of `pg_class`.
    package enum Kind: String, Sendable, Hashable {
        case table = "r"
        /// Itself divided.
        case partitioned = "p"
        /// Has no indexes.
        case foreign = "f"
    }

    package var name: QualifiedName
    package var kind: Kind
    /// Valid ones that are not partial and no parts of an index of the whole table, in the order in which Postgres looks
    /// for a part.
    package var indexes: [DatabaseDescription.Index] = []
    /// Names of valid indexes that are no parts of an index of the table around.
    package var looseIndexes: [String] = []
    /// Names of indexes that are invalid and that nobody is building.
    package var invalidIndexes: [String] = []
}
