import Catalog
import Execution
package import Gateway
package import HTTPServer
import JSON
import LiveModel
package import Logging
import NIOCore
package import NIOHTTP1
import Observability
import Sessions
import Synchronization

/// The router of the public API: finds the route of a request and performs it. Runs on the connection's event loop;
/// longer work runs in a task and returns to it.
package final class PublicRouter: HTTPHandler {
    let executor: RequestExecutor
    let gateway: GatewayService?
    let settings: PublicAPISettings
    private let logger: Logger
    /// Whether new sessions are accepted.
    private let isReady: @Sendable () -> Bool
    /// Whether load balancers should send new clients. Turns false before `isReady` when the node drains.
    private let isAdvertised: @Sendable () -> Bool
    /// The reason that the node is not ready, if servers are unavailable.
    private let problem: @Sendable () -> String?
    let sessions: SessionRegistry
    /// The rates of clients' addresses; nil: no limit.
    let addressRates: AddressRates?
    /// Bounded by `sessionsMax`.
    let sharedStreams = SharedStreams()
    private let administrator: AdministratorOperations
    /// The console and its reports, under `freshet dev`.
    private let console: (any HTTPHandler)?
    /// Whether an untrusted proxy on this machine has been reported.
    private let hasReportedProxy = Atomic(false)

    package init(
        executor: RequestExecutor, gateway: GatewayService?, settings: PublicAPISettings, sessions: SessionRegistry,
        addressRates: AddressRates? = nil, console: (any HTTPHandler)? = nil, logger: Logger,
        isReady: @escaping @Sendable () -> Bool,
        isAdvertised: (@Sendable () -> Bool)? = nil,
        problem: @escaping @Sendable () -> String? = { nil }
    ) {
        self.executor = executor
        administrator = AdministratorOperations(executor: executor)
        self.console = console
        self.gateway = settings.isGateway ? gateway : nil
        self.settings = settings
        self.sessions = sessions
        self.addressRates = addressRates
        self.logger = logger
        self.isReady = isReady
        self.isAdvertised = isAdvertised ?? isReady
        self.problem = problem
    }

    // MARK: HTTP

    package func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
        if let prepared = request.memo?.value as? PreparedQuery, repeats(prepared, request, exchange) { return }
        let parent = request.header(TraceParent.headerName).flatMap { TraceParent($0) }
        var call = Call(
            request: request, exchange: exchange, commonHeaders: corsHeaders(for: request),
            traceID: (parent?.traceID ?? TraceID()).description, parent: parent)
        if request.method == .POST, parent?.isSampled == true || request.header(Call.traceHeader) == "1" {
            call.isTraced = executor.mayTrace()
        }
        if request.method == .OPTIONS { return preflight(call) }
        let parts = request.path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
        switch (parts.count, parts.first) {
        case (0, _), (2, "console"), (_, "admin"):
            guard let console else { return call.fail(RequestError(.notFound, "not found")) }
            console.handle(request, exchange)
        case (1, "healthz"): exchange.respond(json: Array(#"{"status":"ok"}"#.utf8), headers: call.headers)
        case (1, "readyz"):
            if isAdvertised() {
                exchange.respond(json: Array(#"{"status":"ready"}"#.utf8), headers: call.headers)
            } else {
                var body: JSONObject = ["status": "not ready"]
                if let problem = problem() { body["reason"] = .string(problem) }
                exchange.respond(
                    json: JSONWriter.compact(.object(body)), status: .serviceUnavailable, headers: call.headers)
            }
        case (1, "graphql"): graphQL(call)
        case (5, "v1") where parts[1] == "connectors" && parts[3] == "queries":
            query(call, connector: parts[2], operation: parts[4])
        case (5, "v1") where parts[1] == "connectors" && parts[3] == "mutations":
            mutation(call, connector: parts[2], operation: parts[4])
        case (2, "emulator") where settings.emulator != nil: emulator(call, parts[1])
        case (7, "v1") where settings.emulator != nil && AdministratorOperations.owns(request.path),
            (9, "v1") where settings.emulator != nil && AdministratorOperations.owns(request.path):
            administer(call)
        case (9, "v1"):
            guard let connectorCall = ConnectorCall(path: request.path) else { fallthrough }
            sqlConnect(call, connectorCall)
        default: call.fail(RequestError(.notFound, "not found"))
        }
    }

    /// Performs an administrator's operation under `freshet dev`, where no token guards it.
    private func administer(_ call: Call) {
        var call = call
        call.failureForm = .sqlConnect
        if let error = CrossSiteCheck.refusal(of: call.request, hosts: .local) { return call.fail(error) }
        administrator.handle(call.request, call.exchange, headers: call.headers)
    }

    // MARK: CORS (Fetch standard §3.2)

    private func corsHeaders(for request: HTTPRequest) -> HTTPHeaders {
        guard let origin = request.header("origin") else { return [:] }
        if settings.emulator != nil, AdministratorOperations.owns(request.path),
            !CrossSiteCheck.isLoopback(origin: origin)
        {
            return ["vary": "Origin"]
        }
        return corsHeaders(origin: origin)
    }

    private func corsHeaders(origin: String) -> HTTPHeaders {
        let exposed =
            "etag, retry-after, x-trace-id, x-freshet-trace, x-freshet-position, freshet-invalidations, im, "
            + "delta-base, x-amzn-errortype"
        if settings.corsOrigins.contains("*") {
            return ["access-control-allow-origin": "*", "access-control-expose-headers": exposed]
        }
        guard settings.corsOrigins.contains(origin) else { return ["vary": "Origin"] }
        return [
            "access-control-allow-origin": origin, "vary": "Origin", "access-control-expose-headers": exposed,
        ]
    }

    package func failureHeaders(origin: String?) -> HTTPHeaders {
        // If it was not read, the origin is unknown. Assuming the only allowed one is safe: browsers compare it
        // with the page's own.
        let only = settings.corsOrigins.count == 1 ? settings.corsOrigins.first : nil
        return (origin ?? only).map(corsHeaders(origin:)) ?? [:]
    }

    private func preflight(_ call: Call) {
        var headers = call.headers
        headers.replaceOrAdd(name: "access-control-allow-methods", value: "GET, POST, PUT, DELETE, OPTIONS")
        // The requested headers are allowed: every SDK has its own, and a header alone grants nothing.
        let wanted = call.request.header("access-control-request-headers") ?? "authorization, content-type"
        headers.replaceOrAdd(name: "access-control-allow-headers", value: wanted)
        headers.replaceOrAdd(name: "access-control-max-age", value: "7200")
        call.exchange.respond(.noContent, headers: headers, body: [])
    }

    // MARK: WebSocket

    package func webSocket(_ request: HTTPRequest) -> WebSocketDecision {
        func reject(_ error: RequestError) -> WebSocketDecision {
            .reject(
                HTTPResponseStatus(statusCode: error.code.httpStatus),
                headers: HTTPHeaders(retryAfterOf: error), body: ByteBuffer(bytes: ResultEnvelope.errors([error])))
        }
        let choice = WebSocketProtocol.choose(request, service: executor.serviceIdentity)
        guard let gateway, choice.isKnown else {
            return reject(RequestError(.notFound, "no WebSocket endpoint at this path"))
        }
        if let origin = request.header("origin"), !settings.corsOrigins.contains("*"),
            !settings.corsOrigins.contains(origin)
        {
            return reject(RequestError(.permissionDenied, "this origin is not allowed"))
        }
        if case .refused(let error) = choice { return reject(error) }
        let address = address(of: request)
        let permit: SessionPermit
        do throws(RequestError) {
            try admitSession(from: address)
            permit = try SessionPermit(connectionFrom: address, sessions, executor.quotas)
        } catch {
            return reject(error)
        }
        let rates = addressRates
        guard case .accepted(let spoken) = choice else {
            return .accept(subprotocol: nil) {
                RefusedWebSocket($0, code: 4406, reason: "Subprotocol not acceptable")
            }
        }
        let executor = self.executor
        let limits = settings.session
        let opening = SessionOpening(
            credentials: Credentials(request), operationsMax: limits.operationsMax,
            waitingBytesMax: limits.waitingBytesMax, waitsMax: limits.waitsMax)
        let (peer, client) = (request.remoteAddress, ClientDescription { request.header($0) })
        return .accept(subprotocol: spoken.subprotocol) { connection in
            connection.count(for: address.flatMap { rates?.rate(of: $0.name, on: connection.eventLoop) })
            guard let hub = gateway.hub(of: connection.eventLoop) else {
                return RefusedWebSocket(connection, code: 1011, reason: "No gateway on this event loop")
            }
            return executor.open(permit, on: connection.eventLoop, peer: peer, client: client) {
                ClientSession(
                    connection: connection, machine: spoken.machine(opening), executor: $0, hub: hub, limits: limits,
                    address: address, permit: permit)
            }
        }
    }

    // MARK: Work in tasks

    /// Runs `work` with the sender's identity as a request in flight (see `RequestExecutor.withRequest`).
    /// - Parameter credentials: nil reads them where every protocol has them.
    func perform(
        _ call: Call, as credentials: Credentials? = nil,
        _ work: @escaping @Sendable (Identity) async throws(RequestError) -> Void
    ) {
        executor.withRequest(
            credentials ?? Credentials(call.request), from: address(of: call.request), traceID: call.traceID,
            on: call.exchange.taskExecutor, work, failed: { call.fail($0) })
    }

    /// Returns the client's address, or its network, as a quota subject; nil if it is unknown.
    func address(of request: HTTPRequest) -> QuotaSubject? {
        address(request.remoteIP, forwarded: request.forwarded)
    }

    func address(_ peer: SocketAddress?, forwarded: String?) -> QuotaSubject? {
        address(peer?.ipAddress, forwarded: forwarded)
    }

    func address(_ ip: String?, forwarded: String?) -> QuotaSubject? {
        guard let ip else { return nil }
        if forwarded != nil, ip == "127.0.0.1" || ip == "::1", !settings.addresses.proxies.contains(ip),
            !hasReportedProxy.exchange(true, ordering: .relaxed)
        {
            logger.warning(
                "a proxy on this machine is not in http.trustedProxies: limits per address do not hold for its clients",
                metadata: ["proxy": "\(ip)"])
        }
        return .address(settings.addresses.client(peer: ip, forwarded: forwarded))
    }

    /// Returns the subjects whose quotas a request counts against.
    func subjects(_ call: Call, _ identity: Identity) -> [QuotaSubject] {
        identity.subjects(at: address(of: call.request))
    }

    /// Admits one session, before any work is done for it. Sessions beyond the rate of their address do not count for
    /// the node's rate.
    func admitSession(from address: QuotaSubject?) throws(RequestError) {
        try requireRoomForSession()
        if let retryAfterMs = executor.quotas.beginSession(from: address) {
            throw sessions.refusalOfAddress(retryAfterMs: retryAfterMs)
        }
        try sessions.admit()
    }

    /// Refuses a session if the node is not ready or full.
    func requireRoomForSession() throws(RequestError) {
        guard isReady() else { throw RequestError(.unavailable, "the node is not ready") }
        guard sessions.count < settings.sessionsMax else { throw sessions.refusalOfFullNode() }
    }
}
