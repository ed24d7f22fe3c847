import Operations

/// A least-recently-used cache of vectors.
struct EmbeddingCache: Sendable {
    private struct Entry {
        let vector: EmbeddingVector
        var newer: EmbeddingText?
        var older: EmbeddingText?
    }

    /// 0 disables the cache.
    let entriesMax: Int
    /// The size of texts and vectors.
    let bytesMax: Int
    private var entries: [EmbeddingText: Entry] = [:]
    private var byteCount = 0
    private var newest: EmbeddingText?
    private var oldest: EmbeddingText?

    init(entriesMax: Int, bytesMax: Int) {
        self.entriesMax = entriesMax
        self.bytesMax = bytesMax
    }

    /// Returns the cached vector and marks it as used.
    mutating func vector(of text: EmbeddingText) -> EmbeddingVector? {
        guard let entry = entries[text] else { return nil }
        if newest != text {
            unlink(text, entry)
            link(text, entry.vector)
        }
        return entry.vector
    }

    mutating func insert(_ vector: EmbeddingVector, of text: EmbeddingText) {
        if let known = entries[text] { unlink(text, known) }
        let added = Self.byteCount(text, vector)
        guard entriesMax > 0, added <= bytesMax else { return }
        while entries.count >= entriesMax || byteCount + added > bytesMax, let oldest, let entry = entries[oldest] {
            unlink(oldest, entry)
        }
        link(text, vector)
    }

    private static func byteCount(_ text: EmbeddingText, _ vector: EmbeddingVector) -> Int {
        text.byteCount + vector.text.utf8.count
    }

    private mutating func link(_ text: EmbeddingText, _ vector: EmbeddingVector) {
        entries[text] = Entry(vector: vector, newer: nil, older: newest)
        byteCount += Self.byteCount(text, vector)
        if let newest { entries[newest]?.newer = text }
        newest = text
        oldest = oldest ?? text
    }

    private mutating func unlink(_ text: EmbeddingText, _ entry: Entry) {
        entries[text] = nil
        byteCount -= Self.byteCount(text, entry.vector)
        if let newer = entry.newer { entries[newer]?.older = entry.older } else { newest = entry.older }
        if let older = entry.older { entries[older]?.newer = entry.newer } else { oldest = entry.newer }
    }
}
