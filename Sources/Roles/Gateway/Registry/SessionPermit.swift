package import Execution
package import LiveModel
package import NIOCore
package import Sessions
import Synchronization

/// The admission of one session to this node: its entry in the registry and its share of its subjects' quotas, those of
/// its address and of its user. Ends once: by `end`, or when released, as when a connection breaks before its session
/// begins.
package final class SessionPermit: Sendable {
    /// The number of the session, unique on this node.
    let id: UInt64
    private let registry: SessionRegistry
    private let quotas: QuotaGate
    private let use: QuotaUse
    /// The subjects whose quotas the session counts against; nil once it has ended.
    private let held: Mutex<[QuotaSubject]?>

    /// Creates the permit of a connection, which counts as a session of its address and, once it has a token, of its
    /// user (`change`).
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
        held = Mutex(subjects)
        self.use = use
        (self.registry, self.quotas) = (registry, quotas)
        id = registry.makeID()
    }

    /// The client that takes a turn for the live query of a stream or long-poll.
    package var client: ClientID? { quotas.client(of: held.withLock { $0 } ?? []) }

    deinit { end(lingers: false) }

    /// Adds the session to the registry.
    /// - Parameters:
    ///   - peer: the client's address, for operators.
    ///   - client: what the client says it is, for operators.
    ///   - version: the project version that resolves its operations.
    package func register(
        _ session: any ManagedSession, on eventLoop: any EventLoop, peer: SocketAddress?,
        client: ClientDescription = ClientDescription(), version: Digest
    ) {
        guard held.withLock({ $0 != nil }) else { return }
        registry.insert(session, id: id, eventLoop: eventLoop, peer: peer, client: client, version: version)
    }

    /// The session's client in its own words, and its address.
    var registeredClient: (text: String, peer: String) { registry.client(of: id) }

    /// Records that the session uses an operation of a former version and so must reconnect when that version ends.
    package func uses(_ version: Digest) { registry.uses(version, by: id) }

    /// Moves the session from the quota of its former user, if any, to that of the identity's.
    /// - Throws: `.limitExceeded` if the quota is exhausted; the session still counts against the former one.
    package func change(to identity: Identity) throws(RequestError) {
        try held.withLock { held throws(RequestError) in
            guard let subjects = held else { return }
            let (former, next) = (subjects.filter(\.isUser), identity.subjects)
            guard former != next else { return }
            try quotas.acquire(use, for: next)
            quotas.release(use, for: former)
            held = subjects.filter { !$0.isUser } + next
        }
    }

    /// Removes the session from the registry and releases its quotas.
    /// - Parameters:
    ///   - lingers: whether the live query of a stream or long-poll is to linger.
    ///   - isAnswered: whether the client got a response and will probably ask again.
    /// - Returns: whether it may.
    @discardableResult
    package func end(lingers: Bool = true, isAnswered: Bool = false) -> Bool {
        let subjects = held.withLock { held in
            defer { held = nil }
            return held
        }
        guard let subjects else { return lingers }
        registry.remove(id)
        return quotas.release(use, for: subjects, lingers: lingers, isAnswered: isAnswered)
    }
}

extension QuotaSubject {
    fileprivate var isUser: Bool { if case .user = self { true } else { false } }
}
