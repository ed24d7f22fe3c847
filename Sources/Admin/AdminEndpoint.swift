internal import Broker
internal import Crypto
package import HTTPServer
internal import JSON
internal import LiveModel
internal import NIOCore
internal import NIOHTTP1
internal import Observability

/// The admin port: its own address, its own token.
///
///     GET /healthz /readyz                        open
///     GET /metrics                                Prometheus text
///     GET /admin/status /admin/nodes /admin/shards
///     GET /admin/live-queries?operation=C/OP&limit=N
package final class AdminEndpoint: HTTPHandler {
    private let inspector: NodeInspector
    private let token: String?

    /// Live queries that one answer lists.
    package static let liveQueriesMax = 1_000

    /// - Parameter token: nil allows everybody who reaches the port; settings allow that on loopback only.
    package init(inspector: NodeInspector, token: String?) {
        self.inspector = inspector
        self.token = token
    }

    package func webSocket(_ request: HTTPRequest) -> WebSocketDecision {
        .reject(.notFound, body: ByteBuffer())
    }

    package func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
        switch request.path {
        case "/healthz": return respond(exchange, ["status": "ok"])
        case "/readyz":
            return inspector.isReady()
                ? respond(exchange, ["status": "ready"])
                : respond(exchange, ["status": "not ready"], status: .serviceUnavailable)
        default: break
        }
        guard isAllowed(request) else {
            return fail(exchange, RequestError(.unauthenticated, "the admin token is missing or wrong"))
        }
        guard request.method == .GET else {
            return fail(exchange, RequestError(.methodNotAllowed, "this path allows GET"))
        }
        switch request.path {
        case "/metrics":
            exchange.respond(
                .ok, headers: ["content-type": PrometheusMetrics.contentType], body: inspector.renderMetrics())
        case "/admin/status": answer(exchange) { [inspector] in await inspector.status() }
        case "/admin/nodes": answer(exchange) { [inspector] in try await inspector.nodes() }
        case "/admin/shards": answer(exchange) { [inspector] in try await inspector.shards() }
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
        default: fail(exchange, RequestError(.notFound, "there is nothing at this path"))
        }
    }

    /// Compared in constant time, by digest.
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
                fail(exchange, RequestError(.unavailable, "the broker cannot be asked: \(error)"))
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
