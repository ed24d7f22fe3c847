import Catalog
import Execution
import Gateway
import HTTPServer
import JSON
import LiveModel
import NIOCore
import NIOHTTP1
import Operations
import Sessions

/// `POST /v1/projects/P/locations/L/services/S/connectors/C:executeQuery` and `:executeMutation`, as the SQL Connect
/// SDKs send them. Source: docs/reference/sql-connect.md §1.
///
/// An operation's outcome, including invalid variables, is 200 with `data` and `errors`; a failed request has a status
/// of 400 or above and `{"code","message","details"}`.
extension PublicRouter {
    func sqlConnect(_ call: Call, _ wanted: ConnectorCall) {
        var call = call
        call.failureForm = .sqlConnect
        guard settings.isAPI else {
            return call.fail(RequestError.runsNoOperations)
        }
        guard call.request.method == .POST else { return call.methodNotAllowed("POST") }
        if let refusal = executor.serviceIdentity.refusal(of: wanted.name) { return call.fail(refusal.error) }
        perform(call) { [call] identity throws(RequestError) in
            var request = try OperationRequest(sqlConnect: try call.request.jsonBody(), of: wanted.name.connector)
            try request.take(idempotencyKeyHeader: call.request.header(IdempotencyKey.headerName))
            let answer = try await self.sqlConnectAnswer(
                request, wanted.method, identity, traceID: call.traceID, trace: call.trace)
            call.exchange.respond(json: answer.sqlConnectObject, headers: call.headers, as: .result)
        }
    }

    /// Runs an operation once. Invalid variables, failed checks and database errors are the operation's own outcome.
    /// - Throws: failures of the request.
    func sqlConnectAnswer(
        _ request: OperationRequest, _ method: ConnectorCall.Method, _ identity: Identity, traceID: String,
        trace: (inout ResolvedOperation) -> Void = { _ in }
    ) async throws(RequestError) -> OperationAnswer {
        var resolved: ResolvedOperation
        do throws(RequestError) {
            resolved = try executor.resolve(request, for: identity, method.allowedKinds)
            trace(&resolved)
        } catch {
            guard error.code == .invalidVariable else { throw error }
            return OperationAnswer(failed: [error])
        }
        do throws(RequestError) {
            return try await executor.answer(resolved, traceID: traceID)
        } catch {
            guard SQLConnectFailure.isOfExecution(error.code) else { throw error }
            return OperationAnswer(failed: [error])
        }
    }

    // MARK: Emulator (docs/reference/sql-connect.md §7)

    /// Serves `GET /emulator/stream_issues`, the project's problems, one a line while the editor listens. A project
    /// with errors is not served, so there is one line without issues.
    private func streamIssues(_ call: Call) {
        let exchange = call.exchange
        var headers = call.headers
        headers.replaceOrAdd(name: "content-type", value: "application/json")
        headers.replaceOrAdd(name: "cache-control", value: "no-cache")
        let sent = headers
        let permit: SessionPermit
        do throws(RequestError) {
            try admitSession(from: address(of: call.request))
            permit = try SessionPermit(connectionFrom: nil, sessions, executor.quotas)
        } catch {
            return call.fail(error)
        }
        exchange.eventLoop.execute {
            permit.register(
                IssueStream(exchange), on: exchange.eventLoop, peer: call.request.remoteAddress,
                version: self.executor.projectVersion)
            exchange.onClose { permit.end() }
            exchange.startStream(.ok, headers: sent)
            exchange.write(ByteBuffer(string: #"{"result":{"issues":[]}}"# + "\n"))
        }
    }

    /// Serves `GET /emulator/info` and `POST /emulator/configure`. `freshet dev` has its own database: a configuration
    /// is accepted and has no effect.
    func emulator(_ call: Call, _ name: String) {
        guard let emulator = settings.emulator else { return }
        switch (name, call.request.method) {
        case ("info", .GET):
            let service: JSONValue = [
                "serviceId": .string(executor.serviceIdentity.service),
                "connectionString": .string(emulator.connectionString),
            ]
            call.exchange.respond(
                json: JSONWriter.compact(["version": .string(emulator.version), "services": [service]]),
                headers: call.headers)
        case ("configure", .POST): call.exchange.respond(json: Array("{}".utf8), headers: call.headers)
        case ("stream_issues", .GET): streamIssues(call)
        case ("info", _), ("stream_issues", _): call.methodNotAllowed("GET")
        case ("configure", _): call.methodNotAllowed("POST")
        default: call.fail(RequestError(.notFound, "not found"))
        }
    }
}

/// A request by which an editor listens for issues of the project.
private final class IssueStream: ManagedSession {
    private let exchange: HTTPExchange

    init(_ exchange: HTTPExchange) { self.exchange = exchange }

    var protocolName: String { "issues" }
    func goAway() { exchange.end() }
    func recheckIdentity() {}
}

extension ConnectorCall.Method {
    /// The kinds that the method accepts. For another kind, SQL Connect reports that no such operation exists.
    var allowedKinds: AllowedKinds {
        switch self {
        case .executeQuery: .only(.query, code: .operationNotFound, hint: ", no query")
        case .executeMutation: .only(.mutation, code: .operationNotFound, hint: ", no mutation")
        }
    }
}
