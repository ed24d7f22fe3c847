package import LiveModel

/// A stored text by its digest instead of its name. Sources: GraphQL over HTTP, appendix on persisted documents (the
/// request's key `documentId`); Apollo's automatic persisted queries (`extensions.persistedQuery.sha256Hash`).
package struct DocumentID: Sendable, Hashable {
    package let digest: Digest
    /// Apollo's clients send the text if the error says in exactly these words that the digest is unknown.
    package let isPersistedQuery: Bool

    /// `sha256:` and 64 hexadecimal digits, or the digits alone.
    /// - Throws: `.badRequest`.
    init(documentID text: String) throws(RequestError) {
        let prefix = "sha256:"
        let digits = text.hasPrefix(prefix) ? text.dropFirst(prefix.count) : Substring(text)
        guard let digest = Digest(hex: digits) else {
            throw RequestError(.badRequest, "\"documentId\" must be sha256: and 64 hexadecimal digits")
        }
        self.digest = digest
        isPersistedQuery = false
    }

    /// - Throws: `.badRequest`.
    init(persistedQuery hash: String) throws(RequestError) {
        guard let digest = Digest(hex: hash) else {
            throw RequestError(.badRequest, "\"sha256Hash\" must be 64 hexadecimal digits")
        }
        self.digest = digest
        isPersistedQuery = true
    }

    /// The error for a digest that no stored text has.
    package var unknown: RequestError {
        RequestError(
            .operationNotFound, isPersistedQuery ? "PersistedQueryNotFound" : "no stored operation has this documentId")
    }
}
