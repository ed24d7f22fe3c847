import Clocks
package import Inspection
package import LiveModel
import Metrics
import Observability
package import NIOCore
package import Sessions
import Synchronization

/// The sessions of a node, for drains and operators. Bounded by `sessionsMax` of the public API, which checks it before
/// a session begins.
package final class SessionRegistry: Sendable {
    private struct Entry: Sendable {
        let session: NIOLoopBound<any ManagedSession>
        let eventLoop: any EventLoop
        let peer: SocketAddress?
        let client: ClientDescription
        let sinceMs: Int64
        /// The project version that resolves its operations.
        let version: Digest
        /// Former versions of which it also uses operations.
        var formers: Set<Digest> = []

        func stays(with versions: Set<Digest>) -> Bool {
            versions.contains(version) && formers.isSubset(of: versions)
        }
    }

    /// One session, as operators see it.
    package struct Report: Sendable {
        package let id: UInt64
        package let peer: String
        package let protocolName: String
        package let user: String?
        /// The client's own words about itself; empty if it says nothing.
        package let client: String
        package let subscriptions: Int
        /// Some of the live queries that it follows.
        package let followedKeys: [LiveQueryKey]
        /// Milliseconds since 1970.
        package let sinceMs: Int64
        package let version: Digest
    }

    private let entries = Mutex<[UInt64: Entry]>([:])
    private let nextID = Atomic<UInt64>(0)

    private let nowMs: @Sendable () -> Int64

    private let admission: Mutex<SessionAdmission>
    private let refused = Atomic<Int>(0)
    private let metrics = SessionMetrics()

    package init(
        admission: SessionAdmission = SessionAdmission(),
        nowMs: @escaping @Sendable () -> Int64 = { 0 }
    ) {
        self.admission = Mutex(admission)
        self.nowMs = nowMs
    }

    package var count: Int { entries.withLock { $0.count } }

    /// The number of sessions refused since the start.
    package var refusedCount: Int { refused.load(ordering: .relaxed) }

    /// Admits a new session.
    /// - Throws: `.unavailable` with the time after which to retry, if too many sessions are starting.
    package func admit() throws(RequestError) {
        let nowMs = nowMs()
        let decision = admission.withLock { admission in
            var random = SystemRandomNumberGenerator()
            return admission.arrived(nowMs: nowMs, random: &random)
        }
        guard case .refused(let retryAfterMs) = decision else { return }
        refused.wrappingAdd(1, ordering: .relaxed)
        metrics.refused[.rate].increment()
        throw RequestError(
            .unavailable, "too many sessions are starting on this node", retryAfterMs: Int(retryAfterMs))
    }

    /// Returns the error for a full node. There will hardly be room a second later, so the retry times are long and
    /// spread.
    package func refusalOfFullNode() -> RequestError {
        refused.wrappingAdd(1, ordering: .relaxed)
        metrics.refused[.full].increment()
        return RequestError(
            .unavailable, "too many sessions on this node",
            retryAfterMs: Int.random(in: Self.fullRetryAfterSeconds) * 1_000)
    }

    /// Returns the error for an address that begins too many sessions.
    package func refusalOfAddress(retryAfterMs: Int64) -> RequestError {
        refused.wrappingAdd(1, ordering: .relaxed)
        metrics.refused[.address].increment()
        // Whole seconds, the unit of `Retry-After`.
        let seconds = Int((retryAfterMs + 999) / 1_000)
        return RequestError(
            .unavailable, "this address begins too many sessions", retryAfterMs: seconds * 1_000)
    }

    private static let fullRetryAfterSeconds: ClosedRange<Int> = 2...10

    func makeID() -> UInt64 { nextID.wrappingAdd(1, ordering: .relaxed).newValue }

    func insert(
        _ session: any ManagedSession, id: UInt64, eventLoop: any EventLoop, peer: SocketAddress?,
        client: ClientDescription, version: Digest
    ) {
        let entry = Entry(
            session: NIOLoopBound(session, eventLoop: eventLoop), eventLoop: eventLoop,
            peer: peer, client: client, sinceMs: nowMs(), version: version)
        entries.withLock { $0[id] = entry }
    }

    /// Records that a session uses an operation of a former version.
    func uses(_ version: Digest, by id: UInt64) {
        entries.withLock { _ = $0[id]?.formers.insert(version) }
    }

    private static func text(_ peer: SocketAddress) -> String {
        guard let host = peer.ipAddress, let port = peer.port else { return peer.pathname ?? "" }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// The sessions that are looked into in one turn of an event loop.
    private static let inspectedMax = 1_000

    /// Looks into sessions on their event loops.
    /// - Parameters:
    ///   - only: the number of one session; nil: all.
    ///   - key: the live query that counts; nil: all.
    /// - Returns: a report of each subscription, in order of the sessions.
    package func subscriptions(
        only: UInt64? = nil, of key: LiveQueryKey?, on node: NodeID
    ) async -> (isKnown: Bool, reports: [SessionReport]) {
        let chosen = entries.withLock { entries in
            entries.filter { only == nil || $0.key == only }.sorted { $0.key < $1.key }
        }
        let nowMs = nowMs()
        var reports: [(id: UInt64, report: SessionReport)] = []
        for (_, entries) in Dictionary(grouping: chosen, by: { ObjectIdentifier($0.value.eventLoop) }) {
            var rest = entries[...]
            while let loop = rest.first?.value.eventLoop {
                let turn = Array(rest.prefix(Self.inspectedMax))
                rest = rest.dropFirst(turn.count)
                let found = try? await loop.submit {
                    turn.flatMap { id, entry in
                        Self.reports(of: id, entry, key, on: node, nowMs: nowMs).map { (id, $0) }
                    }
                }.get()
                reports += found ?? []
            }
        }
        return (!chosen.isEmpty, reports.sorted { $0.id < $1.id }.map(\.report))
    }

    private static func reports(
        of id: UInt64, _ entry: Entry, _ key: LiveQueryKey?, on node: NodeID, nowMs: Int64
    ) -> [SessionReport] {
        let session = entry.session.value
        let inspection = session.inspection
        return inspection.subscriptions.filter { key == nil || $0.key == key }.map { subscription in
            SessionReport(
                session: "\(node)/\(id)", protocolName: session.protocolName, peer: entry.peer.map(text) ?? "",
                uid: inspection.uid, sinceMs: entry.sinceMs, version: entry.version.hex, subscription: subscription.id,
                key: subscription.key.description, digest: subscription.known?.digest.hex,
                position: subscription.known?.position?.description, pendingBytes: inspection.pendingBytes,
                queuedResults: inspection.queuedResults,
                tokenExpiresInMs: inspection.expiresAtMs.map { $0 - nowMs }, isSuspended: subscription.isSuspended)
        }
    }

    /// Returns what a session's client says about itself, and its address.
    func client(of id: UInt64) -> (text: String, peer: String) {
        entries.withLock { entries in (entries[id]?.client.text ?? "", entries[id]?.peer.map(Self.text) ?? "") }
    }

    /// Returns the oldest sessions, at most `limit`. Those of an event loop report in one turn of it.
    /// - Parameter keysMax: the most live queries of one session of which it tells.
    package func reports(limit: Int, keysMax: Int = 32) async -> [Report] {
        let chosen = entries.withLock { $0.sorted { $0.key < $1.key }.prefix(limit) }
        let byLoop = Dictionary(grouping: chosen) { ObjectIdentifier($0.value.eventLoop) }
        var reports: [Report] = []
        for entries in byLoop.values {
            let made = try? await entries.first?.value.eventLoop.submit {
                entries.map { Self.report($0.key, $0.value, keysMax: keysMax) }
            }.get()
            reports += made ?? []
        }
        return reports.sorted { $0.id < $1.id }
    }

    private static func report(_ id: UInt64, _ entry: Entry, keysMax: Int) -> Report {
        let session = entry.session.value
        return Report(
            id: id, peer: entry.peer.map(text) ?? "", protocolName: session.protocolName, user: session.user,
            client: entry.client.text, subscriptions: session.subscriptionCount,
            followedKeys: session.followedKeys(max: keysMax), sinceMs: entry.sinceMs, version: entry.version)
    }

    /// Makes every session check whether its identity is still accepted.
    package func recheckIdentities() { forEach { $0.recheckIdentity() } }

    /// Tells the sessions whose clients ask for it what to drop from their caches.
    package func invalidate(_ invalidations: Invalidations) { forEach { $0.invalidate(invalidations) } }

    /// Calls every session on its event loop, in one turn of each loop.
    private func forEach(_ body: @escaping @Sendable (any ManagedSession) -> Void) {
        var byLoop: [ObjectIdentifier: [Entry]] = [:]
        for entry in entries.withLock({ Array($0.values) }) {
            byLoop[ObjectIdentifier(entry.eventLoop), default: []].append(entry)
        }
        for entries in byLoop.values {
            entries.first?.eventLoop.execute { for entry in entries { body(entry.session.value) } }
        }
    }

    /// Asks one session to reconnect elsewhere.
    /// - Returns: false if there is no such session.
    package func end(_ id: UInt64) -> Bool {
        guard let entry = entries.withLock({ $0[id] }) else { return false }
        entry.eventLoop.execute { entry.session.value.goAway() }
        return true
    }

    func remove(_ id: UInt64) {
        _ = entries.withLock { $0.removeValue(forKey: id) }
    }

    /// Asks every session to reconnect elsewhere, spread over `overMs`, so that the other nodes are not overloaded.
    package func drain(overMs: Int64) async {
        await drain(entries.withLock { Array($0.values) }, overMs: overMs)
    }

    /// Asks the sessions that use a version other than these to reconnect.
    /// - Returns: the number of those sessions.
    package func drain(except versions: Set<Digest>, overMs: Int64) async -> Int {
        let chosen = entries.withLock { $0.values.filter { !$0.stays(with: versions) } }
        if chosen.isEmpty { return 0 }
        await drain(chosen, overMs: overMs)
        return chosen.count
    }

    /// The number of sessions by the version that they began with.
    package var countsByVersion: [Digest: Int] {
        entries.withLock { $0.values.reduce(into: [:]) { $0[$1.version, default: 0] += 1 } }
    }

    private func drain(_ all: [Entry], overMs: Int64) async {
        let plan = DrainPlan(sessions: all.count, overMs: overMs)
        let startMs = MonotonicClock.nowMs()
        for portion in 0..<plan.portions {
            // Relative to the start, so that late timers do not add up. A cancelled drain does not wait.
            let waitMs = startMs + plan.atMs(portion) - MonotonicClock.nowMs()
            if waitMs > 0 { try? await Task.sleep(for: .milliseconds(waitMs)) }
            for index in plan.members(of: portion) {
                let entry = all[index]
                entry.eventLoop.execute { entry.session.value.goAway() }
            }
        }
    }
}
