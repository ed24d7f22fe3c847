/// Limits for using the embedding server.
package struct EmbeddingSettings: Sendable {
    /// Requests in flight; further texts are queued.
    package var inFlightMax = 4
    /// Requests of clients and runs of workers that wait for vectors; more are rejected.
    package var waitersMax = 256
    /// Queued texts; more are rejected.
    package var waitingTextsMax = 10_000
    /// Total size of the queued texts.
    package var waitingBytesMax = 16 << 20
    /// Time from the submission of a text to the last byte of its response, including retries.
    package var timeoutMs: Int64 = 10_000
    /// Size of one response.
    package var answerBytesMax = 1 << 24
    package var textsPerRequestMax = 16
    /// UTF-8 bytes of one text.
    package var textBytesMax = 1 << 15
    /// Cached vectors; 0 disables the cache.
    package var cacheEntriesMax = 10_000
    /// Total size of the cached vectors with their texts.
    package var cacheBytesMax = 64 << 20

    package init() {}
}
