import JSON

// Rows that queued mutations are expected to add to lists. While a mutation waits, its row is no part of the result:
// it is put into the list when that is read, unless the server's list has it. When the mutation was applied, it becomes
// part of the result, which loses its tag, until the server sends the next one.

extension StoreMachine {
    /// A result's tree with the rows that layers add to its lists.
    func adding(to tree: ResultTree, _ key: ResultKey, revision: String) -> ResultTree {
        (insertions[key] ?? []).reduce(tree) { tree, added in
            guard let insertion = added.change.insertion, insertion.revision == revision else { return tree }
            return tree.adding(added.row, added.change.fields ?? JSONObject(), insertion) ?? tree
        }
    }

    /// Whether a result in memory has the list.
    func isShown(_ insertion: RowInsertion) -> Bool {
        guard let result = results[insertion.result], result.revision == insertion.revision else { return false }
        return result.tree.list(insertion.list) != nil
    }

    /// The results in memory that show a row, or would if it were known.
    func showing(_ id: EntityID) -> Set<ResultKey> {
        var keys = entities[id]?.results ?? []
        for case let insertion? in (changes[id] ?? []).map(\.insertion)
        where isShown(insertion) || partials[insertion.result] != nil {
            keys.insert(insertion.result)
        }
        return keys
    }

    /// The rows that layers add to a result, as they are shown before it changes.
    func added(to key: ResultKey) -> [EntityID: EntityRecord?] {
        var former: [EntityID: EntityRecord?] = [:]
        for (row, _) in insertions[key] ?? [] { former.updateValue(shown(row), forKey: row) }
        return former
    }

    /// Notes what became of such rows, in place of what was noted of them on the way.
    func note(_ former: [EntityID: EntityRecord?], _ outcome: inout StoreOutcome) {
        if former.isEmpty { return }
        outcome.events.removeAll { former[EntityID(type: $0.record.type, key: $0.record.key)] != nil }
        for (id, record) in former.sorted(by: { $0.key < $1.key }) {
            let new = shown(id)
            if new != record { outcome.changed.formUnion(showing(id)) }
            outcome.note(record, new)
        }
    }

    /// Makes an added row part of its result.
    /// - Returns: false if the result is not there, or its list has the row.
    mutating func add(_ row: EntityID, _ change: OptimisticChange, _ outcome: inout StoreOutcome) -> Bool {
        guard let insertion = change.insertion, let result = results[insertion.result],
            result.revision == insertion.revision,
            let tree = result.tree.adding(row, change.fields ?? JSONObject(), insertion)
        else { return false }
        // Since the row may stay as the server sent it, which need not have all that the list shows.
        let known = EntityRecord(
            type: change.type, key: change.key, fields: insertion.known.merging(change.fields))
        var entity = entities[row] ?? Entity(record: known, writtenAt: uses, bytes: 0)
        entity.record = known.merging(entity.record.fields)
        bytes += entity.record.bytes - entity.bytes
        entity.bytes = entity.record.bytes
        entities[row] = entity
        put(
            insertion.result, tree, result.revision, result.fetchedAtMs, nil, sentAt: result.sentAt, &outcome)
        return true
    }
}
