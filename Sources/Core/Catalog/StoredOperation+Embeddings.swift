package import JSON
package import LiveModel
package import Operations
import QuerySQL

/// Vectors that models make of texts.
extension StoredOperation {
    /// A place where the operation asks for a vector, for people.
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

    /// The texts whose vectors a run needs, each once; those of fields that are left out are not among them.
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
