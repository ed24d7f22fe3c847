import Clocks
package import Cluster
package import Execution
package import LiveModel
package import Postgres
package import RoleMachines
import Synchronization

/// Says when a committed event is in the shards' streams; performs `EventWaits`. An event whose row stays in the
/// outbox, because its node died or cannot reach the broker, is published again from here; a duplicate is harmless.
package final class CommittedEvents: Sendable {
    private let pool: PostgresPool
    private let catalogs: ServedCatalogs
    private let publisher: EventPublisher
    private let overrideList: OverrideList
    private let waits: Mutex<EventWaits>

    /// The event's row, and if it has none and that is asked, whether there is a row in place of several. That one has
    /// the time of the oldest of them, so only rows that sweepers held may be older.
    private static let look = Statement(
        """
        SELECT o.id, o.shards, o.event, CASE WHEN o.id IS NULL AND $3::boolean THEN EXISTS (
            SELECT FROM (SELECT shards, event FROM freshet.outbox ORDER BY created_at LIMIT 10000) AS oldest
            WHERE shards = '{}' AND event = $2::text
        ) END
        FROM (SELECT $1::uuid AS id) AS wanted LEFT JOIN freshet.outbox o ON o.id = wanted.id
        """)

    package init(
        pool: PostgresPool, catalogs: ServedCatalogs, publisher: EventPublisher, overrideList: OverrideList,
        settings: EventWaits.Settings = EventWaits.Settings()
    ) {
        self.pool = pool
        self.catalogs = catalogs
        self.publisher = publisher
        self.overrideList = overrideList
        waits = Mutex(EventWaits(settings))
    }

    /// Returns once the event, if there is one of this id, is in the streams of all shards that it concerns.
    /// - Throws: `.timeout`; `.limitExceeded` while too many wait; errors of the database.
    package func ensureAppended(_ eventID: String, withinMs: Int64) async throws(RequestError) {
        var wait = waits.withLock { $0.began(withinMs: withinMs, nowMs: MonotonicClock.nowMs()) }
        defer { waits.withLock { [wait] in $0.ended(wait) } }
        while true {
            let asks = waits.withLock { $0.asksForFolded(nowMs: MonotonicClock.nowMs()) }
            let (row, isFolded) = try await look(eventID, asksForFolded: asks)
            let action = waits.withLock {
                $0.looked(&wait, hasRow: row != nil, isFolded: isFolded, nowMs: MonotonicClock.nowMs())
            }
            switch action {
            case .appended: return
            case .fail(let error): throw error
            case .look(let pauseMs, let isPublishing):
                if isPublishing, let row { publish(row) }
                try? await Task.sleep(for: .milliseconds(pauseMs))
            }
        }
    }

    private func look(
        _ eventID: String, asksForFolded: Bool
    ) async throws(RequestError) -> (row: OutboxRow?, isFolded: Bool?) {
        do throws(PostgresError) {
            let found = try await pool.query(
                Self.look, [.text(eventID), .text(SweeperMachine.foldedEvent), .text("\(asksForFolded)")]
            ).rows.first
            return (found.flatMap(OutboxRow.init(taken:)), found?.bool(3))
        } catch {
            throw RequestError(error)
        }
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
