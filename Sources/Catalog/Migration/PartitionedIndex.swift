/// A table that holds rows of another one, by `PARTITION OF`.
package struct Partition: Sendable, Hashable {
    package struct Name: Sendable, Hashable {
        package var namespace: String
        package var name: String

        var qualified: String { "\(SQLName.quoted(namespace)).\(SQLName.quoted(name))" }
    }

    package var name: Name
    /// The table that it is a partition of.
    package var parent: Name
    /// Not itself divided.
    package var isLeaf: Bool
    /// As `DatabaseDescription.Table.invalidIndexes`.
    package var invalidIndexes: [String] = []
}

/// An index of a table with partitions, built while others write: Postgres refuses `CREATE INDEX CONCURRENTLY` on the
/// table as a whole. First the table's own, which serves nothing yet; then one for each partition, concurrently; once all
/// are attached, Postgres takes the first for whole. A run that breaks off leaves it invalid, and the next plan removes
/// it.
struct PartitionedIndex {
    /// `INDEX`, `UNIQUE INDEX`
    let what: String
    let name: Partition.Name
    let table: Partition.Name
    /// What follows the name of the table.
    let definition: String
    let partitions: [Partition]

    /// The name of the index of a partition, by that of the whole one.
    static func name(_ index: String, of partition: Partition) -> Partition.Name {
        Partition.Name(
            namespace: partition.name.namespace,
            name: SQLName.generated([index, partition.name.name], suffix: "part"))
    }

    /// Each by itself, outside of any transaction.
    var statements: [String] {
        [create(name, on: table, isWhole: false)] + below(table, name)
    }

    private func below(_ parent: Partition.Name, _ index: Partition.Name) -> [String] {
        partitions.filter { $0.parent == parent }.flatMap { partition -> [String] in
            let part = Self.name(name.name, of: partition)
            return [create(part, on: partition.name, isWhole: partition.isLeaf)]
                + (partition.isLeaf ? [] : below(partition.name, part))
                + ["ALTER INDEX \(index.qualified) ATTACH PARTITION \(part.qualified)"]
        }
    }

    private func create(_ index: Partition.Name, on table: Partition.Name, isWhole: Bool) -> String {
        "CREATE \(what)\(isWhole ? " CONCURRENTLY" : "") IF NOT EXISTS \(SQLName.quoted(index.name)) ON"
            + "\(isWhole ? "" : " ONLY") \(table.qualified)\(definition)"
    }
}
