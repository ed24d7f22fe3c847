package import LiveModel

/// A text of which a model makes a vector for a column.
package struct EmbeddingText: Hashable, Sendable {
    /// As the operation names it.
    package let model: String
    package let text: String
    /// Numbers that the column takes; nil where its type leaves that open.
    package let size: Int?

    package init(model: String, text: String, size: Int?) {
        self.model = model
        self.text = text
        self.size = size
    }

    /// Byte by byte: to a model two forms of a character (Unicode §3.11) are two texts.
    package static func == (one: EmbeddingText, other: EmbeddingText) -> Bool {
        one.size == other.size && one.model == other.model && one.text.utf8.elementsEqual(other.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(model)
    }
}

/// A vector as pgvector reads it, in single precision.
package struct EmbeddingVector: Hashable, Sendable {
    /// `[0.5,-1.0]`
    package let text: String

    package init(_ numbers: [Float]) {
        text = "[" + numbers.map(\.description).joined(separator: ",") + "]"
    }
}

/// What became of the texts of a run.
package struct Embeddings: Sendable {
    package typealias Outcome = Result<EmbeddingVector, RequestError>

    private var outcomes: [EmbeddingText: Outcome]

    /// Of an operation without such texts.
    package static let none = Embeddings([:])

    package init(_ outcomes: [EmbeddingText: Outcome]) {
        self.outcomes = outcomes
    }

    /// - Throws: why there is no vector.
    package func vector(of text: EmbeddingText) throws(RequestError) -> EmbeddingVector {
        guard let outcome = outcomes[text] else {
            throw RequestError(.internalError, "nobody asked for a vector by \"\(text.model)\"")
        }
        return try outcome.get()
    }
}
