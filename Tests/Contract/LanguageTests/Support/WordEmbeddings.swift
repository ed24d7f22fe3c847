import Execution
import LiveModel
import Operations

/// Vectors that count how often a text has each of the words sun, sea and ski: what stands for the embedding server,
/// which is `EmbeddingTests` of the integration tests' matter.
struct WordEmbeddings: EmbeddingTransport {
    private static let words = ["sun", "sea", "ski"]

    static func embeddings(of texts: [EmbeddingText]) -> Embeddings {
        Embeddings(Dictionary(uniqueKeysWithValues: texts.map { ($0, outcome(of: $0)) }))
    }

    private static func outcome(of text: EmbeddingText) -> Embeddings.Outcome {
        guard text.model == "words" else {
            return .failure(RequestError(.resolverFailed, "there is no model \"\(text.model)\""))
        }
        let given = text.text.split(separator: " ")
        return .success(EmbeddingVector(words.map { word in Float(given.count { $0 == word }) }))
    }

    func embeddings(of texts: [EmbeddingText]) async -> Embeddings { Self.embeddings(of: texts) }
}
