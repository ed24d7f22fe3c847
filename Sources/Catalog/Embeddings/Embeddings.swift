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
