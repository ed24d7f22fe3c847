import GraphQLLanguage

/// A custom resolver as `dataconnect.yaml` names it: a schema whose root fields a GraphQL service elsewhere answers.
/// Source: docs/reference/sql-connect.md §5.2, "Custom resolvers".
package struct ResolverSource: Sendable {
    package var endpoint: ResolverEndpoint
    /// The schema's files, in the order of their paths.
    package var files: [SourceFile]

    package init(endpoint: ResolverEndpoint, files: [SourceFile]) {
        self.endpoint = endpoint
        self.files = files
    }

    /// What makes another version of the operations that use it.
    package var identity: [UInt8] {
        Array("\(endpoint.id)\n\(endpoint.uri)\n\(endpoint.timeoutMs)\n".utf8) + files.flatMap { $0.source.bytes + [0] }
    }
}

/// Where a custom resolver answers.
package struct ResolverEndpoint: Sendable, Hashable {
    package static let timeoutDefaultMs = 10_000
    package static let timeoutMs = 1...600_000

    /// `id` of the schema, for messages; not unique when not given.
    package var id: String
    /// `http:` or `https:`.
    package var uri: String
    /// For one answer, connecting included.
    package var timeoutMs: Int

    package init(id: String, uri: String, timeoutMs: Int) {
        self.id = id
        self.uri = uri
        self.timeoutMs = timeoutMs
    }
}
