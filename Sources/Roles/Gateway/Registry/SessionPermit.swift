package import LiveModel
package import NIOCore
package import Sessions
import Synchronization

/// The right of one session to be on this node: its place in the registry and what it counts for of its subjects' quotas.
/// It ends once: by `end`, or when nobody holds it any more, as when a connection breaks before its session begins.
package final class SessionPermit: Sendable {
    private let id: UInt64
    private let registry: SessionRegistry
    private let quotas: QuotaGate
    private let resources: [QuotaResource]
    private let subjects: [QuotaSubject]
    private let isOver = Atomic(false)

    /// For a connection: a session of its address. The user's quota comes with the token, which is the session's affair.
    /// - Throws: `.limitExceeded`.
    package convenience init(
        connectionFrom address: QuotaSubject?, _ registry: SessionRegistry, _ quotas: QuotaGate
    ) throws(RequestError) {
        try self.init([.session], for: address.map { [$0] } ?? [], registry, quotas)
    }

    /// For a stream or a long-poll: one session and one subscription.
    /// - Throws: `.limitExceeded`.
    package convenience init(
        streamFor subjects: [QuotaSubject], _ registry: SessionRegistry, _ quotas: QuotaGate
    ) throws(RequestError) {
        try self.init([.session, .subscription], for: subjects, registry, quotas)
    }

    private init(
        _ resources: [QuotaResource], for subjects: [QuotaSubject], _ registry: SessionRegistry, _ quotas: QuotaGate
    ) throws(RequestError) {
        try quotas.acquire(resources, for: subjects)
        (self.resources, self.subjects) = (resources, subjects)
        (self.registry, self.quotas) = (registry, quotas)
        id = registry.makeID()
    }

    deinit { end() }

    /// Enters the session into the registry.
    /// - Parameters:
    ///   - peer: for operators.
    ///   - version: the project that resolves its operations.
    package func register(
        _ session: any ManagedSession, on eventLoop: any EventLoop, peer: SocketAddress?, version: Digest
    ) {
        guard !isOver.load(ordering: .relaxed) else { return }
        registry.insert(session, id: id, eventLoop: eventLoop, peer: peer, version: version)
    }

    /// Notes that the session has an operation of this former version, and so must come back when that ends.
    package func uses(_ version: Digest) { registry.uses(version, by: id) }

    package func end() {
        guard !isOver.exchange(true, ordering: .relaxed) else { return }
        registry.remove(id)
        quotas.release(resources, for: subjects)
    }
}
