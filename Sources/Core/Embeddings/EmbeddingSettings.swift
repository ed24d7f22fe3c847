/// What an operator allows of the embedding server.
package struct EmbeddingSettings: Sendable {
    /// Requests under way; further texts wait.
    package var inFlightMax = 4
    /// Requests of clients and runs of a worker that wait for vectors; more are refused.
    package var waitersMax = 256
    /// Texts that wait; more are refused.
    package var waitingTextsMax = 10_000
    /// Of those texts.
    package var waitingBytesMax = 16 << 20
    /// From when a text is first wanted to the last byte of its answer, whatever is asked for in between.
    package var timeoutMs: Int64 = 10_000
    /// Of one answer.
    package var answerBytesMax = 1 << 24
    package var textsPerRequestMax = 16
    /// UTF-8, of one text.
    package var textBytesMax = 1 << 15
    /// Vectors that are kept; 0: none.
    package var cacheEntriesMax = 10_000
    /// Of those with their texts.
    package var cacheBytesMax = 64 << 20

    package init() {}
}
