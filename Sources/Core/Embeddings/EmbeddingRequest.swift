package import LiveModel
package import Operations

/// A batch of texts that are sent to the server together.
package struct EmbeddingRequest: Sendable, Hashable {
    /// Assigned by the batcher.
    package let id: Int
    package let model: String
    package let texts: [EmbeddingText]
    /// The time until the last byte of the response: what remains to the text that waited longest.
    package let timeoutMs: Int64

    package init(id: Int, model: String, texts: [EmbeddingText], timeoutMs: Int64) {
        self.id = id
        self.model = model
        self.texts = texts
        self.timeoutMs = timeoutMs
    }

    /// - Parameters:
    ///   - what: the end of the message after the server's name, such as `rejected the text`.
    ///   - cause: details that are not sent to clients.
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
    /// The approximate memory use, including overhead in tables.
    var byteCount: Int { text.utf8.count + model.utf8.count + 128 }
}
