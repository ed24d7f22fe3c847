package import Broker
package import LiveModel

/// The tail of a shard's event stream, read when the shard is taken.
package struct EventHistory: Sendable {
    /// Oldest first, without a hole up to `lastID`; unreadable entries end the tail.
    package private(set) var entries: [(StreamID, MutationEvent)] = []
    /// The last id the stream ever gave.
    package let lastID: StreamID

    /// Without a tail: nothing before `lastID` can be judged.
    package init(lastID: StreamID) {
        self.lastID = lastID
    }

    /// Where to read so as to get the last `countMax` entries: a guess, since ids are times, from where they should begin
    /// if they came evenly. Nil: there is nothing to read.
    package static func page(
        of info: StreamInfo, countMax: Int
    ) -> (after: StreamID, through: StreamID, limit: Int)? {
        guard let firstID = info.firstID else { return nil }
        var after = StreamID.zero
        if info.length > countMax, info.lastID.ms > firstID.ms {
            let spanMs = (info.lastID.ms - firstID.ms) / UInt64(max(1, info.length / countMax))
            after = StreamID(ms: info.lastID.ms - spanMs, sequence: 0)
        }
        return (after, info.lastID, countMax * 4)
    }

    /// - Parameter page: what stands there. A guess too early is cut short; then the tail is empty, which costs refreshes
    ///   and nothing else.
    package init(of info: StreamInfo, page: [StreamEntry], countMax: Int) {
        lastID = info.lastID
        guard page.count < countMax * 4 else { return }
        for entry in page.suffix(countMax) {
            guard let event = entry["e"].flatMap({ try? MutationEvent(encoded: $0) }) else {
                entries = []
                continue
            }
            entries.append((entry.id, event))
        }
    }

    static func load(from broker: any Broker, stream: String, countMax: Int) async throws(BrokerError) -> EventHistory {
        guard let info = try await broker.info(of: stream) else { return EventHistory(lastID: .zero) }
        guard let (after, through, limit) = page(of: info, countMax: countMax) else {
            return EventHistory(lastID: info.lastID)
        }
        let entries = try await broker.range(stream, after: after, through: through, limit: limit)
        return EventHistory(of: info, page: entries, countMax: countMax)
    }
}
