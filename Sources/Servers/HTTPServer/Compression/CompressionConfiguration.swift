/// The compression of the bodies of results.
package struct CompressionConfiguration: Sendable, Hashable {
    /// zlib's level, 1 (fastest) to 9.
    package var level = 1
    /// The length from which bodies are compressed.
    package var bodyBytesMin = 1_024
    /// The length up to which bodies are compressed: a longer one would occupy the event loop for too long.
    package var bodyBytesMax = 2 << 20
    /// Bytes that each event loop compresses per second; bodies beyond that are sent as they are.
    package var bytesPerSecond = 16 << 20

    package init() {}
}

/// Counts of what was compressed since the start.
package struct CompressionCounters: Sendable, Equatable {
    /// Bodies compressed: a result once for each event loop, form and window.
    package var compressionsTotal = 0
    /// Bodies left as they are because the loop's budget was used up.
    package var overBudgetTotal = 0
    /// The length of the bodies compressed.
    package var bodyBytesTotal = 0
    /// Messages and responses sent compressed.
    package var messagesTotal = 0
    /// The length of those messages without compression.
    package var messageBytesTotal = 0
    /// The length of those messages as sent.
    package var sentBytesTotal = 0

    package init() {}

    init(
        compressionsTotal: Int, overBudgetTotal: Int, bodyBytesTotal: Int, messagesTotal: Int, messageBytesTotal: Int,
        sentBytesTotal: Int
    ) {
        self.compressionsTotal = compressionsTotal
        self.overBudgetTotal = overBudgetTotal
        self.bodyBytesTotal = bodyBytesTotal
        self.messagesTotal = messagesTotal
        self.messageBytesTotal = messageBytesTotal
        self.sentBytesTotal = sentBytesTotal
    }
}
