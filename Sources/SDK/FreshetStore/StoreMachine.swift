package import FreshetTypes
package import JSON

/// The normalised cache of one user: results as trees, rows once each, and above them what queued mutations are
/// expected to change. Pure: it has no file and no clock. Source: SDK specification §1 rows 12, 23 and §4 (7).
///
/// A row lives as long as a result refers to it. Results that nobody follows are evicted by last use beyond `bytesMax`.
///
/// Long, because results and rows refer to each other.
package struct StoreMachine: Sendable {
    struct Result: Sendable {
        var tree: ResultTree
        var rows: Set<EntityID>
        var revision: String
        var fetchedAtMs: Int64
        /// The server's name for the result, as long as its rows are those that came with it.
        var tag: String?
        var usedAt: UInt64
        /// The time, in `uses`, as of which the server last sent it.
        var sentAt: UInt64
        var bytes: Int
        /// How many follow it.
        var pins = 0
    }

    struct Entity: Sendable {
        var record: EntityRecord
        var results: Set<ResultKey> = []
        /// When the server last sent it, or a mutation changed it.
        var writtenAt: UInt64
        /// The time, in `uses`, as of which the server last sent it.
        var sentAt: UInt64 = 0
        var bytes: Int
        /// A mutation deleted it; a later result that contains it shows it again.
        var isDeleted = false
    }

    struct Layer: Sendable {
        let id: String
        let changes: [(row: EntityID, change: OptimisticChange)]
        /// When its mutation was first sent; before, no row of the server can contain it.
        var sentAt: UInt64?
    }

    /// The bound on the estimated memory of results that nobody follows, with their rows.
    package let bytesMax: Int
    var results: [ResultKey: Result] = [:]
    var entities: [EntityID: Entity] = [:]
    private var layers: [Layer] = []
    /// The changes of all layers, by row, in their order.
    private(set) var changes: [EntityID: [OptimisticChange]] = [:]
    /// The rows that layers add to results, in the order of the layers.
    private(set) var insertions: [ResultKey: [(row: EntityID, change: OptimisticChange)]] = [:]
    /// Partial results that are shown; at most one for each followed query.
    var partials: [ResultKey: Partial] = [:]
    private var pinsBeforeResult: [ResultKey: Int] = [:]
    /// Counts reads and writes.
    package internal(set) var uses: UInt64
    package internal(set) var bytes = 0

    /// - Parameter uses: those of the store that this one replaces.
    package init(bytesMax: Int, uses: UInt64 = 0) {
        self.bytesMax = bytesMax
        self.uses = uses
    }

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
        guard let document = shown(key, revision: revision), let result = results[key] else { return nil }
        uses += 1
        results[key]?.usedAt = uses
        return StoredDocument(document: document, fetchedAtMs: result.fetchedAtMs)
    }

    /// The document of `read`, without counting as a use.
    package func shown(_ key: ResultKey, revision: String) -> JSONValue? {
        guard let result = results[key], result.revision == revision else { return nil }
        return document(adding(to: result.tree, key, revision: revision))
    }

    /// The result exactly as the server sent it under this tag; nil if there is no tag, or another result has brought
    /// a newer row.
    package func tagged(_ key: ResultKey, revision: String) -> (tag: String, document: JSONValue)? {
        guard let result = results[key], result.revision == revision, let tag = result.tag else { return nil }
        return (tag, sent(result.tree))
    }

    private func document(_ tree: ResultTree) -> JSONValue { tree.document { fields(of: $0) } }

    /// The document without what queued mutations change.
    private func sent(_ tree: ResultTree) -> JSONValue { tree.document { fields(of: $0, []) } }

    /// The fields of a row that results show; nil if none does.
    package func fields(of id: EntityID) -> JSONObject? { fields(of: id, changes[id] ?? []) }

    private func fields(of id: EntityID, _ changes: [OptimisticChange]) -> JSONObject? {
        let entity = entities[id]
        return applying(changes, to: entity?.isDeleted == false ? entity?.record.fields : nil, isShown)
    }

    /// - Parameters:
    ///   - fields: those of a row without the changes; nil if it is not there.
    ///   - isShown: whether a list is shown to which the row is added.
    func applying(
        _ changes: [OptimisticChange], to fields: JSONObject?, _ isShown: (RowInsertion) -> Bool
    ) -> JSONObject? {
        var fields = fields
        for change in changes {
            guard let new = change.fields else {
                fields = nil
                continue
            }
            if let insertion = change.insertion, isShown(insertion) { fields = insertion.known.merging(fields) }
            fields = fields?.merging(new)
        }
        return fields
    }

    /// The row as results show it; nil if none does.
    func shown(_ id: EntityID) -> EntityRecord? {
        guard let fields = fields(of: id) else { return nil }
        if let record = entities[id]?.record {
            return EntityRecord(type: record.type, key: record.key, fields: fields)
        }
        return changes[id]?.first.map { EntityRecord(type: $0.type, key: $0.key, fields: fields) }
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
    /// - Parameters:
    ///   - tag: the server's name for it.
    ///   - asOf: `uses` when it was asked for; a result that was sent since, and rows that were written since, may be
    ///     newer and remain. A row that a mutation has added to the list since does not. Nil: it is the newest.
    package mutating func write(
        _ key: ResultKey, _ document: JSONValue, _ shape: EntityShape, revision: String, atMs: Int64,
        tag: String? = nil, asOf: UInt64? = nil
    ) -> StoreOutcome {
        var outcome = StoreOutcome()
        if let asOf, let result = results[key], result.revision == revision, result.sentAt > asOf { return outcome }
        let new = NormalizedResult(document, shape)
        let added = added(to: key)
        uses += 1
        let isSameTree = results[key]?.tree == new.tree && results[key]?.revision == revision
        var changedRecords: [EntityID: EntityRecord] = [:]
        for id in new.records.keys.sorted() {
            guard let newer = new.records[id] else { continue }
            if let record = merge(id, newer, asOf, &outcome) { changedRecords[id] = record }
        }
        // Not the server's text if the query selects different values of a row under one name.
        let isExact = tag != nil && sent(new.tree) == document
        let tag = isExact ? tag : nil
        if !isSameTree { outcome.changed.insert(key) }
        put(key, new.tree, revision, atMs, tag, sentAt: asOf ?? uses, &outcome)
        note(added, &outcome)
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
    private mutating func merge(
        _ id: EntityID, _ sent: EntityRecord, _ asOf: UInt64?, _ outcome: inout StoreOutcome
    ) -> EntityRecord? {
        guard var entity = entities[id] else {
            let former = changes.isEmpty ? nil : shown(id)
            entities[id] = Entity(record: sent, writtenAt: uses, sentAt: asOf ?? uses, bytes: sent.bytes)
            bytes += sent.bytes
            if !changes.isEmpty { outcome.changed.formUnion(showing(id)) }
            if !partials.isEmpty { followPartials(id, sent.fields, asOf, &outcome) }
            outcome.note(former, shown(id))
            return sent
        }
        var newer = sent.fields
        if let asOf, entity.writtenAt > asOf {
            // Only fields that nothing else has brought.
            for entry in entity.record.fields { newer[entry.key] = entry.value }
        } else {
            entity.writtenAt = uses
            entity.sentAt = asOf ?? uses
            entities[id] = entity
            if !partials.isEmpty { followPartials(id, sent.fields, asOf, &outcome) }
        }
        let returns = entity.isDeleted && entity.writtenAt == uses
        let names = newer.entries.filter { entity.record.fields[$0.key] != $0.value }.map(\.key)
        guard !names.isEmpty || returns else { return nil }
        // A field that is new here is in no other result.
        if returns || names.contains(where: { entity.record.fields[$0] != nil }) { dropTags(entity.results) }
        let former = shown(id)
        entity.record = entity.record.merging(newer)
        if returns { entity.isDeleted = false }
        bytes += entity.record.bytes - entity.bytes
        entity.bytes = entity.record.bytes
        entities[id] = entity
        outcome.changed.formUnion(changes.isEmpty ? entity.results : showing(id))
        outcome.note(former, shown(id))
        return entity.record
    }

    mutating func put(
        _ key: ResultKey, _ tree: ResultTree, _ revision: String, _ atMs: Int64, _ tag: String?, sentAt: UInt64,
        _ outcome: inout StoreOutcome
    ) {
        let rows = tree.rows
        let former = results[key]
        let result = Result(
            tree: tree, rows: rows, revision: revision, fetchedAtMs: atMs, tag: tag, usedAt: uses,
            sentAt: sentAt, bytes: tree.bytes + key.variables.utf8.count + 128,
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
            let former = shown(id)
            entities[id] = nil
            bytes -= entity.bytes
            if changes[id] != nil { outcome.changed.formUnion(showing(id)) }
            outcome.note(former, shown(id))
        }
    }

    /// A result was read from a file. What is in memory is newer.
    package mutating func load(_ saved: SavedResult) {
        guard results[saved.key] == nil, let tree = saved.tree else { return }
        var tag = saved.tag
        for (id, record) in saved.records {
            guard let entity = entities[id] else {
                entities[id] = Entity(record: record, writtenAt: 0, bytes: record.bytes)
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
        uses += 1
        put(saved.key, tree, saved.revision, saved.fetchedAtMs, tag, sentAt: 0, &outcome)
    }

    /// Removes a result, for example one that no longer fits its type.
    package mutating func remove(_ key: ResultKey) -> StoreOutcome {
        var outcome = StoreOutcome()
        let added = added(to: key)
        drop(key, &outcome)
        note(added, &outcome)
        return outcome
    }

    /// Removes what the server says is no longer right: results of operations, and those that show certain rows.
    ///
    /// Followed results stay followed: their next result is the server's.
    /// - Returns: `evicted`, in order, and `changed` of others that lose fields of a row with them.
    package mutating func invalidate(_ selection: StoreSelection) -> StoreOutcome {
        if selection.isEmpty { return StoreOutcome() }
        let chosen = results.filter { key, result in
            selection.isEverything || selection.operations.contains(key.operation)
                || !result.rows.isDisjoint(with: selection.entities)
        }
        var outcome = StoreOutcome()
        leave(chosen.keys.sorted(), &outcome)
        return outcome
    }

    /// Drops results. That is no event of the rows, but results that show a row because of a queued mutation may lose
    /// the fields that others brought.
    /// - Parameter bytesMax: enough of them to keep the memory within it; nil: all.
    private mutating func leave(_ keys: [ResultKey], downTo bytesMax: Int? = nil, _ outcome: inout StoreOutcome) {
        var dropped = StoreOutcome()
        var added: [EntityID: EntityRecord?] = [:]
        for key in keys { added.merge(self.added(to: key)) { first, _ in first } }
        for key in keys {
            if let bytesMax, bytes <= bytesMax { break }
            drop(key, &dropped)
        }
        note(added, &dropped)
        outcome.evicted += dropped.evicted
        outcome.changed = outcome.changed.union(dropped.changed).subtracting(dropped.evicted)
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
        leave(candidates.map(\.key), downTo: bytesMax / 10 * 9, &outcome)
    }

    // MARK: Optimistic changes

    /// Shows what a queued mutation is expected to change.
    package mutating func apply(_ id: String, _ changes: [OptimisticChange]) -> StoreOutcome {
        guard !changes.isEmpty, !layers.contains(where: { $0.id == id }) else { return StoreOutcome() }
        let layer = Layer(id: id, changes: changes.map { ($0.id, $0) })
        return changing(layer) { store in
            store.layers.append(layer)
            for (row, change) in layer.changes {
                store.changes[row, default: []].append(change)
                if let key = change.insertion?.result { store.insertions[key, default: []].append((row, change)) }
            }
        }
    }

    /// The mutation is being sent: from now on, rows that the server sends may contain what it changes.
    package mutating func sending(_ id: String) {
        guard let index = layers.firstIndex(where: { $0.id == id }), layers[index].sentAt == nil else { return }
        uses += 1
        layers[index].sentAt = uses
    }

    /// The mutation was not applied by what was sent.
    package mutating func unsent(_ id: String) {
        if let index = layers.firstIndex(where: { $0.id == id }) { layers[index].sentAt = nil }
    }

    /// The mutation was applied: the changes count as sent by the server, until it sends its own. A row that it has
    /// sent since the mutation was first sent stays as it is: it has the change, or later ones, or is sent again soon.
    /// So does a list to which a row was to be added.
    package mutating func commit(_ id: String) -> StoreOutcome {
        guard let index = layers.firstIndex(where: { $0.id == id }) else { return StoreOutcome() }
        let layer = layers[index]
        let sentAt = layer.sentAt ?? .max
        let due = layer.changes.map { row, change in
            let list = change.insertion.flatMap { results[$0.result]?.sentAt }
            return (row: (entities[row]?.sentAt ?? 0) < sentAt, list: (list ?? .max) < sentAt)
        }
        uses += 1
        var extended = StoreOutcome()
        var lists: Set<ResultKey> = []
        var assumed: Set<ResultKey> = []
        var outcome = changing(layer) { store in
            store.removeLayer(at: index)
            for ((row, change), due) in zip(layer.changes, due) {
                if due.list, store.add(row, change, &extended), let key = change.insertion?.result {
                    lists.insert(key)
                }
                if due.row { assumed.formUnion(store.settle(row, change)) }
            }
            assumed.formUnion(store.commitToPartials(layer))
        }
        outcome.assumed = assumed.union(lists)
        for ((row, change), due) in zip(layer.changes, due) where due.row {
            guard let entity = entities[row], let key = entity.results.min(), let result = results[key] else {
                continue
            }
            outcome.saved.append(
                SavedResult(
                    key: key, revision: result.revision, fetchedAtMs: result.fetchedAtMs, tree: nil,
                    records: change.fields == nil ? [:] : [row: entity.record]))
        }
        for key in lists.sorted() {
            guard let result = results[key] else { continue }
            var records: [EntityID: EntityRecord] = [:]
            for (row, change) in layer.changes where change.insertion?.result == key {
                records[row] = entities[row]?.record
            }
            outcome.saved.append(
                SavedResult(
                    key: key, revision: result.revision, fetchedAtMs: result.fetchedAtMs, tree: result.tree,
                    rows: result.rows, records: records))
        }
        if !lists.isEmpty { evict(&outcome) }
        return outcome
    }

    /// Makes an expected change part of a row.
    /// - Returns: the results that it changes.
    private mutating func settle(_ row: EntityID, _ change: OptimisticChange) -> Set<ResultKey> {
        guard var entity = entities[row] else { return [] }
        let former = entity
        if let fields = change.fields {
            if change.insertion != nil { entity.isDeleted = false }
            entity.record = entity.record.merging(fields)
            bytes += entity.record.bytes - entity.bytes
            entity.bytes = entity.record.bytes
        } else {
            entity.isDeleted = true
        }
        entity.writtenAt = uses
        entities[row] = entity
        dropTags(entity.results)
        if entity.isDeleted != former.isDeleted { return entity.results }
        let names = entity.record.fields.entries.map(\.key).filter {
            entity.record.fields[$0] != former.record.fields[$0]
        }
        return names.isEmpty ? [] : entity.results.filter { results[$0]?.tree.shows(row, names) == true }
    }

    /// The results among these, of mutations that were applied, that the server has not sent since: they may show what
    /// it did not adopt. It does not send a result that is as it was.
    /// - Parameter asOf: `uses` when the mutation was applied.
    package func unsent(_ assumed: Set<ResultKey>, since asOf: UInt64) -> [ResultKey] {
        assumed.filter { (partials[$0]?.sentAt ?? results[$0]?.sentAt ?? .max) <= asOf }.sorted()
    }

    /// The mutation was refused: what it changed is undone.
    package mutating func revert(_ id: String) -> StoreOutcome {
        guard let index = layers.firstIndex(where: { $0.id == id }) else { return StoreOutcome() }
        return changing(layers[index]) { $0.removeLayer(at: index) }
    }

    private mutating func removeLayer(at index: Int) {
        for (row, change) in layers.remove(at: index).changes {
            let others = layers.flatMap { $0.changes.filter { $0.row == row }.map(\.change) }
            changes[row] = others.isEmpty ? nil : others
            guard let key = change.insertion?.result else { continue }
            let added = layers.flatMap { $0.changes.filter { $0.change.insertion?.result == key } }
            insertions[key] = added.isEmpty ? nil : added
        }
    }

    /// Performs a change of the layers.
    /// - Returns: the results that show the layer's rows, and what became of these as they are shown.
    private mutating func changing(_ layer: Layer, _ body: (inout StoreMachine) -> Void) -> StoreOutcome {
        let rows = Set(layer.changes.map(\.row)).sorted()
        let former = rows.map { shown($0) }
        var outcome = StoreOutcome()
        for row in rows { outcome.changed.formUnion(showing(row)) }
        body(&self)
        for (row, record) in zip(rows, former) {
            outcome.changed.formUnion(showing(row))
            outcome.note(record, shown(row))
        }
        outcome.changed.formUnion(partials(with: layer))
        return outcome
    }
}

extension StoreOutcome {
    /// Notes what became of a row, from how it was shown and is shown now.
    mutating func note(_ former: EntityRecord?, _ record: EntityRecord?) {
        switch (former, record) {
        case (nil, nil): break
        case (nil, let record?): events.append(EntityEvent(kind: .created, record: record))
        case (let former?, nil): events.append(EntityEvent(kind: .deleted, record: former))
        case (let former?, let record?):
            // A field that only a mutation brought is gone when it is undone.
            let gone = former.fields.entries.map(\.key).filter { record.fields[$0] == nil }
            let names = record.fields.entries.filter { former.fields[$0.key] != $0.value }.map(\.key) + gone
            if !names.isEmpty { events.append(EntityEvent(kind: .updated(fields: names), record: record)) }
        }
    }
}
