internal import Broker
internal import LiveModel

/// The tail of a shard's event stream, read when the shard is taken.
struct EventHistory {
    /// Oldest first, without a hole up to `lastID`; unreadable entries end the tail.
    var entries: [(StreamID, MutationEvent)]
    /// The last id the stream ever gave.
    var lastID: StreamID

    /// Reads forward from a guess, since ids are times: where the last `countMax` entries should begin if they came
    /// evenly. A guess too early is cut short; then the tail is empty, which costs refreshes and nothing else.
    static func load(from broker: any Broker, stream: String, countMax: Int) async throws(BrokerError) -> EventHistory {
        guard let info = try await broker.info(of: stream), let firstID = info.firstID else {
            return EventHistory(entries: [], lastID: try await broker.lastID(of: stream))
        }
        var after = StreamID.zero
        if info.length > countMax, info.lastID.ms > firstID.ms {
            let spanMs = (info.lastID.ms - firstID.ms) / UInt64(max(1, info.length / countMax))
            after = StreamID(ms: info.lastID.ms - spanMs, sequence: 0)
        }
        let pageMax = countMax * 4
        let page = try await broker.range(stream, after: after, through: info.lastID, limit: pageMax)
        guard page.count < pageMax else { return EventHistory(entries: [], lastID: info.lastID) }
        var entries: [(StreamID, MutationEvent)] = []
        for entry in page.suffix(countMax) {
            guard let event = entry["e"].flatMap({ try? MutationEvent(encoded: $0) }) else {
                entries = []
                continue
            }
            entries.append((entry.id, event))
        }
        return EventHistory(entries: entries, lastID: info.lastID)
    }
}
