package import LiveModel

/// A text to embed with a model, for a vector column.
package struct EmbeddingText: Hashable, Sendable {
    /// The model as the operation names it.
    package let model: String
    package let text: String
    /// The vector's dimensions; nil if the column's type leaves them open.
    package let size: Int?

    package init(model: String, text: String, size: Int?) {
        self.model = model
        self.text = text
        self.size = size
    }

    /// Compares bytes: canonically equivalent texts (Unicode §3.11) are different inputs to a model.
    package static func == (one: EmbeddingText, other: EmbeddingText) -> Bool {
        one.size == other.size && one.model == other.model && one.text.utf8.elementsEqual(other.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(model)
    }
}

/// A vector in pgvector's text form, in single precision.
package struct EmbeddingVector: Hashable, Sendable {
    /// `[0.5,-1.0]`
    package let text: String

    package init(_ numbers: [Float]) {
        text = "[" + numbers.map(\.description).joined(separator: ",") + "]"
    }
}

/// The vectors of a run's texts, or the errors.
package struct Embeddings: Sendable {
    package typealias Outcome = Result<EmbeddingVector, RequestError>

    private var outcomes: [EmbeddingText: Outcome]

    /// The value for an operation that embeds no texts.
    package static let none = Embeddings([:])

    package init(_ outcomes: [EmbeddingText: Outcome]) {
        self.outcomes = outcomes
    }

    /// - Throws: the error that prevented the embedding.
    package func vector(of text: EmbeddingText) throws(RequestError) -> EmbeddingVector {
        guard let outcome = outcomes[text] else {
            throw RequestError(.internalError, "no embedding was requested from \"\(text.model)\"")
        }
        return try outcome.get()
    }
}
