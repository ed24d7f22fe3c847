import Execution
import HTTPServer
import LiveModel
import NIOHTTP1
import Observability
import Sessions

/// A request on its way through a route.
struct Call: Sendable {
    let request: HTTPRequest
    let exchange: HTTPExchange
    /// The headers of every response to it, but for the trace.
    let commonHeaders: HTTPHeaders
    let traceID: String
    /// The client's span, if it sent one.
    var parent: TraceParent?
    /// Whether the steps of a mutation's way to its deliveries are noted, because its client asks for it.
    var isTraced = false
    /// The id of the event that a mutation committed.
    var position: String?
    /// The form of an error response.
    var failureForm = FailureForm.graphQL

    /// `x-freshet-trace: 1` asks for a trace; the response has its id.
    static let traceHeader = "x-freshet-trace"

    /// The position for which a client can wait (docs/reference/protocols.md).
    static let positionHeader = "x-freshet-position"

    /// Marks a mutation as traced, if its client asks for it.
    func trace(_ resolved: inout ResolvedOperation) {
        resolved.isTraced = isTraced
        resolved.parentSpan = parent?.spanID
    }

    /// The headers of every response to it.
    var headers: HTTPHeaders {
        var headers = commonHeaders
        headers.add(name: "x-trace-id", value: traceID)
        if isTraced { headers.add(name: Self.traceHeader, value: traceID) }
        if let position { headers.add(name: Self.positionHeader, value: position) }
        return headers
    }

    enum FailureForm {
        case graphQL, sqlConnect, appSync
    }

    func fail(_ error: RequestError) {
        switch failureForm {
        case .graphQL: exchange.respond(error, headers: headers)
        case .sqlConnect: exchange.respond(error, headers: headers, body: SQLConnectFailure(error).json)
        case .appSync:
            exchange.respond(error, headers: headers.withAppSyncType(of: error), body: AppSyncRequest.body(error))
        }
    }

    func methodNotAllowed(_ allowed: String) {
        var headers = headers
        headers.replaceOrAdd(name: "allow", value: allowed)
        exchange.respond(RequestError(.methodNotAllowed, "this path allows \(allowed)"), headers: headers)
    }
}

extension Credentials {
    init(_ request: HTTPRequest) {
        self.init(header: { request.header($0) }, query: { request.query($0) })
    }
}
