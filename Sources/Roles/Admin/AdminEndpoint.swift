import Crypto
import Console
package import PublicAPI
package import HTTPServer
import JSON
import LiveModel
package import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// The HTTP handler of the console and the admin API: on the admin port behind its token, and under `freshet dev` on
/// the public port.
///
/// `AdminRoutes.all` has its routes. `POST /v1/projects/…` are `AdministratorOperations`. Each action leaves a line in
/// the audit log.
package final class AdminEndpoint: HTTPHandler {
    private let services: AdminServices
    private let operations: AdministratorOperations?
    private let token: String?
    /// The hosts that requests without a token may name.
    private let hosts: CrossSiteCheck.Hosts
    private let audit: Logger
    private let nowMs: @Sendable () -> Int64
    /// Log budgets for requests without and with the token: the former must not crowd out the latter.
    private let refusals: Mutex<(anonymous: RefusalBudget, operators: RefusalBudget)>

    /// The characters of a path that are logged.
    private static let pathMax = 200
    private static let operatorBytesMax = 64

    /// - Parameters:
    ///   - token: nil admits programs that can reach the port, but no web pages (`CrossSiteCheck`); settings allow that
    ///     on loopback only.
    ///   - hosts: the hosts that requests without a token may name.
    package init(
        services: AdminServices, operations: AdministratorOperations? = nil, token: String?,
        hosts: CrossSiteCheck.Hosts = .loopback, nowMs: @escaping @Sendable () -> Int64, logger: Logger
    ) {
        self.nowMs = nowMs
        refusals = Mutex((RefusalBudget(), RefusalBudget()))
        self.operations = operations
        self.services = services
        self.hosts = hosts
        self.token = token
        var audit = logger
        audit[metadataKey: "log"] = "audit"
        self.audit = audit
    }

    package func webSocket(_ request: HTTPRequest) -> WebSocketDecision {
        .reject(.notFound, body: ByteBuffer())
    }

    package func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
        if let file = ConsoleFiles.file(request.path), request.method == .GET || request.method == .HEAD {
            return file.respond(to: request, exchange)
        }
        let found = Result { () throws(RequestError) in try AdminRoutes.find(request.method, request.path) }
        if case .success(let match) = found, match.route.isOpen {
            return perform(match, AdminArguments(), request, exchange)
        }
        guard isAllowed(request) else {
            return refuse(request, exchange, RequestError(.unauthenticated, "the admin token is missing or invalid"))
        }
        // The token is proof enough: no page of another site has it.
        if token == nil, let error = CrossSiteCheck.refusal(of: request, hosts: hosts) {
            return refuse(request, exchange, error)
        }
        if let operations, AdministratorOperations.owns(request.path) {
            audit.notice(
                "administrator operation", metadata: ["who": "\(who(request))", "what": "\(request.path)"])
            return operations.handle(request, exchange)
        }
        do throws(RequestError) {
            let match = try found.get()
            perform(match, try match.arguments(request.queryItems), request, exchange)
        } catch {
            // A report that does not exist changes nothing; anything else is on record.
            if request.method == .GET { fail(exchange, error) } else { refuse(request, exchange, error) }
        }
    }

    private func perform(
        _ match: AdminRoutes.Match, _ arguments: AdminArguments, _ request: HTTPRequest, _ exchange: HTTPExchange
    ) {
        let services = services
        if match.route.isLook { auditLook(arguments, request) }
        switch match.route.work {
        case .response(let respond): respond(services, arguments, request, exchange)
        case .report(let report): answer(exchange) { try await report(services, arguments) }
        case .gathered(let report):
            // Another node, or a client of a former version, gets the node's own part.
            if request.header(PeerReports.header) != nil || match.isFormer {
                return answer(exchange) { try await report.part(services, arguments) }
            }
            let isPost = match.route.method == .POST
            answer(exchange) {
                try await report.gathered(services, arguments, path: match.route.path, isPost: isPost)
            }
        case .action(let make):
            do throws(RequestError) {
                act(try make(arguments), arguments, request, exchange)
            } catch {
                refuse(request, exchange, error)
            }
        }
    }

    private func act(
        _ action: NodeOperator.Action, _ arguments: AdminArguments, _ request: HTTPRequest, _ exchange: HTTPExchange
    ) {
        let who = who(request)
        let name = operatorName(request)
        let path = request.path
        let node = request.header(PeerReports.header) == nil ? arguments["node"].map { NodeID($0) } : nil
        Task {
            do throws(RequestError) {
                let done: String
                if let node, node != services.inspector.nodeID {
                    done = try await services.peers.act(path, query: arguments.query, at: node, operator: name)
                } else {
                    done = try await services.operator.perform(action)
                }
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

    /// Writes who looks at which users' data. Variables and claims are such data themselves.
    private func auditLook(_ arguments: AdminArguments, _ request: HTTPRequest) {
        var metadata: Logger.Metadata = ["who": "\(who(request))", "what": "\(request.path)"]
        for name in ["key", "operation", "session", "uid"] {
            if let value = arguments[name] { metadata[name] = "\(value)" }
        }
        if let peer = request.header(PeerReports.header) { metadata["for"] = "\(peer.prefix(Self.operatorBytesMax))" }
        audit.notice("admin look", metadata: metadata)
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
        return "\(credential(request)), \(peer), \(operatorName(request))"
    }

    /// The sender chooses the name; the token and the address are verified.
    private func operatorName(_ request: HTTPRequest) -> String {
        request.header("x-freshet-operator").map { String($0.prefix(Self.operatorBytesMax)) } ?? "-"
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
            } catch let error as RequestError {
                fail(exchange, error)
            } catch {
                fail(exchange, RequestError(.unavailable, "\(error)"))
            }
        }
    }

    private func respond(_ exchange: HTTPExchange, _ value: JSONValue, status: HTTPResponseStatus = .ok) {
        exchange.respond(status, headers: ["content-type": "application/json"], body: value.compactBytes)
    }

    private func fail(_ exchange: HTTPExchange, _ error: RequestError) { exchange.fail(error) }
}

extension HTTPExchange {
    /// Responds with an error in the form of the admin API.
    func fail(_ error: RequestError) {
        respond(
            HTTPResponseStatus(statusCode: error.code.httpStatus), headers: ["content-type": "application/json"],
            body: ResultEnvelope.errors([error]))
    }
}
