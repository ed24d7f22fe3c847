package import FreshetTypes
package import JSON

// Results with errors beside their data. Such a result is shown while it is followed and kept nowhere: its rows are not
// those of other results, since a field may be null because it failed. But what the server sends of these rows later,
// and what mutations change in them, appears in it.

extension StoreMachine {
    struct Partial: Sendable, Equatable {
        var tree: ResultTree
        var records: [EntityID: EntityRecord]
        /// Names of fields that failed. Where they are null, they stay so.
        let failed: Set<String>
        let revision: String
        /// The time, in `uses`, as of which the server sent it.
        let sentAt: UInt64
        /// The rows of it that a mutation deleted.
        var deleted: Set<EntityID> = []

        /// The fields of a row that are null because they failed.
        func nulls(of id: EntityID) -> JSONObject {
            let fields = records[id]?.fields ?? JSONObject()
            return failed.reduce(into: JSONObject()) { if fields[$1]?.isNull == true { $0[$1] = .null } }
        }
    }

    package var partialCount: Int { partials.count }

    /// The server sent a partial result of a query that is followed. It takes the place of the last one.
    /// - Parameter failed: the names of the fields that failed.
    package mutating func showPartial(
        _ key: ResultKey, _ document: JSONValue, _ shape: EntityShape, revision: String, failed: Set<String>
    ) {
        let new = NormalizedResult(document, shape)
        uses += 1
        partials[key] = Partial(
            tree: new.tree, records: new.records, failed: failed, revision: revision, sentAt: uses)
    }

    /// It is no longer shown: a whole result came, or nobody follows the query.
    package mutating func dropPartial(_ key: ResultKey) { partials[key] = nil }

    /// The partial result as it is shown now; nil if there is none.
    package func partial(_ key: ResultKey) -> JSONValue? {
        guard let partial = partials[key] else { return nil }
        return adding(to: partial.tree, key, revision: partial.revision).document { id in
            let known = partial.records[id] ?? entities[id].flatMap { $0.isDeleted ? nil : $0.record }
            return applying(changes[id] ?? [], to: partial.deleted.contains(id) ? nil : known?.fields) {
                $0.result == key
            }?.merging(partial.nulls(of: id))
        }
    }

    /// Shows the fields of a row that the server sent with another result.
    mutating func followPartials(_ id: EntityID, _ fields: JSONObject, _ asOf: UInt64?, _ outcome: inout StoreOutcome) {
        for (key, partial) in partials where partial.sentAt <= asOf ?? .max {
            guard var record = partial.records[id] else { continue }
            for entry in fields where record.fields[entry.key] != nil { record.fields[entry.key] = entry.value }
            record.fields = record.fields.merging(partial.nulls(of: id))
            let returns = partials[key]?.deleted.remove(id) != nil
            guard returns || record != partial.records[id] else { continue }
            partials[key]?.records[id] = record
            outcome.changed.insert(key)
        }
    }

    /// Makes what an applied mutation has changed part of the partial results that the server sent before it.
    /// - Returns: the results that it changes.
    mutating func commitToPartials(_ layer: Layer) -> Set<ResultKey> {
        var changed: Set<ResultKey> = []
        for (key, partial) in partials where partial.sentAt < layer.sentAt ?? .max {
            var partial = partial
            for (row, change) in layer.changes {
                guard let fields = change.fields else {
                    if partial.records[row] != nil { partial.deleted.insert(row) }
                    continue
                }
                let nulls = partial.nulls(of: row)
                if let insertion = change.insertion, insertion.result == key, insertion.revision == partial.revision,
                    let tree = partial.tree.adding(row, fields, insertion)
                {
                    partial.tree = tree
                    partial.deleted.remove(row)
                    let record = partial.records[row] ?? entities[row]?.record
                    partial.records[row] = EntityRecord(
                        type: change.type, key: change.key, fields: insertion.known.merging(record?.fields))
                }
                if let record = partial.records[row] { partial.records[row] = record.merging(fields).merging(nulls) }
            }
            let former = partials.updateValue(partial, forKey: key)
            if former != partial { changed.insert(key) }
        }
        return changed
    }

    /// The partial results that show rows of a layer.
    func partials(with layer: Layer) -> [ResultKey] {
        partials.filter { key, partial in
            layer.changes.contains { partial.records[$0.row] != nil || $0.change.insertion?.result == key }
        }.map(\.key)
    }
}
