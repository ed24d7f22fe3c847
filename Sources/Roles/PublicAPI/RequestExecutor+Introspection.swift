import Catalog
import Execution
import GraphQLLanguage
import JSON
import LiveModel
import SchemaSDL
import Sessions

extension RequestExecutor {
    /// The answer to a question about the schema, as editors and GraphiQL ask it; nil for everything else. Under
    /// `freshet dev` only: a schema tells more than the stored operations do.
    /// - Throws: `.badRequest`.
    func introspect(_ request: OperationRequest) throws(RequestError) -> [UInt8]? {
        // What is no GraphQL is told by the resolver.
        guard let text = request.document,
            let document = try? Parser.parseDocument(Source(name: "request", text: text), limits: .request),
            let operation = Introspection.operation(in: document, named: request.operationName)
        else { return nil }
        let answer = try Introspection(resolver.catalog.graphQLSchema)
            .answer(operation, in: document, variables: request.variables)
        return ResultEnvelope.data(JSONValue.object(answer).compactBytes)
    }
}
