import JSON

/// The answer to one run of an operation.
package struct OperationAnswer: Sendable, Hashable {
    /// The JSON text of `data`; for a query, exactly as Postgres built it, never parsed or re-encoded.
    package var body: [UInt8]
    /// The errors of single fields, which are null in `data`.
    package var errors: [RequestError]
    /// The JSON text of `extensions.dataConnect`; empty if there is none. Source: docs/reference/sql-connect.md §4.
    package var entities: [UInt8]

    package init(body: [UInt8], errors: [RequestError] = [], entities: [UInt8] = []) {
        self.body = body
        self.errors = errors
        self.entities = entities
    }

    /// The size of the database's output; errors are few and short.
    package var byteCount: Int { body.count + entities.count }

    /// The SHA-256 of the whole answer.
    package var digest: Digest {
        let errorBytes = errors.isEmpty ? [] : JSONValue.array(errors.map(\.graphQLError)).compactBytes
        return Digest(of: body + entities + errorBytes)
    }

    /// The form in the GraphQL protocols: `{"data":…}`, with `errors` if there are any.
    package var envelope: [UInt8] {
        errors.isEmpty ? ResultEnvelope.data(body) : ResultEnvelope.errors(errors, body: body)
    }
}
