import SchemaModel

/// How an index is built while others write.
///
/// Postgres refuses `CREATE INDEX CONCURRENTLY` on a table with partitions. So each partition that holds rows gets an
/// index of its own first; then the whole one is created, of which Postgres makes those of the partitions parts where
/// they are of the same definition. It would build what is missing at once, under a lock that writers wait for: that is
/// why the whole one is created only when `next` says so while the lock is held.
///
/// Nothing is decided ahead: what is there is looked at before each step, so a run that broke off, a partition that
/// somebody attached meanwhile and an index that a partition had before are all the same to it.
///
/// An index that takes the place of another one is built under a name of its own and takes over the name in the
/// transaction that drops the former: a unique one protects its columns at every moment.
package struct ConcurrentBuild: Sendable, Hashable {
    package enum Action: Sendable, Hashable {
        /// Takes long and holds up nobody; outside of any transaction.
        case alone(String)
        /// In one transaction that has run `lockSQL`, if `next` then still says the same.
        case together([String])
        /// One sentence for the operator.
        case refuse(String)
        case done
    }

    /// What has the name of the index now, and makes room for it.
    package enum Former: Sendable, Hashable {
        case index
        /// A UNIQUE constraint, with its index.
        case constraint
    }

    /// `INDEX`, `UNIQUE INDEX`
    let what: String
    package let index: QualifiedName
    package let table: QualifiedName
    /// What follows the name of the table.
    let definition: String
    /// Nil where the name is free.
    let replaces: Former?
    /// As the plan saw them; none of a table without.
    let partitions: [Partition]
    /// By the table that it is of, the name of an index that need not be built, as far as the plan can tell.
    let present: [QualifiedName: String]

    /// Of an index that is to take the place of another one.
    static func temporaryName(_ index: String) -> String { SQLName.generated([index], suffix: temporarySuffix) }

    /// No schema and no operator gives it by chance.
    private static let temporarySuffix = "freshet_new"

    static func isTemporary(_ index: String) -> Bool { index.hasSuffix("_\(temporarySuffix)") }

    /// The name of the index of a partition, by that of the whole one.
    static func partName(_ index: String, of partition: QualifiedName) -> QualifiedName {
        QualifiedName(
            namespace: partition.namespace, name: SQLName.generated([index, partition.name], suffix: "part"))
    }

    /// Also where no index of the schema would have it, unless the name was too long to be kept whole.
    static func isPartOfReplacement(_ name: String, of partition: QualifiedName) -> Bool {
        name.hasSuffix("_\(temporarySuffix)_\(partition.name)_part")
    }

    /// What the index is called until it is whole.
    var built: QualifiedName {
        replaces == nil
            ? index : QualifiedName(namespace: index.namespace, name: Self.temporaryName(index.name))
    }

    /// Of `Action.together`. What drops an index needs the greater lock, and taking it at once is what cannot deadlock.
    package var lockSQL: String {
        "LOCK TABLE \(table.quoted) IN \(replaces == nil ? "SHARE" : "ACCESS EXCLUSIVE") MODE"
    }

    /// As far as the plan can tell.
    package var planned: [String] {
        let missing = built(on: { present[$0] == nil }).map { table in
            create(table == self.table ? built : Self.partName(built.name, of: table), on: table)
        }
        return missing + (partitions.isEmpty ? [] : [createWhole]) + swap
    }

    /// What `planned` leaves out, in sentences.
    var notes: [String] {
        built(on: { present[$0] != nil }).map { "index \"\(present[$0] ?? "")\" of \($0.quoted) is taken as it stands" }
    }

    /// The tables that get an index by themselves.
    private func built(on isIncluded: (QualifiedName) -> Bool) -> [QualifiedName] {
        let tables = partitions.isEmpty ? [table] : partitions.filter { $0.kind == .table }.map(\.name)
        return tables.filter(isIncluded)
    }

    /// Every table gets its index in two steps at most, and once more if it was cut off.
    package func roundsMax(_ state: IndexState) -> Int { 4 * state.tables.count + 8 }

    package func next(_ state: IndexState) -> Action {
        guard let root = state.tables.first(where: { $0.name == table }) else {
            return .refuse("there is no table \(table.quoted)")
        }
        let divided = root.kind == .partitioned
        if let whole = root.index(index.name), whole.fits, whole.isValid {
            // Postgres took an index that the partition had; or an earlier run left it behind.
            return divided ? leftover(in: state).map { .alone($0) } ?? .done : .done
        }
        return divided ? nextOfPartitions(state, root) : nextOfTable(root)
    }

    private func nextOfTable(_ root: IndexState.Table) -> Action {
        guard let found = root.index(built.name) else { return .alone(create(built, on: table)) }
        if let refusal = underWay(found, root) { return refusal }
        if found.isValid, found.fits { return .together(swap) }
        if found.isValid, replaces == nil {
            return .refuse("index \"\(built.name)\" exists with another definition since a moment ago")
        }
        return .alone(drop(built))
    }

    private func nextOfPartitions(_ state: IndexState, _ root: IndexState.Table) -> Action {
        let former = root.index(built.name)
        if let former, replaces == nil {
            return .refuse(
                former.isValid
                    ? "index \"\(built.name)\" exists with another definition since a moment ago"
                    : Self.handmade(built.name))
        }
        if former?.isValid == true, former?.fits == true { return .together(swap) }
        for part in state.tables where part.name != table {
            let own = Self.partName(built.name, of: part.name)
            for found in part.indexes where found.fits || found.name == own.name {
                if let refusal = underWay(found, part) { return refusal }
            }
            switch part.kind {
            case .foreign: continue
            case .partitioned:
                guard let broken = part.indexes.first(where: { $0.fits && !$0.isValid }) else { continue }
                return .refuse(
                    "index \"\(broken.name)\" of partition \"\(part.name.name)\" is not valid, and Postgres would make it"
                        + " a part of \"\(index.name)\": attach to it what it lacks, or drop it")
            case .table:
                // An invalid one would be made a part, too, and the whole one be invalid with it.
                if let useless = part.indexes.first(where: {
                    $0.isLoose && ($0.fits ? !$0.isValid : $0.name == own.name)
                }) {
                    return .alone(drop(QualifiedName(namespace: part.name.namespace, name: useless.name)))
                }
                if part.indexes.contains(where: { $0.fits && $0.isValid && $0.isFree }) { continue }
                // Where the name is taken, by a part of another index, Postgres finds one.
                return .alone(create(part.index(own.name) == nil ? own : nil, on: part.name))
            }
        }
        return .together((former == nil ? [] : ["DROP INDEX \(built.quoted)"]) + [createWhole] + swap)
    }

    private func leftover(in state: IndexState) -> String? {
        for part in state.tables where part.name != table {
            for name in [index.name, Self.temporaryName(index.name)].map({ Self.partName($0, of: part.name) })
            where part.index(name.name)?.isLoose == true && part.index(name.name)?.builder == nil {
                return drop(name)
            }
        }
        return nil
    }

    /// Of an index of a table with partitions that is not valid under a name that the schema gives. No build here leaves
    /// one, since the whole one is created last.
    static func handmade(_ index: String) -> String {
        "index \"\(index)\" is not valid, as one that is put together by hand (ON ONLY) is until every partition has"
            + " its index attached to it"
    }

    private func underWay(_ found: IndexState.Index, _ table: IndexState.Table) -> Action? {
        found.builder.map {
            .refuse(
                "index \"\(found.name)\" of \"\(table.name.name)\" is just being built by another session (pid \($0));"
                    + " once that has ended, freshet migrate does the rest")
        }
    }

    /// In one transaction with `swap`, of an index that takes the place of another one: only writers wait.
    var atOnce: [String] { ["DROP INDEX IF EXISTS \(built.quoted)", createWhole] }

    private var createWhole: String { "CREATE \(what) \(SQLName.quoted(built.name)) ON \(table.quoted)\(definition)" }

    var swap: [String] {
        guard let dropFormer else { return [] }
        return [
            dropFormer,
            "ALTER INDEX \(built.quoted) RENAME TO \(SQLName.quoted(index.name))",
        ]
    }

    /// Nil where the name is free.
    private var dropFormer: String? {
        switch replaces {
        case nil: nil
        case .index: "DROP INDEX IF EXISTS \(index.quoted)"
        case .constraint: "ALTER TABLE \(table.quoted) DROP CONSTRAINT IF EXISTS \(SQLName.quoted(index.name))"
        }
    }

    private func create(_ name: QualifiedName?, on table: QualifiedName) -> String {
        "CREATE \(what) CONCURRENTLY \(name.map { SQLName.quoted($0.name) + " " } ?? "")ON \(table.quoted)\(definition)"
    }

    private func drop(_ name: QualifiedName) -> String { "DROP INDEX CONCURRENTLY IF EXISTS \(name.quoted)" }
}
