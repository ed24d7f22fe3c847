import JSON

/// What running an operation once gave.
package struct OperationAnswer: Sendable, Hashable {
    /// The JSON text of `data`, of a query as Postgres built it; never parsed or re-encoded.
    package var body: [UInt8]
    /// Of single fields, which are null then.
    package var errors: [RequestError]
    /// The JSON text of `extensions.dataConnect`, empty when there is nothing to say.
    /// Source: docs/reference/sql-connect.md §4.
    package var entities: [UInt8]

    package init(body: [UInt8], errors: [RequestError] = [], entities: [UInt8] = []) {
        self.body = body
        self.errors = errors
        self.entities = entities
    }

    /// Of what the database gave; errors are few and short.
    package var byteCount: Int { body.count + entities.count }

    /// SHA-256 over all of it.
    package var digest: Digest {
        let errorBytes = errors.isEmpty ? [] : JSONValue.array(errors.map(\.graphQLError)).compactBytes
        return Digest(of: body + entities + errorBytes)
    }

    /// As protocols of the GraphQL family send it: `{"data":…}`, with `errors` where there are any.
    package var envelope: [UInt8] {
        errors.isEmpty ? ResultEnvelope.data(body) : ResultEnvelope.errors(errors, body: body)
    }
}
