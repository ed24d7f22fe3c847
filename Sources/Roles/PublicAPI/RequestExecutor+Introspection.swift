import Catalog
import Execution
import GraphQLLanguage
import JSON
import LiveModel
import SchemaSDL
import Sessions

extension RequestExecutor {
    /// Answers an introspection query of an editor or GraphiQL; nil for any other request. Under `freshet dev` only: a
    /// schema reveals more than the stored operations do.
    /// - Throws: `.badRequest` for an invalid introspection query.
    func introspect(_ request: OperationRequest) throws(RequestError) -> [UInt8]? {
        // The lookup reports syntax errors.
        guard let text = request.document,
            let document = try? Parser.parseDocument(Source(name: "request", text: text), limits: .request),
            let operation = Introspection.operation(in: document, named: request.operationName)
        else { return nil }
        let answer = try Introspection(lookup.catalog.graphQLSchema)
            .answer(operation, in: document, variables: request.variables)
        return ResultEnvelope.data(JSONValue.object(answer).compactBytes)
    }
}
