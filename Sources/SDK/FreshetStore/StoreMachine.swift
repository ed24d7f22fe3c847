package import FreshetTypes
package import JSON

/// The normalised cache of one user: results as trees, rows once each, and above them what queued mutations are
/// expected to change. Pure: it has no file and no clock. Source: SDK specification §1 rows 12, 23 and §4 (7).
///
/// A row lives as long as a result refers to it. Results that nobody follows are evicted by last use beyond `bytesMax`.
///
/// Long, because results and rows refer to each other.
package struct StoreMachine: Sendable {
    private struct Result: Sendable {
        var tree: ResultTree
        var rows: Set<EntityID>
        var revision: String
        var fetchedAtMs: Int64
        /// The server's name for the result, as long as its rows are those that came with it.
        var tag: String?
        var usedAt: UInt64
        var bytes: Int
        /// How many follow it.
        var pins = 0
    }

    private struct Entity: Sendable {
        var record: EntityRecord
        var results: Set<ResultKey> = []
        var bytes: Int
        /// A mutation deleted it; a later result that contains it shows it again.
        var isDeleted = false
    }

    private struct Layer: Sendable {
        let id: String
        let changes: [OptimisticChange]
    }

    /// The bound on the estimated memory of results that nobody follows, with their rows.
    package let bytesMax: Int
    private var results: [ResultKey: Result] = [:]
    private var entities: [EntityID: Entity] = [:]
    private var layers: [Layer] = []
    private var pinsBeforeResult: [ResultKey: Int] = [:]
    private var uses: UInt64 = 0
    package private(set) var bytes = 0

    package init(bytesMax: Int) { self.bytesMax = bytesMax }

    package var resultCount: Int { results.count }
    package var entityCount: Int { entities.count }
    /// How many follow a result, in all.
    package var pinCount: Int {
        pinsBeforeResult.values.reduce(0, +) + results.values.reduce(0) { $0 + $1.pins }
    }
    package func contains(_ key: ResultKey) -> Bool { results[key] != nil }

    // MARK: Reading

    /// The result with what queued mutations change; nil if it is not in memory or of another revision.
    package mutating func read(_ key: ResultKey, revision: String) -> StoredDocument? {
        guard let result = results[key], result.revision == revision else { return nil }
        uses += 1
        results[key]?.usedAt = uses
        return StoredDocument(document: document(result.tree), fetchedAtMs: result.fetchedAtMs)
    }

    /// The result exactly as the server sent it under this tag; nil if there is no tag, or another result has brought
    /// a newer row.
    package func tagged(_ key: ResultKey, revision: String) -> (tag: String, document: JSONValue)? {
        guard let result = results[key], result.revision == revision, let tag = result.tag else { return nil }
        return (tag, document(result.tree, [:]))
    }

    private func document(_ tree: ResultTree) -> JSONValue {
        document(tree, layers.isEmpty ? [:] : changesByRow())
    }

    private func document(_ tree: ResultTree, _ changes: [EntityID: [OptimisticChange]]) -> JSONValue {
        return tree.document { fields(of: $0, changes[$0] ?? []) }
    }

    /// The fields of a row that results show; nil if none does.
    package func fields(of id: EntityID) -> JSONObject? {
        fields(of: id, layers.isEmpty ? [] : changesByRow()[id] ?? [])
    }

    private func fields(of id: EntityID, _ changes: [OptimisticChange]) -> JSONObject? {
        guard let entity = entities[id], !entity.isDeleted else { return nil }
        var fields = entity.record.fields
        for change in changes {
            guard let new = change.fields else { return nil }
            for entry in new { fields[entry.key] = entry.value }
        }
        return fields
    }

    private func changesByRow() -> [EntityID: [OptimisticChange]] {
        var changes: [EntityID: [OptimisticChange]] = [:]
        for layer in layers { for change in layer.changes { changes[change.id, default: []].append(change) } }
        return changes
    }

    // MARK: Following

    /// A followed result is not evicted.
    package mutating func follow(_ key: ResultKey) {
        if results[key] != nil { results[key]?.pins += 1 } else { pinsBeforeResult[key, default: 0] += 1 }
    }

    package mutating func unfollow(_ key: ResultKey) -> StoreOutcome {
        if let pins = results[key]?.pins, pins > 0 {
            results[key]?.pins = pins - 1
        } else if let pins = pinsBeforeResult[key] {
            pinsBeforeResult[key] = pins > 1 ? pins - 1 : nil
        }
        var outcome = StoreOutcome()
        evict(&outcome)
        return outcome
    }

    // MARK: Writing

    /// The server sent a result.
    /// - Parameter tag: the server's name for it.
    package mutating func write(
        _ key: ResultKey, _ document: JSONValue, _ shape: EntityShape, revision: String, atMs: Int64,
        tag: String? = nil
    ) -> StoreOutcome {
        let new = NormalizedResult(document, shape)
        var outcome = StoreOutcome()
        let isSameTree = results[key]?.tree == new.tree && results[key]?.revision == revision
        var changedRecords: [EntityID: EntityRecord] = [:]
        for id in new.records.keys.sorted() {
            guard let newer = new.records[id] else { continue }
            if let record = merge(id, newer, &outcome) { changedRecords[id] = record }
        }
        // Not the server's text if the query selects different values of a row under one name.
        let isExact = tag != nil && self.document(new.tree, [:]) == document
        let tag = isExact ? tag : nil
        if !isSameTree { outcome.changed.insert(key) }
        put(key, new.tree, revision, atMs, tag, &outcome)
        outcome.saved.append(
            SavedResult(
                key: key, revision: revision, fetchedAtMs: atMs, tag: tag, tree: isSameTree ? nil : new.tree,
                rows: isSameTree ? [] : new.tree.rows, records: changedRecords))
        evict(&outcome)
        return outcome
    }

    /// Results whose rows have changed are no longer what the server named.
    private mutating func dropTags(_ keys: Set<ResultKey>) { for key in keys { results[key]?.tag = nil } }

    /// Merges the fields of a row that the server sent.
    /// - Returns: the record, if it changed.
    private mutating func merge(_ id: EntityID, _ newer: EntityRecord, _ outcome: inout StoreOutcome) -> EntityRecord? {
        guard var entity = entities[id] else {
            entities[id] = Entity(record: newer, bytes: newer.bytes)
            bytes += newer.bytes
            outcome.events.append(EntityEvent(kind: .created, record: newer))
            return newer
        }
        let names = newer.fields.entries.filter { entity.record.fields[$0.key] != $0.value }.map(\.key)
        guard !names.isEmpty || entity.isDeleted else { return nil }
        // A field that is new here is in no other result.
        if entity.isDeleted || names.contains(where: { entity.record.fields[$0] != nil }) { dropTags(entity.results) }
        entity.record = entity.record.merging(newer.fields)
        entity.isDeleted = false
        bytes += entity.record.bytes - entity.bytes
        entity.bytes = entity.record.bytes
        entities[id] = entity
        outcome.changed.formUnion(entity.results)
        outcome.events.append(EntityEvent(kind: .updated(fields: names), record: entity.record))
        return entity.record
    }

    private mutating func put(
        _ key: ResultKey, _ tree: ResultTree, _ revision: String, _ atMs: Int64, _ tag: String?,
        _ outcome: inout StoreOutcome
    ) {
        let rows = tree.rows
        let former = results[key]
        uses += 1
        let result = Result(
            tree: tree, rows: rows, revision: revision, fetchedAtMs: atMs, tag: tag, usedAt: uses,
            bytes: tree.bytes + key.variables.utf8.count + 128,
            pins: former?.pins ?? pinsBeforeResult.removeValue(forKey: key) ?? 0)
        bytes += result.bytes - (former?.bytes ?? 0)
        results[key] = result
        for id in rows { entities[id]?.results.insert(key) }
        if let former { release(key, former.rows.subtracting(rows), &outcome) }
    }

    /// Removes references of a result. A row without any goes away.
    private mutating func release(_ key: ResultKey, _ rows: Set<EntityID>, _ outcome: inout StoreOutcome) {
        for id in rows.sorted() {
            entities[id]?.results.remove(key)
            guard let entity = entities[id], entity.results.isEmpty else { continue }
            entities[id] = nil
            bytes -= entity.bytes
            outcome.events.append(EntityEvent(kind: .deleted, record: entity.record))
        }
    }

    /// A result was read from a file. What is in memory is newer.
    package mutating func load(_ saved: SavedResult) {
        guard results[saved.key] == nil, let tree = saved.tree else { return }
        var tag = saved.tag
        for (id, record) in saved.records {
            guard let entity = entities[id] else {
                entities[id] = Entity(record: record, bytes: record.bytes)
                bytes += record.bytes
                continue
            }
            let merged = record.merging(entity.record.fields)
            if entity.isDeleted || record.fields.contains(where: { merged.fields[$0.key] != $0.value }) { tag = nil }
            bytes += merged.bytes - entity.bytes
            entities[id]?.record = merged
            entities[id]?.bytes = merged.bytes
        }
        var outcome = StoreOutcome()
        put(saved.key, tree, saved.revision, saved.fetchedAtMs, tag, &outcome)
    }

    /// Removes a result, for example one that no longer fits its type.
    package mutating func remove(_ key: ResultKey) -> StoreOutcome {
        var outcome = StoreOutcome()
        drop(key, &outcome)
        return outcome
    }

    /// Removes what the server says is no longer right: results of operations, and those that show certain rows.
    ///
    /// Followed results stay followed: their next result is the server's.
    /// - Returns: the results that are gone, in order; nothing else changes for those who read.
    package mutating func invalidate(_ selection: StoreSelection) -> [ResultKey] {
        if selection.isEmpty { return [] }
        let chosen = results.filter { key, result in
            selection.isEverything || selection.operations.contains(key.operation)
                || !result.rows.isDisjoint(with: selection.entities)
        }
        // Leaving the cache is no event of the rows.
        var outcome = StoreOutcome()
        for key in chosen.keys.sorted() { drop(key, &outcome) }
        return outcome.evicted
    }

    private mutating func drop(_ key: ResultKey, _ outcome: inout StoreOutcome) {
        guard let result = results.removeValue(forKey: key) else { return }
        if result.pins > 0 { pinsBeforeResult[key] = result.pins }
        bytes -= result.bytes
        outcome.evicted.append(key)
        release(key, result.rows, &outcome)
    }

    /// Drops the results that were not used for longest, down to nine tenths of the bound. Followed ones remain, so the
    /// memory of those comes on top.
    private mutating func evict(_ outcome: inout StoreOutcome) {
        guard bytes > bytesMax else { return }
        let candidates = results.filter { $0.value.pins == 0 }.sorted { $0.value.usedAt < $1.value.usedAt }
        var evicted = StoreOutcome()
        for (key, _) in candidates {
            guard bytes > bytesMax / 10 * 9 else { break }
            drop(key, &evicted)
        }
        // Leaving memory is no event of the rows.
        outcome.evicted += evicted.evicted
        for key in evicted.evicted { outcome.changed.remove(key) }
    }

    // MARK: Optimistic changes

    /// Shows what a queued mutation is expected to change.
    package mutating func apply(_ id: String, _ changes: [OptimisticChange]) -> StoreOutcome {
        guard !changes.isEmpty, !layers.contains(where: { $0.id == id }) else { return StoreOutcome() }
        layers.append(Layer(id: id, changes: changes))
        return outcome(of: changes)
    }

    /// The mutation was applied: the changes count as sent by the server, until it sends its own.
    package mutating func commit(_ id: String) -> StoreOutcome {
        guard let index = layers.firstIndex(where: { $0.id == id }) else { return StoreOutcome() }
        let layer = layers.remove(at: index)
        var outcome = StoreOutcome()
        for change in layer.changes {
            guard var entity = entities[change.id] else { continue }
            if let fields = change.fields {
                entity.record = entity.record.merging(fields)
                bytes += entity.record.bytes - entity.bytes
                entity.bytes = entity.record.bytes
            } else {
                entity.isDeleted = true
            }
            entities[change.id] = entity
            dropTags(entity.results)
            outcome.changed.formUnion(entity.results)
            for key in entity.results.sorted() {
                guard let result = results[key] else { continue }
                outcome.saved.append(
                    SavedResult(
                        key: key, revision: result.revision, fetchedAtMs: result.fetchedAtMs, tree: nil,
                        records: change.fields == nil ? [:] : [change.id: entity.record]))
                break
            }
        }
        return outcome
    }

    /// The mutation was refused: what it changed is undone.
    package mutating func revert(_ id: String) -> StoreOutcome {
        guard let index = layers.firstIndex(where: { $0.id == id }) else { return StoreOutcome() }
        return outcome(of: layers.remove(at: index).changes)
    }

    private func outcome(of changes: [OptimisticChange]) -> StoreOutcome {
        var outcome = StoreOutcome()
        for change in changes {
            guard let entity = entities[change.id] else { continue }
            outcome.changed.formUnion(entity.results)
            let kind =
                change.fields.map { EntityEvent.Kind.updated(fields: $0.entries.map(\.key)) } ?? .updated(fields: [])
            outcome.events.append(EntityEvent(kind: kind, record: entity.record))
        }
        return outcome
    }
}
