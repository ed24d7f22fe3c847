package import Broker
package import Streams
package import LiveModel
package import Logging
import Sharding
import Synchronization

/// A node's copy of the cluster's revocations. Its generation is polled often; the list is read when that changed.
///
/// A node that cannot reach the broker uses its copy, and reads the whole list when it is connected again.
/// `StoredRevocations` describes what happens when the broker loses its data.
package final class RevocationList: Sendable {
    private let broker: any Broker
    private let countMax: Int
    private let nowMs: @Sendable () -> Int64
    private let makeMark: @Sendable () -> String
    private let defects: StoredDefectLog
    private let latest = Mutex(LatestRead(StoredRevocations()))

    /// - Parameters:
    ///   - countMax: the most revocations in the cluster; further ones are refused.
    ///   - makeMark: returns a text that no other list has.
    package init(
        broker: any Broker, countMax: Int, nowMs: @escaping @Sendable () -> Int64,
        makeMark: @escaping @Sendable () -> String, logger: Logger
    ) {
        defects = StoredDefectLog(of: "revocations", logger)
        self.broker = broker
        self.countMax = countMax
        self.nowMs = nowMs
        self.makeMark = makeMark
    }

    package var current: Revocations { latest.withLock { $0.value.revocations } }

    /// Returns the revocation that applies; nil if this node knows of none.
    package func revocation(of auth: Auth?, apiKey: String?) -> Revocation? {
        let nowMs = nowMs()
        return latest.withLock { $0.value.revocations.revocation(of: auth, apiKey: apiKey, nowMs: nowMs) }
    }

    /// Reads the list if its generation changed. Takes one short command otherwise.
    /// - Returns: whether the list changed.
    @discardableResult
    package func refresh() async throws(BrokerError) -> Bool {
        let generation = try await broker.overridesGeneration(in: .revocations)
        guard var refresh = latest.withLock({ RevocationRefresh(&$0, generation: generation) }) else { return false }
        while true {
            let (stored, read) = try await fetch()
            switch refresh.listRead(stored, newMark: makeMark(), nowMs: nowMs()) {
            case .write(let changes): try await broker.changeOverrides(changes, in: .revocations)
            case .accept: return latest.withLock { refresh.end(&$0, stored, generation: read) }
            }
        }
    }

    private func fetch() async throws(BrokerError) -> (StoredRevocations, UInt64) {
        let overrides = try await broker.overrides(in: .revocations)
        let stored = StoredRevocations(fields: overrides.fields.mapValues(\.value))
        defects.report(stored.defects)
        return (stored, overrides.generation)
    }

    // MARK: Changes by operators

    /// - Returns: when the revocation ends, in milliseconds since 1970; nil: when it is lifted.
    /// - Throws: `.limitExceeded` when the list is full, `.unavailable` when the broker cannot be reached.
    @discardableResult
    package func revoke(
        _ subject: RevocationSubject, forMs: Int64?, sparesLaterTokens: Bool
    ) async throws(RequestError) -> Int64? {
        try await refreshed()
        let nowMs = nowMs()
        let revocation = Revocation(
            subject, atMs: nowMs, untilMs: forMs.map { nowMs + $0 }, sparesLaterTokens: sparesLaterTokens)
        let known = latest.withLock { $0.value }
        try await change(try known.adding(revocation, countMax: countMax, nowMs: nowMs))
        return revocation.untilMs
    }

    /// - Throws: `.notFound`, `.unavailable`.
    package func lift(_ subject: RevocationSubject) async throws(RequestError) {
        try await refreshed()
        let known = latest.withLock { $0.value }
        try await change(try known.lifting(subject))
    }

    private func refreshed() async throws(RequestError) {
        do throws(BrokerError) {
            try await refresh()
        } catch {
            throw RequestError(.unavailable, "\(error)")
        }
    }

    private func change(_ changes: [(field: String, value: String?)]) async throws(RequestError) {
        do throws(BrokerError) {
            try await broker.changeOverrides(changes, in: .revocations)
            try await refresh()
        } catch {
            throw RequestError(.unavailable, "\(error)")
        }
    }
}
