import Catalog
import JSON
import LiveModel
package import Operations

/// Reaches the embedding server.
package protocol EmbeddingTransport: Sendable {
    /// Every text has an outcome. Errors: `.resolverFailed`, `.timeout`, `.unavailable`, `.limitExceeded`,
    /// `.payloadTooLarge`. A text may be asked for more than once: nothing is changed by it.
    /// - Parameter texts: each once.
    func embeddings(of texts: [EmbeddingText]) async -> Embeddings
}

extension Optional where Wrapped == any EmbeddingTransport {
    /// The vectors for one run.
    /// - Throws: why there is not every one of them.
    func embeddings(for operation: StoredOperation, _ variables: JSONObject) async throws(RequestError) -> Embeddings {
        guard operation.hasEmbeddings else { return .none }
        let texts = try operation.embeddingTexts(variables: variables)
        let embeddings = await embeddings(of: texts)
        for text in texts { _ = try embeddings.vector(of: text) }
        return embeddings
    }

    /// The vectors for many runs together. One whose variables give no text is told so when its values are computed.
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
