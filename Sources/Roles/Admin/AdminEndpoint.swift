import Console
package import PublicAPI
package import HTTPServer
import JSON
import LiveModel
package import Logging
import NIOCore
import NIOHTTP1
import Sessions
import Synchronization

/// A request with who sent it.
private struct AdminRequest: Sendable {
    let http: HTTPRequest
    /// Nil if nothing is proven.
    let caller: AdminCaller?

    init(_ http: HTTPRequest, _ caller: AdminCaller?) {
        self.http = http
        self.caller = caller
    }
}

/// The HTTP handler of the console and the admin API: on the admin port behind `AdminAccess`, and under `freshet dev`
/// on the public port.
///
/// `AdminRoutes.all` has its routes. `POST /v1/projects/…` are `AdministratorOperations`. Each action leaves a line in
/// the audit log.
///
/// Long, because every request passes here, with its rights, its answer and its line of the audit log.
package final class AdminEndpoint: HTTPHandler {
    private let services: AdminServices
    private let operations: AdministratorOperations?
    private let access: AdminAccess
    private let streams: ReportStreams
    private let audit: Logger
    private let nowMs: @Sendable () -> Int64
    private let looks = Mutex(LookLog())
    /// Log budgets for requests of unknown and of known callers: the former must not crowd out the latter.
    private let refusals: Mutex<(anonymous: RefusalBudget, operators: RefusalBudget)>

    /// The characters of a path, a user or a name that are logged.
    private static let pathMax = 200
    private static let operatorBytesMax = 128

    package init(
        services: AdminServices, operations: AdministratorOperations? = nil, access: AdminAccess,
        streams: ReportStreams, nowMs: @escaping @Sendable () -> Int64, logger: Logger
    ) {
        self.nowMs = nowMs
        refusals = Mutex((RefusalBudget(), RefusalBudget()))
        self.operations = operations
        self.services = services
        self.access = access
        self.streams = streams
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
            return perform(match, AdminArguments(), everyMs: nil, AdminRequest(request, .anyone), exchange)
        }
        let answer = access.decideNow(request, nowMs: nowMs())
        guard case .undecided = answer else { return decided(answer, found, request, exchange) }
        Task { decided(await access.decide(request, nowMs: nowMs()), found, request, exchange) }
    }

    private func decided(
        _ answer: AdminAccess.Answer, _ found: Result<AdminRoutes.Match, RequestError>, _ request: HTTPRequest,
        _ exchange: HTTPExchange
    ) {
        switch answer {
        case .undecided: refuse(AdminRequest(request, nil), exchange, RequestError(.unavailable, "keys are missing"))
        case .refused(let error, let caller): refuse(AdminRequest(request, caller), exchange, error)
        case .admitted(let caller): admitted(AdminRequest(request, caller), found, exchange)
        }
    }

    private func admitted(
        _ request: AdminRequest, _ found: Result<AdminRoutes.Match, RequestError>, _ exchange: HTTPExchange
    ) {
        if let operations, AdministratorOperations.owns(request.http.path) {
            let metadata: Logger.Metadata = ["who": "\(who(request))", "what": "\(request.http.path)"]
            return operations.handle(request.http, exchange) { [audit] read in
                audit.notice(
                    "administrator operation", metadata: metadata.merging(Self.about(read)) { former, _ in former })
            }
        }
        do throws(RequestError) {
            let match = try found.get()
            let everyMs = try match.everyMs(request.http)
            perform(match, try arguments(match, request.http, everyMs), everyMs: everyMs, request, exchange)
        } catch {
            // A report that does not exist changes nothing; anything else is on record.
            if request.http.method == .GET { fail(exchange, error) } else { refuse(request, exchange, error) }
        }
    }

    /// - Throws: `.badRequest`, `.unsupportedMediaType`.
    private func arguments(
        _ match: AdminRoutes.Match, _ request: HTTPRequest, _ everyMs: Int64?
    ) throws(RequestError) -> AdminArguments {
        let body = match.route.takesBody ? AdminArguments.items(ofBody: try request.jsonBody()) : []
        let query = request.queryItems.filter { everyMs == nil || $0.name != ReportStream.every.name }
        return try match.arguments(query + body)
    }

    /// Describes an administrator's operation without what it reads and writes.
    private static func about(_ read: Result<AdministratorRequest, RequestError>) -> Logger.Metadata {
        switch read {
        case .failure(let error): return ["result": "\(error.message)"]
        case .success(let request):
            let user = request.isImpersonated ? request.auth?.uid ?? "signed out" : "administrator"
            var metadata: Logger.Metadata = ["as": "\(user.prefix(pathMax))"]
            if let name = request.operationName { metadata["operation"] = "\(name.prefix(pathMax))" }
            // The text may hold values. By its digest two of them can be compared.
            if let text = request.query { metadata["text"] = "sha256:\(Digest(of: Array(text.utf8)).hex)" }
            return metadata
        }
    }

    /// - Parameter everyMs: how often a report is made for its event stream; nil: it is answered once.
    private func perform(
        _ match: AdminRoutes.Match, _ arguments: AdminArguments, everyMs: Int64?, _ request: AdminRequest,
        _ exchange: HTTPExchange
    ) {
        let services = services
        if match.route.isLook, everyMs == nil { auditLook(match.route, arguments, everyMs: nil, request) }
        let person = person(request)
        switch match.route.work {
        case .response(let respond):
            PeerReports.$person.withValue(person) { respond(services, arguments, request.http, exchange) }
            if match.route.mediaType == OpenAPIDocument.eventStream {
                exchange.endStream(with: request.caller, nowMs: nowMs())
            }
        case .report, .personal, .gathered:
            guard let make = report(match, arguments, request, person) else { return }
            guard let everyMs else { return answer(exchange, make) }
            do throws(RequestError) {
                try ReportStream(exchange: exchange, everyMs: everyMs, make: make).open(streams)
                exchange.endStream(with: request.caller, nowMs: nowMs())
                if match.route.isLook { auditLook(match.route, arguments, everyMs: everyMs, request) }
            } catch {
                fail(exchange, error)
            }
        case .action(let make):
            do throws(RequestError) {
                act(try make(arguments), arguments, request, exchange)
            } catch {
                refuse(request, exchange, error)
            }
        }
    }

    /// Returns what makes the report of a route for a request; nil for a route that has none.
    private func report(
        _ match: AdminRoutes.Match, _ arguments: AdminArguments, _ request: AdminRequest, _ person: String?
    ) -> (@Sendable () async throws -> JSONValue)? {
        let services = services
        let make: @Sendable () async throws -> JSONValue
        switch match.route.work {
        case .response, .action: return nil
        case .report(let report): make = { try await report(services, arguments) }
        case .personal(let report):
            let refused = request.caller.map { access.refusedActions(of: $0) } ?? [:]
            make = { try await report(services, arguments, refused) }
        case .gathered(let report):
            let isPost = match.route.method == .POST
            if isPost, !match.route.isLook {
                let what = ([request.http.path] + arguments.query.map { "\($0.name)=\($0.value)" })
                    .joined(separator: " ")
                var metadata: Logger.Metadata = ["who": "\(who(request))", "what": "\(what)"]
                if let person { metadata["for"] = "\(person)" }
                audit.notice("admin action", metadata: metadata)
            }
            let path = match.route.path
            // Another node, or a client of a former version, gets the node's own part.
            let isPart = request.http.header(PeerReports.header) != nil || match.isFormer
            make = {
                if isPart { return try await report.part(services, arguments) }
                return try await report.gathered(services, arguments, path: path, isPost: isPost)
            }
        }
        return { try await PeerReports.$person.withValue(person, operation: make) }
    }

    private func act(
        _ action: NodeOperator.Action, _ arguments: AdminArguments, _ request: AdminRequest, _ exchange: HTTPExchange
    ) {
        let who = who(request)
        let name = person(request) ?? "-"
        let path = request.http.path
        let node = request.http.header(PeerReports.header) == nil ? arguments["node"].map { NodeID($0) } : nil
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

    /// The values of a request that the audit log has. Variables, claims and conditions are users' data themselves.
    private static let auditedNames = ["key", "operation", "session", "uid", "user", "as", "mutation", "node"]

    /// Writes who looks at which users' data, once for a look that asks repeatedly, or for an event stream.
    private func auditLook(
        _ route: AdminRoute, _ arguments: AdminArguments, everyMs: Int64?, _ request: AdminRequest
    ) {
        var metadata: Logger.Metadata = ["what": "\(request.http.path)"]
        if let everyMs { metadata["everyMs"] = "\(everyMs)" }
        for name in Self.auditedNames {
            if let value = arguments[name] { metadata[name] = "\(value)" }
        }
        if let peer = request.http.header(PeerReports.header) {
            metadata["for"] = "\(peer.prefix(Self.operatorBytesMax))"
        }
        // A stream is a look of its own, however long it lasts.
        if everyMs == nil, route.method == .GET || route.isRead {
            // A client may use another port for each request. Other variables are other data; the keys that another
            // node asks for are those of one user.
            let values = arguments.query.filter { $0.name != "keys" }.map { "\($0.name)=\($0.value)" }.sorted()
            let look = ([who(request, withPort: false), request.http.path] + values).joined(separator: "\n")
            guard let unlogged = looks.withLock({ $0.asked(Digest(of: Array(look.utf8)), nowMs: nowMs()) }) else {
                return
            }
            if unlogged > 0 { metadata["unlogged"] = "\(unlogged)" }
        }
        metadata["who"] = "\(who(request))"
        audit.notice("admin look", metadata: metadata)
    }

    /// The person who asks: the token's user, or the name that the sender chose; nil without one. Other nodes know this
    /// one's token, not the user.
    private func person(_ request: AdminRequest) -> String? {
        if let name = request.caller?.name { return name }
        let name = operatorName(request.http)
        return name == Self.nobody ? nil : name
    }

    /// Refuses a request and logs it, within the log budget.
    private func refuse(_ request: AdminRequest, _ exchange: HTTPExchange, _ error: RequestError) {
        let nowMs = nowMs()
        let isAnonymous = request.caller == nil
        let unlogged = refusals.withLock {
            isAnonymous ? $0.anonymous.refused(nowMs: nowMs) : $0.operators.refused(nowMs: nowMs)
        }
        if let unlogged {
            var metadata: Logger.Metadata = [
                "who": "\(who(request))", "what": "\(request.http.method) \(request.http.path.prefix(Self.pathMax))",
                "result": "\(error.message)",
            ]
            if unlogged > 0 { metadata["unlogged"] = "\(unlogged)" }
            audit.notice("admin request refused", metadata: metadata)
        }
        exchange.fail(error, challenge: AdminAccess.challenge(error, to: request.http))
    }

    /// Describes the sender for the audit log.
    private func who(_ request: AdminRequest, withPort: Bool = true) -> String {
        let peer =
            request.http.remoteAddress.map { address in
                (address.ipAddress ?? "local") + (withPort ? ":\(address.port ?? 0)" : "")
            } ?? "?"
        let credential =
            request.caller?.description
            ?? (request.http.header("authorization") == nil ? "no token" : "wrong token")
        return "\(credential), \(peer), \(operatorName(request.http))"
    }

    /// The sender chooses the name; the credential and the address are verified.
    private func operatorName(_ request: HTTPRequest) -> String {
        request.header(PeerReports.personHeader).map { String($0.prefix(Self.operatorBytesMax)) } ?? Self.nobody
    }

    private static let nobody = "-"

    private func answer(_ exchange: HTTPExchange, _ make: @escaping @Sendable () async throws -> JSONValue) {
        Task {
            do {
                respond(exchange, try await make())
            } catch {
                fail(exchange, RequestError(of: error))
            }
        }
    }

    private func respond(_ exchange: HTTPExchange, _ value: JSONValue, status: HTTPResponseStatus = .ok) {
        exchange.respond(status, headers: ["content-type": "application/json"], body: value.compactBytes)
    }

    private func fail(_ exchange: HTTPExchange, _ error: RequestError) { exchange.fail(error) }
}

extension RequestError {
    /// Why a report could not be made.
    init(of error: any Error) {
        self = (error as? RequestError) ?? RequestError(.unavailable, "\(error)")
    }
}

extension HTTPExchange {
    /// Responds with an error in the form of the admin API.
    /// - Parameter challenge: the header `WWW-Authenticate`.
    func fail(_ error: RequestError, challenge: String? = nil) {
        var headers: HTTPHeaders = ["content-type": "application/json"]
        if let challenge { headers.add(name: "www-authenticate", value: challenge) }
        respond(
            HTTPResponseStatus(statusCode: error.code.httpStatus), headers: headers,
            body: ResultEnvelope.errors([error]))
    }
}
