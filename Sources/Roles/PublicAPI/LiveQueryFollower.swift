import Execution
package import Gateway
package import HTTPServer
package import LiveModel
import NIOCore
import NIOHTTP1
import Operations
package import Sessions

/// Follows queries for administrators, as event streams: as any user, or past `@auth`. Each stream is a session of the
/// node and counts against its limits.
package final class LiveQueryFollower: Sendable {
    /// The sender as whom a query is followed.
    package enum Sender: Sendable {
        case administrator
        case signedOut
        case user(Auth)
    }

    private let executor: RequestExecutor
    private let gateway: GatewayService
    private let sessions: SessionRegistry
    private let settings: PublicAPISettings

    package init(
        executor: RequestExecutor, gateway: GatewayService, sessions: SessionRegistry, settings: PublicAPISettings
    ) {
        self.executor = executor
        self.gateway = gateway
        self.sessions = sessions
        self.settings = settings
    }

    /// Starts the stream as the response of a request.
    /// - Throws: what clients get for such an operation, `.badRequest` for a mutation, `.unavailable` for a full node.
    package func follow(
        _ operation: OperationRequest, as sender: Sender, _ request: HTTPRequest, _ exchange: HTTPExchange
    ) throws(RequestError) {
        var auth: Auth?
        var isAdministrator = false
        switch sender {
        case .administrator: isAdministrator = true
        case .signedOut: break
        case .user(let user): auth = user
        }
        let resolved = try executor.resolve(
            operation, auth: auth, isAdministrator: isAdministrator, .only(.query, hint: ": it cannot be followed"))
        guard let hub = gateway.hub(of: exchange.eventLoop) else { throw RequestError.servesNoLiveQueries }
        guard sessions.count < settings.sessionsMax else { throw sessions.refusalOfFullNode() }
        let liveQuery = resolved.liveQuery
        let session = HTTPSession(
            exchange, hub: hub, executor: executor, resolved: resolved, liveQuery: liveQuery,
            identity: Identity(auth: auth, expiresAtMs: nil),
            permit: try SessionPermit(streamOf: liveQuery.key, for: [], sessions, executor.quotas),
            peer: request.remoteAddress, client: ClientDescription { _ in "console" })
        exchange.eventLoop.execute { [limits = settings.session] in
            ResultStream.start(
                session, as: .resource, known: nil, wantsDelta: false, wantsTags: false, headers: [:], limits: limits)
        }
    }
}
