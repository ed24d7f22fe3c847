import Catalog
import JSON
import LiveModel
package import Operations

/// The connection to the embedding server.
package protocol EmbeddingTransport: Sendable {
    /// Returns an outcome for every text. Errors: `.resolverFailed`, `.timeout`, `.unavailable`, `.limitExceeded`,
    /// `.payloadTooLarge`. Requests change nothing, so a text may be sent more than once.
    /// - Parameter texts: without duplicates.
    func embeddings(of texts: [EmbeddingText]) async -> Embeddings
}

extension Optional where Wrapped == any EmbeddingTransport {
    /// Returns the embeddings for one run.
    /// - Throws: the error of the first text without an embedding.
    func embeddings(for operation: StoredOperation, _ variables: JSONObject) async throws(RequestError) -> Embeddings {
        guard operation.hasEmbeddings else { return .none }
        let texts = try operation.embeddingTexts(variables: variables)
        let embeddings = await embeddings(of: texts)
        for text in texts { _ = try embeddings.vector(of: text) }
        return embeddings
    }

    /// Returns the embeddings for many runs in one request. A run whose variables yield no text fails later, when its
    /// values are computed.
    func embeddings(for operation: StoredOperation, _ items: [QueryExecutor.Item]) async -> Embeddings {
        guard operation.hasEmbeddings else { return .none }
        var texts: [EmbeddingText] = []
        var seen: Set<EmbeddingText> = []
        for item in items {
            let wanted = (try? operation.embeddingTexts(variables: item.variables)) ?? []
            texts += wanted.filter { seen.insert($0).inserted }
        }
        return await embeddings(of: texts)
    }

    private func embeddings(of texts: [EmbeddingText]) async -> Embeddings {
        guard !texts.isEmpty else { return .none }
        if let self { return await self.embeddings(of: texts) }
        let error = RequestError(
            .resolverFailed, "vectors of texts need an embedding server, and embeddings.url is not set")
        return Embeddings(Dictionary(uniqueKeysWithValues: texts.map { ($0, .failure(error)) }))
    }
}
