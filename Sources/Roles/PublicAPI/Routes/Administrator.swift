import Catalog
import Execution
import Gateway
package import HTTPServer
import JSON
package import LiveModel
package import NIOHTTP1
import Operations
package import Sessions
import Synchronization

/// Administrators' operations: on the admin port behind its token, and under `freshet dev` on the public port.
///
/// No rule names an ad-hoc mutation, so its event goes to all shards: live queries that look up the rows it wrote
/// re-run. Queries refreshed only by `onMutationExecuted`, which names stored mutations, stay as they are.
package final class AdministratorOperations: Sendable {
    private let executor: RequestExecutor
    private let inFlight = Atomic<Int>(0)
    /// Each operation compiles its text, so few may run at a time.
    private static let inFlightMax = 8

    package init(executor: RequestExecutor) {
        self.executor = executor
    }

    /// Returns whether the path is an administrator's operation.
    package static func owns(_ path: String) -> Bool { AdministratorCall(path: path) != nil }

    /// - Parameter onRead: called once with what the request asks for, before it is done.
    package func handle(
        _ request: HTTPRequest, _ exchange: HTTPExchange, headers: HTTPHeaders = [:],
        onRead: @escaping @Sendable (Result<AdministratorRequest, RequestError>) -> Void = { _ in }
    ) {
        func fail(_ error: RequestError) {
            exchange.respond(error, headers: headers, body: SQLConnectFailure(error).json)
        }
        func refuse(_ error: RequestError) {
            onRead(.failure(error))
            fail(error)
        }
        guard let call = AdministratorCall(path: request.path) else {
            return refuse(RequestError(.notFound, "not found"))
        }
        guard request.method == .POST else { return refuse(RequestError(.methodNotAllowed, "this path allows POST")) }
        guard inFlight.wrappingAdd(1, ordering: .relaxed).newValue <= Self.inFlightMax else {
            inFlight.wrappingSubtract(1, ordering: .relaxed)
            return refuse(RequestError(.unavailable, "too many administrator operations on this node"))
        }
        Task {
            do throws(RequestError) {
                let read = Result { () throws(RequestError) in
                    try AdministratorRequest(try request.jsonBody(), call.method)
                }
                onRead(read)
                var wanted = try read.get()
                wanted.idempotencyKey = try IdempotencyKey.chosen(
                    header: request.header(IdempotencyKey.headerName), body: wanted.idempotencyKey)
                let answer = try await self.run(call, wanted)
                exchange.respond(json: answer.sqlConnectObject, headers: headers)
            } catch {
                fail(error)
            }
            self.inFlight.wrappingSubtract(1, ordering: .relaxed)
        }
    }

    private func run(
        _ call: AdministratorCall, _ request: AdministratorRequest
    ) async throws(RequestError) -> OperationAnswer {
        if let refusal = executor.serviceIdentity.refusal(location: call.location, service: call.service) {
            throw refusal.error
        }
        var resolved: ResolvedOperation
        do throws(RequestError) {
            resolved = try resolve(call, request)
        } catch {
            // As for clients, invalid variables are the operation's own outcome.
            guard error.code == .invalidVariable else { throw error }
            return OperationAnswer(failed: [error])
        }
        resolved.isForAdministrator = true
        resolved.idempotencyKey = request.idempotencyKey
        if call.method.isAdHoc { resolved.adHocText = request.query }
        switch (call.method, resolved.operation.kind) {
        case (.executeGraphqlRead, .mutation), (.impersonateQuery, .mutation):
            throw RequestError(.badRequest, "\"\(resolved.operation.reference.operation)\" is a mutation")
        case (.impersonateMutation, .query):
            throw RequestError(.badRequest, "\"\(resolved.operation.reference.operation)\" is a query")
        case (.executeGraphql, _), (.executeGraphqlRead, .query), (.impersonateQuery, .query),
            (.impersonateMutation, .mutation):
            break
        }
        do throws(RequestError) {
            return try await executor.answer(resolved, traceID: executor.makeTraceID())
        } catch {
            guard SQLConnectFailure.isOfExecution(error.code) else { throw error }
            return OperationAnswer(failed: [error])
        }
    }

    private func resolve(
        _ call: AdministratorCall, _ request: AdministratorRequest
    ) throws(RequestError) -> ResolvedOperation {
        if let query = request.query, call.method.isAdHoc {
            return try executor.resolveAdHoc(
                query, name: request.operationName, variables: request.variables, auth: request.auth)
        }
        return try executor.resolve(
            OperationRequest(
                connector: call.connector, operationName: request.operationName, variables: request.variables),
            auth: request.auth, isAdministrator: !request.isImpersonated)
    }
}
