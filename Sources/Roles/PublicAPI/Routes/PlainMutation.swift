import Catalog
import Execution
import HTTPServer
import JSON
import LiveModel
import NIOHTTP1
import Operations
import Sessions

/// `POST /v1/connectors/C/mutations/OP` with the body `{"variables": {…}}`. 200 means committed; errors of single fields
/// stand beside `data`.
extension PublicRouter {
    func mutation(_ call: Call, connector: String, operation: String) {
        guard settings.isAPI else {
            return call.fail(RequestError(.notFound, "this node runs no mutations (role api)"))
        }
        guard call.request.method == .POST else { return call.methodNotAllowed("POST") }
        perform(call) { identity throws(RequestError) in
            let request = try OperationRequest(graphQL: try call.request.jsonBody())
            let resolved = try self.services.resolve(
                OperationRequest(connector: connector, operationName: operation, variables: request.variables),
                auth: identity.auth
            ) { found throws(RequestError) in
                guard found.kind == .mutation else {
                    throw RequestError(.badRequest, "\"\(operation)\" is a query: GET it from …/queries/\(operation)")
                }
            }
            let outcome = try await self.services.mutate(resolved, traceID: call.traceID)
            var headers = call.headers
            guard !outcome.errors.isEmpty else {
                return call.exchange.respond(json: ResultEnvelope.data(outcome.body), headers: headers)
            }
            // 200 stands for committed, so what kept nothing has the status of its first error.
            let cause = outcome.isCommitted ? nil : outcome.errors.first { !$0.message.hasPrefix("(") }
            if let retryAfterMs = cause?.retryAfterMs {
                headers.replaceOrAdd(name: "retry-after", value: String((retryAfterMs + 999) / 1_000))
            }
            call.exchange.respond(
                json: ResultEnvelope.errors(outcome.errors, body: outcome.body),
                status: cause.map { HTTPResponseStatus(statusCode: $0.code.httpStatus) } ?? .ok, headers: headers)
        }
    }
}
