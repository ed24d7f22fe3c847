import Catalog
package import Execution
package import HTTPServer
package import LiveModel
package import NIOCore
import Sessions

/// The common part of a long-poll and a result stream: one HTTP exchange that follows one live query for one identity.
package final class HTTPSession {
    package internal(set) var exchange: HTTPExchange
    package let hub: LoopHub
    package let executor: any SessionRequestExecutor
    package let resolved: ResolvedOperation
    package let liveQuery: LiveQuery
    package let identity: Identity
    package let permit: SessionPermit
    package let peer: SocketAddress?
    /// The client's own words about itself, for operators.
    let client: ClientDescription

    package init(
        _ exchange: HTTPExchange, hub: LoopHub, executor: any SessionRequestExecutor, resolved: ResolvedOperation,
        liveQuery: LiveQuery, identity: Identity, permit: SessionPermit, peer: SocketAddress?,
        client: ClientDescription = ClientDescription()
    ) {
        self.exchange = exchange
        self.hub = hub
        self.executor = executor
        self.resolved = resolved
        self.liveQuery = liveQuery
        self.identity = identity
        self.permit = permit
        self.peer = peer
        self.client = client
    }

    /// The reason that the identity is no longer accepted, if any.
    var identityRefusal: RequestError? { executor.refusal(of: identity) }

    /// Whether the sender's token has expired.
    package var isExpired: Bool { identity.expiresAtMs.map { $0 <= executor.clock.nowMs() } ?? false }

    /// Whether the operation is refused to signed-out clients, or shows them something else.
    package var needsToken: Bool { executor.needsToken(resolved, following: liveQuery.key) }

    /// The reason that the operation may no longer run, if any: its authorization can depend on the time.
    package var authorizationRefusal: RequestError? {
        resolved.refusal(nowMs: executor.clock.nowMs())
    }

    /// Adds the session to the registry, so that later revocations end it.
    /// - Returns: the reason that the identity is no longer accepted, if any.
    func register(_ session: any ManagedSession) -> RequestError? {
        permit.register(
            session, on: hub.eventLoop, peer: peer, client: client, version: resolved.projectVersion)
        noteBegin(session.protocolName)
        return identityRefusal
    }
}
