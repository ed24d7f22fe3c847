import SchemaModel

/// The steps that build an index without blocking writers.
///
/// Postgres does not support `CREATE INDEX CONCURRENTLY` on partitioned tables. So an index is built concurrently on
/// each partition first. Then the parent index is created, to which Postgres attaches matching partition indexes. It
/// would build missing ones under a lock that blocks writers, so the parent is created only if `next` still requires
/// nothing else while that lock is held.
///
/// No plan is made ahead: the state is read before each step. So an interrupted run, a partition attached meanwhile,
/// and an existing index of a partition need no special handling.
///
/// An index that replaces another one is built under a temporary name and renamed in the transaction that drops the
/// former one. A unique index thus protects its columns at every moment.
package struct ConcurrentBuild: Sendable, Hashable {
    package enum Action: Sendable, Hashable {
        /// A slow statement that blocks nobody; must run outside a transaction.
        case alone(String)
        /// Statements of one transaction, after `lockSQL`, provided that `next` then returns the same action.
        case together([String])
        /// Cannot continue; one sentence for the operator.
        case refuse(String)
        case done
    }

    /// The object that holds the index's name and will be replaced.
    package enum Former: Sendable, Hashable {
        case index
        /// A UNIQUE constraint with its index.
        case constraint
    }

    /// `INDEX` or `UNIQUE INDEX`.
    let what: String
    package let index: QualifiedName
    package let table: QualifiedName
    /// The text after the name of the table.
    let definition: String
    /// The index that has the name now; nil if the name is free.
    let replaces: Former?
    /// The partitions when the plan was made; empty for a table without.
    let partitions: [Partition]
    /// Existing indexes that need not be built, by their table, when the plan was made.
    let present: [QualifiedName: String]

    /// Returns the temporary name of an index that will replace another one.
    static func temporaryName(_ index: String) -> String { SQLName.generated([index], suffix: temporarySuffix) }

    /// A suffix that neither schemas nor operators choose by chance.
    private static let temporarySuffix = "freshet_new"

    static func isTemporary(_ index: String) -> Bool { index.hasSuffix("_\(temporarySuffix)") }

    /// Returns the name of a partition's index, derived from the parent index.
    static func partName(_ index: String, of partition: QualifiedName) -> QualifiedName {
        QualifiedName(
            namespace: partition.namespace, name: SQLName.generated([index, partition.name], suffix: "part"))
    }

    /// Returns whether the name is that of a partition's part of a replacement, even if no index of the schema has that
    /// name. Fails for truncated names.
    static func isPartOfReplacement(_ name: String, of partition: QualifiedName) -> Bool {
        name.hasSuffix("_\(temporarySuffix)_\(partition.name)_part")
    }

    /// The name under which the index is built.
    var built: QualifiedName {
        replaces == nil
            ? index : QualifiedName(namespace: index.namespace, name: Self.temporaryName(index.name))
    }

    /// The lock for `Action.together`. Dropping an index needs the stronger lock; taking it at once avoids deadlocks.
    package var lockSQL: String {
        "LOCK TABLE \(table.quoted) IN \(replaces == nil ? "SHARE" : "ACCESS EXCLUSIVE") MODE"
    }

    /// The statements when the plan was made.
    package var planned: [String] {
        let missing = built(on: { present[$0] == nil }).map { table in
            create(table == self.table ? built : Self.partName(built.name, of: table), on: table)
        }
        return missing + (partitions.isEmpty ? [] : [createWhole]) + swap
    }

    /// Sentences about what `planned` omits.
    var notes: [String] {
        built(on: { present[$0] != nil }).map { "index \"\(present[$0] ?? "")\" of \($0.quoted) is used as it is" }
    }

    /// Returns the tables on which an index is built directly.
    private func built(on isIncluded: (QualifiedName) -> Bool) -> [QualifiedName] {
        let tables = partitions.isEmpty ? [table] : partitions.filter { $0.kind == .table }.map(\.name)
        return tables.filter(isIncluded)
    }

    /// The most steps before giving up: two per table, and again if interrupted.
    package func roundsMax(_ state: IndexState) -> Int { 4 * state.tables.count + 8 }

    /// Returns the next action for the current state.
    package func next(_ state: IndexState) -> Action {
        guard let root = state.tables.first(where: { $0.name == table }) else {
            return .refuse("table \(table.quoted) does not exist")
        }
        let divided = root.kind == .partitioned
        if let whole = root.index(index.name), whole.fits, whole.isValid {
            // Postgres used an existing index of the partition, or an earlier run left this one.
            return divided ? leftover(in: state).map { .alone($0) } ?? .done : .done
        }
        return divided ? nextOfPartitions(state, root) : nextOfTable(root)
    }

    private func nextOfTable(_ root: IndexState.Table) -> Action {
        guard let found = root.index(built.name) else { return .alone(create(built, on: table)) }
        if let refusal = underWay(found, root) { return refusal }
        if found.isValid, found.fits { return .together(swap) }
        if found.isValid, replaces == nil {
            return .refuse("index \"\(built.name)\" was just created with another definition")
        }
        return .alone(drop(built))
    }

    private func nextOfPartitions(_ state: IndexState, _ root: IndexState.Table) -> Action {
        let former = root.index(built.name)
        if let former, replaces == nil {
            return .refuse(
                former.isValid
                    ? "index \"\(built.name)\" was just created with another definition"
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
                    "index \"\(broken.name)\" of partition \"\(part.name.name)\""
                        + " is invalid, but Postgres would attach it"
                        + " to \"\(index.name)\": attach the missing partition indexes to it, or drop it")
            case .table:
                // An invalid index would be attached too and would make the parent invalid.
                if let useless = part.indexes.first(where: {
                    $0.isLoose && ($0.fits ? !$0.isValid : $0.name == own.name)
                }) {
                    return .alone(drop(QualifiedName(namespace: part.name.namespace, name: useless.name)))
                }
                if part.indexes.contains(where: { $0.fits && $0.isValid && $0.isFree }) { continue }
                // If the name is taken by a part of another index, Postgres chooses one.
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

    /// Describes an invalid index with a name from the schema on a partitioned table. Builds by this service never
    /// leave one, since they create the parent index last.
    static func handmade(_ index: String) -> String {
        "index \"\(index)\" is invalid, like an index created with ON ONLY until every partition's index"
            + " is attached"
    }

    private func underWay(_ found: IndexState.Index, _ table: IndexState.Table) -> Action? {
        found.builder.map {
            .refuse(
                "index \"\(found.name)\" of \"\(table.name.name)\" is being built by another session (pid \($0));"
                    + " run freshet migrate again after that")
        }
    }

    /// Statements that replace an index in one transaction, together with `swap`; they block writers.
    var atOnce: [String] { ["DROP INDEX IF EXISTS \(built.quoted)", createWhole] }

    private var createWhole: String { "CREATE \(what) \(SQLName.quoted(built.name)) ON \(table.quoted)\(definition)" }

    var swap: [String] {
        guard let dropFormer else { return [] }
        return [
            dropFormer,
            "ALTER INDEX \(built.quoted) RENAME TO \(SQLName.quoted(index.name))",
        ]
    }

    /// The statement that drops the former index; nil if the name is free.
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
