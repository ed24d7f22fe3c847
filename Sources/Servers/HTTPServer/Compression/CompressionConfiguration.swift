/// How the bodies of results are compressed.
package struct CompressionConfiguration: Sendable, Hashable {
    /// zlib's level, 1 (fastest) to 9.
    package var level = 1
    /// Shorter bodies are sent as they are.
    package var bodyBytesMin = 1_024
    /// Longer bodies are sent as they are: compressing one would occupy the event loop for too long.
    package var bodyBytesMax = 2 << 20
    /// Bytes that each event loop compresses per second; bodies beyond that are sent as they are.
    package var bytesPerSecond = 16 << 20

    package init() {}
}

/// How much was compressed, since the start.
package struct CompressionCounters: Sendable, Equatable {
    /// Bodies compressed: a result once for each event loop, form and window.
    package var compressionsTotal = 0
    /// Bodies left as they are because the loop's budget was used up.
    package var overBudgetTotal = 0
    /// The length of the bodies compressed.
    package var bodyBytesTotal = 0
    /// Messages and responses sent compressed.
    package var messagesTotal = 0
    /// Their length without compression.
    package var messageBytesTotal = 0
    /// Their length as sent.
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
