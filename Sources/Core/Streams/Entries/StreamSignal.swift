package import LiveModel

/// A change of a followed stream that its entries do not show. Each case means that entries after the cursor may be
/// missing, so state derived from the stream must be rebuilt.
package enum StreamSignal: Sendable, Hashable {
    /// Entries after the cursor were removed before they were read. Reading continues from `firstID`, the oldest entry
    /// left; nil if none is.
    case trimmed(firstID: StreamID?)
    /// The stream is not the one that the cursor belongs to: the server restarted empty or from an older copy, or the
    /// stream was deleted. Its last id is now `lastID`; reading continues from its first entry.
    case regressed(lastID: StreamID)
    /// Another server process answers, after a restart, a failover, or a move of the stream. The cursor is intact, but
    /// appends that the former process acknowledged without making them durable may be lost.
    case serverChanged
}

/// The result of one read for one stream. The signal, if any, precedes the entries.
package struct StreamBatch: Sendable, Equatable {
    package var stream: String
    package var signal: StreamSignal?
    /// The entries in order of id, all after the cursor; returning the batch moves the cursor to the last one.
    package var entries: [StreamEntry]

    package init(stream: String, signal: StreamSignal? = nil, entries: [StreamEntry]) {
        self.stream = stream
        self.signal = signal
        self.entries = entries
    }
}
