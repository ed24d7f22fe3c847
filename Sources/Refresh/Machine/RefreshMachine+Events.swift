package import LiveModel

/// Events of the shards: what they touch runs again, and the last ones are remembered.
extension RefreshMachine {
    /// Entries of a shard's event stream, in stream order. `nil` stands for an entry that could not be read: since
    /// nobody knows what it meant, everything in the shard runs again.
    package mutating func eventsArrived(
        _ shard: ShardID, _ entries: [(StreamID, MutationEvent?)], nowMs: Int64
    ) -> [RefreshAction] {
        guard shards[shard] != nil else { return [] }
        for (id, event) in entries {
            // Nothing here may hold a copy of the state: its whole history would be copied with every event.
            guard let lastEventID = shards[shard]?.lastEventID, id > lastEventID else { continue }
            shards[shard]?.lastEventID = id
            if shards[shard]?.historyFloor == StreamID.max { shards[shard]?.historyFloor = id }
            shards[shard]?.events += 1
            shards[shard]?.lastEventMs = nowMs
            guard let event else {
                forgetHistory(of: shard, upTo: id)
                refreshAll(of: shard, nowMs: nowMs)
                continue
            }
            remember(event, id: id, in: shard)
            let matches = index.match(event)
            for (trigger, count) in matches.conditionErrors {
                conditionErrors[trigger, default: 0] += UInt64(count)
            }
            for (slot, _) in matches.live where states[slot]?.shard == shard {
                shards[shard]?.matches += 1
                trigger(slot, cause: .init(traceID: event.traceID, committedAtMs: event.committedAtMs), nowMs: nowMs)
            }
        }
        return dispatch(nowMs: nowMs)
    }

    /// The stream no longer reaches back to what was read: events are lost, so everything in the shard runs again.
    package mutating func eventsLost(_ shard: ShardID, lastEventID: StreamID, nowMs: Int64) -> [RefreshAction] {
        guard let state = shards[shard] else { return [] }
        // A result read before the loss may lack what was lost, also when nothing newer was known then.
        forgetHistory(of: shard, upTo: max(state.lastEventID, lastEventID).successor ?? .max)
        shards[shard]?.lastEventID = lastEventID
        shards[shard]?.takeOver.losses += 1
        refreshAll(of: shard, nowMs: nowMs)
        return dispatch(nowMs: nowMs)
    }

    /// Results fresh up to less than `floor` cannot be judged any more.
    mutating func forgetHistory(of shard: ShardID, upTo floor: StreamID) {
        shards[shard]?.historyFloor = floor
        shards[shard]?.history.removeAll()
    }

    mutating func refreshAll(of shard: ShardID, nowMs: Int64) {
        for slot in (shards[shard]?.slots ?? []).sorted() {
            trigger(slot, cause: .none, isPaced: true, nowMs: nowMs)
        }
    }

    mutating func remember(_ event: MutationEvent, id: StreamID, in shard: ShardID) {
        shards[shard]?.history.append(.init(id: id, event: event))
        if let count = shards[shard]?.history.count, count > settings.historyMax {
            shards[shard]?.history.removeFirst()
            let floor = shards[shard]?.history.first?.id ?? id
            shards[shard]?.historyFloor = floor
        }
    }
}
