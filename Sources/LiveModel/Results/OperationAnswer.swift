/// What running an operation once gave.
package struct OperationAnswer: Sendable, Hashable {
    /// JSON text of `data`.
    package var body: [UInt8]
    /// Of single fields.
    package var errors: [RequestError]
    /// JSON text of `extensions.dataConnect`, empty when there is nothing to say.
    package var entities: [UInt8]

    package init(body: [UInt8], errors: [RequestError] = [], entities: [UInt8] = []) {
        self.body = body
        self.errors = errors
        self.entities = entities
    }

    /// As protocols of the GraphQL family send it: `{"data":…}`, with `errors` where there are any.
    package var envelope: [UInt8] {
        errors.isEmpty ? ResultEnvelope.data(body) : ResultEnvelope.errors(errors, body: body)
    }
}
