import Catalog
import Execution
import HTTPServer
import JSON
import LiveModel
import NIOHTTP1
import Operations
import Sessions

/// `POST /v1/connectors/C/mutations/OP` with the body `{"variables": {…}}`. 200 means committed; errors of single
/// fields are beside `data`.
extension PublicRouter {
    func mutation(_ call: Call, connector: String, operation: String) {
        guard settings.isAPI else {
            return call.fail(RequestError.runsNoMutations)
        }
        guard call.request.method == .POST else { return call.methodNotAllowed("POST") }
        perform(call) { [call] identity throws(RequestError) in
            let sent = try OperationRequest(graphQL: try call.request.jsonBody())
            var request = OperationRequest(
                connector: connector, operationName: operation, variables: sent.variables)
            request.idempotencyKey = sent.idempotencyKey
            try request.take(idempotencyKeyHeader: call.request.header(IdempotencyKey.headerName))
            var call = call
            var resolved = try self.executor.resolve(
                request, for: identity, .only(.mutation, hint: ": GET it from …/queries/\(operation)"))
            call.trace(&resolved)
            let outcome = try await self.executor.mutate(resolved, traceID: call.traceID)
            call.position = outcome.position
            var headers = call.headers
            guard !outcome.errors.isEmpty else {
                return call.exchange.respond(json: ResultEnvelope.data(outcome.body), headers: headers, as: .result)
            }
            // 200 means committed; otherwise the response has the failure's status.
            if let failure = outcome.failure { headers.setRetryAfter(of: failure) }
            call.exchange.respond(
                json: ResultEnvelope.errors(outcome.errors, body: outcome.body),
                status: outcome.failure.map { HTTPResponseStatus(statusCode: $0.code.httpStatus) } ?? .ok,
                headers: headers)
        }
    }
}
