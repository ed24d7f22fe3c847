package import LiveModel
package import Operations

/// Texts of one model that are asked for together.
package struct EmbeddingRequest: Sendable, Hashable {
    /// Of the desk that made it.
    package let id: Int
    package let model: String
    package let texts: [EmbeddingText]
    /// To the last byte of the answer: what the text that waited longest has left.
    package let timeoutMs: Int64

    package init(id: Int, model: String, texts: [EmbeddingText], timeoutMs: Int64) {
        self.id = id
        self.model = model
        self.texts = texts
        self.timeoutMs = timeoutMs
    }

    /// - Parameters:
    ///   - what: `refused the text`, to follow the server's name.
    ///   - cause: what clients are not told.
    package func failure(_ what: String, code: ErrorCode = .resolverFailed, cause: String? = nil) -> RequestError {
        Self.failure(model, what, code: code, cause: cause)
    }

    static func failure(_ model: String, _ what: String, code: ErrorCode, cause: String? = nil) -> RequestError {
        var error = RequestError(code, "the embedding server for \"\(model)\" \(what)")
        error.cause = cause
        return error
    }
}

extension EmbeddingText {
    /// Of memory, with what tables take for it: a rough figure.
    var byteCount: Int { text.utf8.count + model.utf8.count + 128 }
}
