/// What an operator allows of the embedding server.
package struct EmbeddingSettings: Sendable {
    /// Requests under way; further texts wait.
    package var inFlightMax = 16
    /// Texts that wait; more are refused.
    package var waitingTextsMax = 10_000
    /// Of one request to the last byte of its answer; and how long a text may wait before it is asked for.
    package var timeoutMs: Int64 = 10_000
    /// Of one answer.
    package var answerBytesMax = 1 << 24
    package var textsPerRequestMax = 32
    /// UTF-8, of one text.
    package var textBytesMax = 1 << 15
    /// Vectors that are kept; 0: none.
    package var cacheEntriesMax = 2_000

    package init() {}
}
