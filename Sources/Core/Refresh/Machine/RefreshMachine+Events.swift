package import LiveModel

/// Events of the shards: what they touch runs again, and the last ones are remembered.
extension RefreshMachine {
    /// Entries of a shard's event stream, in stream order. After one that could not be read everything in the shard runs
    /// again.
    package mutating func eventsArrived(
        _ shard: ShardID, _ entries: [EventEntry], nowMs: Int64
    ) -> [RefreshAction] {
        guard shards[shard] != nil else { return [] }
        for entry in entries {
            // Nothing here may hold a copy of the state: its whole history would be copied with every event.
            guard shards[shard]?.applies(entry.id, nowMs: nowMs) == true else { continue }
            guard let event = entry.event else {
                forgetHistory(of: shard, upTo: entry.id)
                refreshAll(of: shard, nowMs: nowMs)
                continue
            }
            shards[shard]?.history.append(entry)
            shards[shard]?.cutHistory(countMax: settings.historyMax, bytesMax: settings.historyBytesMax)
            guard let matches = indexes[shard]?.match(event) else { continue }
            for (trigger, count) in matches.conditionErrors {
                conditionErrors[trigger, default: 0] += UInt64(count)
            }
            for (slot, _) in matches.live {
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

    /// Results fresh up to less than `floor` cannot be judged any more, not by what the stream still has either.
    mutating func forgetHistory(of shard: ShardID, upTo floor: StreamID) {
        shards[shard]?.history = EventTail(floor: floor)
        shards[shard]?.lossFloor = floor
        shards[shard]?.replay = Replay()
    }

    mutating func refreshAll(of shard: ShardID, nowMs: Int64) {
        for slot in (shards[shard]?.slots ?? []).sorted() {
            trigger(slot, cause: .none, isPaced: true, nowMs: nowMs)
        }
    }
}
