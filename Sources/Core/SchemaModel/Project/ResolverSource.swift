import GraphQLLanguage

/// A custom resolver from `dataconnect.yaml`: a schema whose root fields an external GraphQL service resolves. Source:
/// docs/reference/sql-connect.md §5.2, "Custom resolvers".
package struct ResolverSource: Sendable {
    package var endpoint: ResolverEndpoint
    /// The schema's files, sorted by path.
    package var files: [SourceFile]

    package init(endpoint: ResolverEndpoint, files: [SourceFile]) {
        self.endpoint = endpoint
        self.files = files
    }

    /// The bytes whose change makes a new version of the operations that use the resolver.
    package var identity: [UInt8] {
        Array("\(endpoint.id)\n\(endpoint.uri)\n\(endpoint.timeoutMs)\n".utf8) + files.flatMap { $0.source.bytes + [0] }
    }
}

/// The address of a custom resolver.
package struct ResolverEndpoint: Sendable, Hashable {
    package static let timeoutDefaultMs = 10_000
    package static let timeoutMs = 1...600_000

    /// The schema's `id`, for messages; not unique unless given.
    package var id: String
    /// An `http:` or `https:` URL.
    package var uri: String
    /// The time limit for one response, including connecting, in milliseconds.
    package var timeoutMs: Int

    package init(id: String, uri: String, timeoutMs: Int) {
        self.id = id
        self.uri = uri
        self.timeoutMs = timeoutMs
    }
}
