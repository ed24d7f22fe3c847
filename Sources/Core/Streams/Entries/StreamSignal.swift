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
