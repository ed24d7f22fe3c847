package import JSON
package import LiveModel
package import Operations
import QuerySQL

/// The embeddings that an operation needs.
extension StoredOperation {
    /// A use of an embedding, in a form for people.
    package struct EmbeddingUse: Sendable, Hashable {
        package let model: String
        /// `$query`, or a constant as JSON.
        package let text: String
        package let size: Int?
    }

    package var hasEmbeddings: Bool { !embeddings.isEmpty }

    package var embeddingUses: [EmbeddingUse] {
        embeddings.map { EmbeddingUse(model: $0.model, text: $0.text.words, size: $0.size) }
    }

    /// Returns the texts whose embeddings a run needs, without duplicates and without those of excluded fields.
    /// `variables` are coerced.
    /// - Throws: `.invalidVariable`.
    package func embeddingTexts(variables: JSONObject) throws(RequestError) -> [EmbeddingText] {
        guard hasEmbeddings else { return [] }
        let invocation = Invocation(
            variables: variables, auth: nil, nowMs: 0, operationName: reference.operation)
        var all: [EmbeddingText] = try query?.embeddingTexts(invocation) ?? []
        for plan in mutation { all += try plan.embeddingTexts(invocation) }
        var seen: Set<EmbeddingText> = []
        return all.filter { seen.insert($0).inserted }
    }
}
