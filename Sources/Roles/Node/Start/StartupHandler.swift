import HTTPServer
import LiveModel
import Logging
import NIOCore
import NIOHTTP1
import Settings
import Synchronization

/// Answers on the ports of a node that waits for its servers: alive, not ready, retry later. A port chosen by the
/// system stays closed, because clients do not know it yet.
final class StartupHandler: HTTPHandler {
    /// Empty after `close`.
    private let servers: Mutex<[HTTPServer]>

    private init(servers: [HTTPServer]) { self.servers = Mutex(servers) }

    /// - Throws: when a port is in use, which waiting would not cure.
    static func open(_ settings: Settings, logger: Logger) async throws(NodeError) -> StartupHandler {
        var addresses = [(settings.http.host, settings.http.port)]
        if settings.cluster.roles.contains(.admin) { addresses.append((settings.admin.host, settings.admin.port)) }
        var servers: [HTTPServer] = []
        let handler = StartupHandler(servers: [])
        for (host, port) in addresses where port != 0 {
            var configuration = HTTPServerConfiguration()
            configuration.host = host
            configuration.port = port
            configuration.eventLoops = 1
            configuration.connectionsMax = 64
            let server = HTTPServer(configuration: configuration, handler: handler, logger: logger)
            do {
                _ = try await server.start()
            } catch {
                for server in servers + [server] { await server.shutdown(graceMs: 0) }
                throw NodeError("cannot listen on \(host):\(port): \(ServiceNode.reason(error))")
            }
            servers.append(server)
        }
        return StartupHandler(servers: servers)
    }

    /// Closes the ports. Can be called again.
    func close() async {
        let open = servers.withLock { servers in
            defer { servers = [] }
            return servers
        }
        for server in open { await server.shutdown(graceMs: 0) }
    }

    func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
        let headers: HTTPHeaders = ["content-type": "application/json", "connection": "close"]
        switch request.path {
        case "/healthz": exchange.respond(.ok, headers: headers, body: Array(#"{"status":"ok"}"#.utf8))
        case "/readyz":
            exchange.respond(.serviceUnavailable, headers: headers, body: Array(#"{"status":"starting"}"#.utf8))
        default:
            var headers = headers
            headers.add(name: "retry-after", value: "1")
            exchange.respond(.serviceUnavailable, headers: headers, body: ResultEnvelope.errors([Self.error]))
        }
    }

    func webSocket(_ request: HTTPRequest) -> WebSocketDecision {
        .reject(
            .serviceUnavailable, headers: ["retry-after": "1"],
            body: ByteBuffer(bytes: ResultEnvelope.errors([Self.error])))
    }

    private static let error = RequestError(.unavailable, "this node is starting")
}
