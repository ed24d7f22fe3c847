package import LiveModel
package import NIOCore
package import Sessions
import Synchronization

/// The admission of one session to this node: its entry in the registry and its share of its subjects' quotas. Ends
/// once: by `end`, or when released, as when a connection breaks before its session begins.
package final class SessionPermit: Sendable {
    private let id: UInt64
    private let registry: SessionRegistry
    private let quotas: QuotaGate
    private let use: QuotaUse
    private let subjects: [QuotaSubject]
    private let isOver = Atomic(false)

    /// Creates the permit of a connection, which counts as a session of its address. The session acquires its user's
    /// quota itself, once it has a token.
    /// - Throws: `.limitExceeded` if a quota is exhausted.
    package convenience init(
        connectionFrom address: QuotaSubject?, _ registry: SessionRegistry, _ quotas: QuotaGate
    ) throws(RequestError) {
        try self.init(.session, for: address.map { [$0] } ?? [], registry, quotas)
    }

    /// Creates the permit of a stream or long-poll, which counts as one session and one subscription.
    /// - Throws: `.limitExceeded` if a quota is exhausted.
    package convenience init(
        streamOf key: LiveQueryKey, for subjects: [QuotaSubject], _ registry: SessionRegistry, _ quotas: QuotaGate
    ) throws(RequestError) {
        try self.init(.stream(of: key), for: subjects, registry, quotas)
    }

    private init(
        _ use: QuotaUse, for subjects: [QuotaSubject], _ registry: SessionRegistry, _ quotas: QuotaGate
    ) throws(RequestError) {
        try quotas.acquire(use, for: subjects)
        (self.use, self.subjects) = (use, subjects)
        (self.registry, self.quotas) = (registry, quotas)
        id = registry.makeID()
    }

    /// The client that takes a turn for the live query of a stream or long-poll.
    package var client: ClientID? { quotas.client(of: subjects) }

    deinit { end(lingers: false) }

    /// Adds the session to the registry.
    /// - Parameters:
    ///   - peer: the client's address, for operators.
    ///   - version: the project version that resolves its operations.
    package func register(
        _ session: any ManagedSession, on eventLoop: any EventLoop, peer: SocketAddress?, version: Digest
    ) {
        guard !isOver.load(ordering: .relaxed) else { return }
        registry.insert(session, id: id, eventLoop: eventLoop, peer: peer, version: version)
    }

    /// Records that the session uses an operation of a former version and so must reconnect when that version ends.
    package func uses(_ version: Digest) { registry.uses(version, by: id) }

    /// Removes the session from the registry and releases its quotas.
    /// - Parameters:
    ///   - lingers: whether the live query of a stream or long-poll is to linger.
    ///   - isAnswered: whether the client got a response and will probably ask again.
    /// - Returns: whether it may.
    @discardableResult
    package func end(lingers: Bool = true, isAnswered: Bool = false) -> Bool {
        guard !isOver.exchange(true, ordering: .relaxed) else { return lingers }
        registry.remove(id)
        return quotas.release(use, for: subjects, lingers: lingers, isAnswered: isAnswered)
    }
}
