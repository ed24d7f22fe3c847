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
    /// Names of indexes that are invalid, or no parts of an index of the table around.
    package var looseIndexes: [String] = []
}

/// An index of a table with partitions, built while others write: Postgres refuses `CREATE INDEX CONCURRENTLY` on the
/// table as a whole. So each partition that holds rows gets its own first, concurrently; then the whole one is created,
/// for which Postgres takes those of the partitions where they have the same definition, and has nothing left to build.
/// As ever, foreign tables are left out. A run that breaks off leaves indexes of partitions, which the next plan removes.
struct PartitionedIndex {
    /// `INDEX`, `UNIQUE INDEX`
    let what: String
    let name: QualifiedName
    let table: QualifiedName
    /// What follows the name of the table.
    let definition: String
    let partitions: [Partition]

    /// The name of the index of a partition, by that of the whole one.
    static func name(_ index: String, of partition: Partition) -> QualifiedName {
        QualifiedName(
            namespace: partition.name.namespace,
            name: SQLName.generated([index, partition.name.name], suffix: "part"))
    }

    var build: ConcurrentBuild {
        let parts = partitions.filter { $0.kind == .table }.map {
            "CREATE \(what) CONCURRENTLY IF NOT EXISTS \(SQLName.quoted(Self.name(name.name, of: $0).name))"
                + " ON \($0.name.quoted)\(definition)"
        }
        return ConcurrentBuild(
            parts: parts,
            whole: "CREATE \(what) IF NOT EXISTS \(SQLName.quoted(name.name)) ON \(table.quoted)\(definition)",
            index: name, table: table)
    }
}
