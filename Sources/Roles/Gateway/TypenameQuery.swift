package import GraphQLLanguage
import JSON
import LiveModel
package import Sessions

/// A request for `__typename` alone, such as `{ __typename }`: the health check of gateways and tools. It reads
/// nothing, so no stored operation is needed.
package struct TypenameQuery: Sendable, Hashable {
    /// A query or a mutation.
    package let kind: OperationKind
    /// The JSON text of `data`.
    package let data: [UInt8]

    /// Nil for any other request, also for one that is not GraphQL.
    package init?(_ request: OperationRequest) {
        guard let text = request.document, text.utf8.count <= Self.bytesMax, text.contains("__typename"),
            let document = try? Parser.parseDocument(Source(name: "request", text: text), limits: .request),
            document.fragments.isEmpty
        else { return nil }
        let operations = document.operations.filter {
            request.operationName == nil || $0.name?.value == request.operationName
        }
        guard operations.count == 1, let operation = operations.first, operation.directives.isEmpty,
            operation.variables.isEmpty
        else { return nil }
        let type: String
        switch operation.kind {
        case .query: type = "Query"
        case .mutation: type = "Mutation"
        case .subscription: return nil
        }
        var object = JSONObject()
        for selection in operation.selectionSet.selections {
            guard case .field(let field) = selection, field.name.value == "__typename", field.arguments.isEmpty,
                field.directives.isEmpty, field.selectionSet == nil
            else { return nil }
            object[field.alias?.value ?? "__typename"] = .string(type)
        }
        kind = operation.kind
        data = JSONWriter.compact(.object(object))
    }

    /// Such requests are short; longer texts are not parsed here.
    private static let bytesMax = 1_024
}
