import Broker
import Streams
import Crypto
package import PublicAPI
package import HTTPServer
import JSON
import LiveModel
package import Logging
import NIOCore
import NIOHTTP1
import Observability
import Synchronization

/// The HTTP handler of the admin port, which has its own address and token.
///
///     GET /healthz /readyz                        open
///     GET /metrics                                Prometheus text
///     GET /admin/status /admin/nodes /admin/shards /admin/overrides /admin/slot
///     GET /admin/live-queries?operation=C/OP&limit=N  /admin/sessions?limit=N  /admin/revocations?limit=N
///     POST /v1/projects/P/locations/L/services/S:executeGraphql, …: `AdministratorOperations`
///     POST …                                      `NodeOperator.Action`; each writes a line to the audit log
package final class AdminEndpoint: HTTPHandler {
    private let inspector: NodeInspector
    private let `operator`: NodeOperator
    private let operations: AdministratorOperations?
    private let token: String?
    private let audit: Logger
    private let nowMs: @Sendable () -> Int64
    /// Log budgets for requests without and with the token: the former must not crowd out the latter.
    private let refusals: Mutex<(anonymous: RefusalBudget, operators: RefusalBudget)>

    /// The characters of a path that are logged.
    private static let pathMax = 200
    /// The live queries that one response lists.
    package static let liveQueriesMax = 1_000
    package static let sessionsMax = 10_000

    /// - Parameter token: nil admits programs that can reach the port, but no web pages (`CrossSiteCheck`); settings
    ///   allow that on loopback only.
    package init(
        inspector: NodeInspector, operator: NodeOperator, operations: AdministratorOperations? = nil, token: String?,
        nowMs: @escaping @Sendable () -> Int64, logger: Logger
    ) {
        self.nowMs = nowMs
        refusals = Mutex((RefusalBudget(), RefusalBudget()))
        self.operations = operations
        self.inspector = inspector
        self.operator = `operator`
        self.token = token
        var audit = logger
        audit[metadataKey: "log"] = "audit"
        self.audit = audit
    }

    package func webSocket(_ request: HTTPRequest) -> WebSocketDecision {
        .reject(.notFound, body: ByteBuffer())
    }

    package func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
        switch request.path {
        case "/healthz": return respond(exchange, ["status": "ok"])
        case "/readyz":
            let readiness = inspector.readiness
            return readiness.isReady
                ? respond(exchange, ["status": "ready", "redis": inspector.redisSummary])
                : respond(
                    exchange,
                    [
                        "status": "not ready", "reason": readiness.problem.map { .string($0) } ?? .null,
                        "redis": inspector.redisSummary,
                    ], status: .serviceUnavailable)
        default: break
        }
        guard isAllowed(request) else {
            return refuse(request, exchange, RequestError(.unauthenticated, "the admin token is missing or invalid"))
        }
        // The token is proof enough: no page of another site has it.
        if token == nil, let error = CrossSiteCheck.refusal(of: request, hosts: .loopback) {
            return refuse(request, exchange, error)
        }
        if let operations, AdministratorOperations.owns(request.path) {
            audit.notice(
                "administrator operation", metadata: ["who": "\(who(request))", "what": "\(request.path)"])
            return operations.handle(request, exchange)
        }
        if request.method == .POST { return act(request, exchange) }
        guard request.method == .GET else {
            return refuse(request, exchange, RequestError(.methodNotAllowed, "this path allows GET or POST"))
        }
        switch request.path {
        case "/metrics":
            exchange.respond(
                .ok, headers: ["content-type": PrometheusMetrics.contentType], body: inspector.renderMetrics())
        case "/admin/status": answer(exchange) { [inspector] in await inspector.status() }
        case "/admin/nodes": answer(exchange) { [inspector] in try await inspector.nodes() }
        case "/admin/shards": answer(exchange) { [inspector] in try await inspector.shards() }
        case "/admin/rules": answer(exchange) { [inspector] in await inspector.ruleEffects() }
        case "/admin/overrides": answer(exchange) { [inspector] in try await inspector.overrides() }
        case "/admin/slot": answer(exchange) { [inspector] in try await inspector.slot() }
        // The former path.
        case "/admin/orders": answer(exchange) { [inspector] in try await inspector.formerOverrides() }
        case "/admin/sessions":
            let limit = min(Self.sessionsMax, request.query("limit").flatMap { Int($0) } ?? 100)
            answer(exchange) { [inspector] in await inspector.sessions(limit: max(0, limit)) }
        case "/admin/revocations":
            let limit = min(Self.sessionsMax, request.query("limit").flatMap { Int($0) } ?? 100)
            answer(exchange) { [inspector] in try await inspector.revocationRows(limit: max(0, limit)) }
        case "/admin/live-queries":
            let limit = min(Self.liveQueriesMax, request.query("limit").flatMap { Int($0) } ?? 100)
            let operation = request.query("operation").flatMap { text -> OperationReference? in
                let parts = text.split(separator: "/", maxSplits: 1)
                return parts.count == 2
                    ? OperationReference(connector: String(parts[0]), operation: String(parts[1])) : nil
            }
            answer(exchange) { [inspector] in
                await inspector.liveQueries(limit: max(0, limit), operation: operation)
            }
        default: fail(exchange, RequestError(.notFound, "not found"))
        }
    }

    private func act(_ request: HTTPRequest, _ exchange: HTTPExchange) {
        let action: NodeOperator.Action
        do {
            guard let found = try NodeOperator.Action(path: request.path, query: { request.query($0) }) else {
                return refuse(request, exchange, RequestError(.notFound, "no action at this path"))
            }
            action = found
        } catch {
            return refuse(request, exchange, error)
        }
        let who = who(request)
        Task {
            do throws(RequestError) {
                let done = try await `operator`.perform(action)
                audit.notice(
                    "admin action", metadata: ["who": "\(who)", "what": "\(action.description)", "result": "\(done)"])
                respond(exchange, ["done": .string(done)])
            } catch {
                audit.notice(
                    "admin action refused",
                    metadata: ["who": "\(who)", "what": "\(action.description)", "result": "\(error.message)"])
                fail(exchange, error)
            }
        }
    }

    /// Refuses a request and logs it, within the log budget.
    private func refuse(_ request: HTTPRequest, _ exchange: HTTPExchange, _ error: RequestError) {
        let nowMs = nowMs()
        let isAnonymous = error.code == .unauthenticated
        let unlogged = refusals.withLock {
            isAnonymous ? $0.anonymous.refused(nowMs: nowMs) : $0.operators.refused(nowMs: nowMs)
        }
        if let unlogged {
            var metadata: Logger.Metadata = [
                "who": "\(who(request))", "what": "\(request.method) \(request.path.prefix(Self.pathMax))",
                "result": "\(error.message)",
            ]
            if unlogged > 0 { metadata["unlogged"] = "\(unlogged)" }
            audit.notice("admin request refused", metadata: metadata)
        }
        fail(exchange, error)
    }

    /// Describes the sender for the audit log.
    private func who(_ request: HTTPRequest) -> String {
        let peer = request.remoteAddress.map { "\($0.ipAddress ?? "local"):\($0.port ?? 0)" } ?? "?"
        // The sender chooses the name; the token and the address are verified.
        let name = request.header("x-freshet-operator").map { String($0.prefix(64)) } ?? "-"
        return "\(credential(request)), \(peer), \(name)"
    }

    private func credential(_ request: HTTPRequest) -> String {
        if token == nil { return "no token" }
        if isAllowed(request) { return "admin token" }
        return request.header("authorization") == nil ? "no token" : "wrong token"
    }

    /// Whether the request has the admin token, compared in constant time by digest.
    private func isAllowed(_ request: HTTPRequest) -> Bool {
        guard let token else { return true }
        guard let header = request.header("authorization"), header.lowercased().hasPrefix("bearer ") else {
            return false
        }
        let sent = SHA256.hash(data: Array(header.dropFirst(7).utf8))
        return sent == SHA256.hash(data: Array(token.utf8))
    }

    private func answer(_ exchange: HTTPExchange, _ make: @escaping @Sendable () async throws -> JSONValue) {
        Task {
            do {
                respond(exchange, try await make())
            } catch {
                fail(exchange, RequestError(.unavailable, "\(error)"))
            }
        }
    }

    private func respond(_ exchange: HTTPExchange, _ value: JSONValue, status: HTTPResponseStatus = .ok) {
        exchange.respond(status, headers: ["content-type": "application/json"], body: value.compactBytes)
    }

    private func fail(_ exchange: HTTPExchange, _ error: RequestError) {
        exchange.respond(
            HTTPResponseStatus(statusCode: error.code.httpStatus), headers: ["content-type": "application/json"],
            body: ResultEnvelope.errors([error]))
    }
}
