package import LiveModel

/// Something happened to a followed stream that entries alone cannot tell. All three mean doubt: entries after the
/// cursor may be missing, so whoever derives state from the stream re-derives it.
package enum StreamSignal: Sendable, Hashable {
    /// Entries after the cursor were removed before they were read. `firstID` is the oldest left, nil when none is.
    /// Reading goes on from there.
    case trimmed(firstID: StreamID?)
    /// The stream is not the one the cursor belongs to (server restarted empty or from an older copy, stream deleted):
    /// its last id is now `lastID`. Reading goes on from the beginning of what it holds.
    case regressed(lastID: StreamID)
    /// Another server process answers (restart, failover, the stream moved to another server). The cursor is intact; appends that the former process
    /// acknowledged but had not made durable may be lost.
    case serverChanged
}

/// What one read brought for one stream: the signal, if any, comes before the entries.
package struct StreamBatch: Sendable, Equatable {
    package var stream: String
    package var signal: StreamSignal?
    /// In order of id, each after the cursor; the cursor moves behind the last one when the batch is returned.
    package var entries: [StreamEntry]

    package init(stream: String, signal: StreamSignal? = nil, entries: [StreamEntry]) {
        self.stream = stream
        self.signal = signal
        self.entries = entries
    }
}

/// Reads a changing set of streams, each from its own cursor, for one consumer.
///
/// - At least once, in order of id within a stream; no order between streams. After a reconnect reading goes on from
///   the cursors: nothing is skipped without a signal.
/// - Pull is back-pressure: nothing is read ahead of `next`, so memory is bounded by one batch.
/// - Not seen: entries deleted by hand (`DEL`, `XTRIM`) within about 200 ms of being added.
/// - `follow` and `unfollow` may come from any thread, also during `next`, and take effect at once. A batch of a
///   stream is dropped rather than returned when `unfollow` or a new `follow` of it came first.
package protocol StreamReader: Sendable {
    /// Reads `stream` after `cursor`, which is `.zero` or an id this stream has given (of an entry, or its last id).
    /// Replaces the cursor of a stream that is followed already. `server` is where the cursor comes from
    /// (`LeaseGrant.server`): when another one answers, `serverChanged` is told. Nil: whichever answers first.
    func follow(_ stream: String, after cursor: StreamID, server: String?)
    func unfollow(_ stream: String)
    /// Waits until there are entries or signals, at most `maxEntries` of each stream. May return an empty array.
    /// Does not fail while the broker is away: it waits until that is back. Throws `.closed`, `.cancelled`,
    /// `.concurrentRead` (one call at a time), `.rejected` (followed key of another type, no permission).
    func next(maxEntries: Int) async throws(BrokerError) -> [StreamBatch]
    /// Ends a waiting `next` with `.closed`. Idempotent.
    func close()
}

extension StreamReader {
    package func follow(_ stream: String, after cursor: StreamID) { follow(stream, after: cursor, server: nil) }
}
