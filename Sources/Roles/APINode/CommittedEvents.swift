import Clocks
package import Cluster
package import Execution
package import LiveModel
package import Postgres
package import RoleMachines
import Synchronization

/// Says when a committed event is in the shards' streams: once its row has left the outbox, since the publisher removes
/// rows only then. An event whose row stays, because its node died or cannot reach the broker, is published again from
/// here; a duplicate is harmless.
package final class CommittedEvents: Sendable {
    private let pool: PostgresPool
    private let catalogs: ServedCatalogs
    private let publisher: EventPublisher
    private let overrideList: OverrideList
    /// How long another node has to publish it.
    private let patienceMs: Int64

    private struct State {
        /// The waits that look again and again.
        var pollCount = 0
        /// The end of the time for which a row in place of several, once seen, is assumed to be there.
        var foldedUntil: Deadline?
    }

    private let state = Mutex(State())

    private static let pauseMinMs: Int64 = 5
    private static let pauseMaxMs: Int64 = 250
    /// The most waits that look again and again. Usually the first look finds the event published.
    private static let pollsMax = 64
    private static let foldedMs: Int64 = 500

    private static let look = Statement("SELECT id, shards, event FROM freshet.outbox WHERE id = $1::uuid")
    /// Whether there is a row in place of several: any event that is gone may be part of it. It has the time of the
    /// oldest of them, so only rows that sweepers held may be older.
    private static let foldedExists = Statement(
        """
        SELECT EXISTS (
            SELECT FROM (SELECT shards, event FROM freshet.outbox ORDER BY created_at LIMIT 10000) AS oldest
            WHERE shards = '{}' AND event = $1::text
        )
        """)

    package init(
        pool: PostgresPool, catalogs: ServedCatalogs, publisher: EventPublisher, overrideList: OverrideList,
        patienceMs: Int64 = 250
    ) {
        self.pool = pool
        self.catalogs = catalogs
        self.publisher = publisher
        self.overrideList = overrideList
        self.patienceMs = patienceMs
    }

    /// Returns once the event, if there is one of this id, is in the streams of all shards that it concerns.
    /// - Throws: `.timeout`; `.unavailable` while too many wait; errors of the database.
    package func ensureAppended(_ eventID: String, withinMs: Int64) async throws(RequestError) {
        let (deadline, patience) = (Deadline(afterMs: withinMs), Deadline(afterMs: patienceMs))
        var row = try await row(of: eventID)
        if row == nil, try await !mayBeFolded() { return }
        let isAdmitted = state.withLock { state in
            if state.pollCount == Self.pollsMax { return false }
            state.pollCount += 1
            return true
        }
        guard isAdmitted else {
            throw RequestError(.unavailable, "too many wait for events that are not published yet")
        }
        defer { state.withLock { $0.pollCount -= 1 } }
        var pauseMs = Self.pauseMinMs
        var isPublished = false
        while !deadline.isReached {
            if let row, patience.isReached, !isPublished {
                isPublished = true
                publish(row)
            }
            try? await Task.sleep(for: .milliseconds(pauseMs))
            pauseMs = min(2 * pauseMs, Self.pauseMaxMs)
            row = try await self.row(of: eventID)
            if row == nil, try await !mayBeFolded() { return }
        }
        throw RequestError(.timeout, "the event is not published yet")
    }

    private func row(of eventID: String) async throws(RequestError) -> OutboxRow? {
        do throws(PostgresError) {
            return try await pool.query(Self.look, [.text(eventID)]).rows.first.flatMap(OutboxRow.init(taken:))
        } catch {
            throw RequestError(error)
        }
    }

    /// Whether the outbox has a row in place of several. The query reads many rows, and such a row stays for a while,
    /// so the answer yes is good for `foldedMs`.
    private func mayBeFolded() async throws(RequestError) -> Bool {
        if state.withLock({ $0.foldedUntil?.isReached == false }) { return true }
        let isFolded: Bool
        do throws(PostgresError) {
            let found = try await pool.query(Self.foldedExists, [.text(SweeperMachine.foldedEvent)])
            isFolded = found.rows.first?.bool(0) ?? true
        } catch {
            throw RequestError(error)
        }
        state.withLock { $0.foldedUntil = isFolded ? Deadline(afterMs: Self.foldedMs) : nil }
        return isFolded
    }

    /// Publishes the event as its node would; one that is unreadable is left to the sweepers.
    private func publish(_ row: OutboxRow) {
        guard let mutation = SweeperMachine.TakenRow(row).mutation else { return }
        let targets = RefreshTargets(
            of: mutation, rules: catalogs.snapshot, overrides: overrideList.overrides,
            shardCount: overrideList.shardCount, nowMs: overrideList.nowMs())
        publisher.publish(.init(row: row, mutation: mutation, targets: targets))
    }
}
