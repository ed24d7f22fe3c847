package import Catalog
package import LiveModel

/// Texts of one model that are asked for together.
package struct EmbeddingRequest: Sendable, Hashable {
    /// Of the desk that made it.
    package let id: Int
    package let model: String
    package let texts: [EmbeddingText]

    package init(id: Int, model: String, texts: [EmbeddingText]) {
        self.id = id
        self.model = model
        self.texts = texts
    }

    /// - Parameter what: `did not answer in 5000 ms`, to follow the server's name.
    package func failure(_ what: String, code: ErrorCode = .resolverFailed) -> RequestError {
        Self.failure(model, what, code: code)
    }

    static func failure(_ model: String, _ what: String, code: ErrorCode) -> RequestError {
        RequestError(code, "the embedding server for \"\(model)\" \(what)")
    }
}
