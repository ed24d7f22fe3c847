import Clocks
package import Cluster
package import Execution
package import LiveModel
package import Postgres
package import RoleMachines
import Synchronization

/// The database's log as far as waits need it.
package protocol PublishedLog: Sendable {
    /// Returns how far the log is published; nil if nobody leaves events in it.
    func publishedPosition() async throws(PostgresError) -> EventWaits.LogPosition?
    /// Leaves a mark behind everything that is committed; returns its position.
    func leaveMark() async throws(PostgresError) -> UInt64
}

/// Says when a committed event is in the shards' streams; performs `EventWaits`. An event whose row stays in the
/// outbox, because its node died or cannot reach the broker, is published again from here; a duplicate is harmless.
package final class CommittedEvents: Sendable {
    private let pool: PostgresPool
    private let catalogs: ServedCatalogs
    private let publisher: EventPublisher
    private let overrideList: OverrideList
    private let log: any PublishedLog
    private let waits: Mutex<EventWaits>

    /// The event's row, and if it has none and that is asked, whether there is a row in place of several. That one has
    /// the time of the oldest of them, so only rows that sweepers held may be older. Last, whether events may be in the
    /// log alone.
    private static let look = Statement(
        """
        SELECT o.id, o.shards, o.event, CASE WHEN o.id IS NULL AND $3::boolean THEN EXISTS (
            SELECT FROM (SELECT shards, event FROM freshet.outbox ORDER BY created_at LIMIT 10000) AS oldest
            WHERE shards = '{}' AND event = $2::text
        ) END, EXISTS (SELECT FROM freshet.change_slots WHERE carries_events)
        FROM (SELECT $1::uuid AS id) AS wanted LEFT JOIN freshet.outbox o ON o.id = wanted.id
        """)

    /// - Parameter log: where nodes may leave events alone.
    package init(
        pool: PostgresPool, catalogs: ServedCatalogs, publisher: EventPublisher, overrideList: OverrideList,
        log: any PublishedLog,
        settings: EventWaits.Settings = EventWaits.Settings()
    ) {
        self.pool = pool
        self.catalogs = catalogs
        self.publisher = publisher
        self.overrideList = overrideList
        self.log = log
        waits = Mutex(EventWaits(settings))
    }

    /// Returns once the event, if there is one of this id, is in the streams of all shards that it concerns.
    /// - Throws: `.timeout`; `.limitExceeded` while too many wait; errors of the database.
    package func ensureAppended(_ eventID: String, withinMs: Int64) async throws(RequestError) {
        var wait = waits.withLock { $0.began(withinMs: withinMs, nowMs: MonotonicClock.nowMs()) }
        defer { waits.withLock { [wait] in $0.ended(wait) } }
        var action = EventWaits.Action.look(afterMs: 0, isPublishing: false)
        var row: OutboxRow?
        while true {
            switch action {
            case .appended: return
            case .fail(let error): throw error
            case .look(let pauseMs, let isPublishing):
                if isPublishing, let row { publish(row) }
                await pause(pauseMs)
                let asks = waits.withLock { $0.asksForFolded(nowMs: MonotonicClock.nowMs()) }
                let found = try await look(eventID, asksForFolded: asks)
                row = found.row
                action = waits.withLock {
                    $0.looked(
                        &wait, hasRow: found.row != nil, isFolded: found.isFolded, mayBeLogged: found.mayBeLogged,
                        nowMs: MonotonicClock.nowMs())
                }
            case .lookAtLog(let pauseMs):
                await pause(pauseMs)
                let published = try await ask { () async throws(PostgresError) in try await log.publishedPosition() }
                action = waits.withLock {
                    $0.looked(&wait, published: published, nowMs: MonotonicClock.nowMs())
                }
            case .mark:
                let position = try await ask { () async throws(PostgresError) in try await log.leaveMark() }
                action = waits.withLock { $0.marked(&wait, at: position) }
            }
        }
    }

    private func pause(_ ms: Int64) async {
        if ms > 0 { try? await Task.sleep(for: .milliseconds(ms)) }
    }

    private func ask<Answer>(
        _ question: () async throws(PostgresError) -> Answer
    ) async throws(RequestError) -> Answer {
        do throws(PostgresError) {
            return try await question()
        } catch {
            throw RequestError(error)
        }
    }

    private func look(
        _ eventID: String, asksForFolded: Bool
    ) async throws(RequestError) -> (row: OutboxRow?, isFolded: Bool?, mayBeLogged: Bool) {
        try await ask { () async throws(PostgresError) in
            let found = try await pool.query(
                Self.look, [.text(eventID), .text(SweeperMachine.foldedEvent), .text("\(asksForFolded)")]
            ).rows.first
            return (found.flatMap(OutboxRow.init(taken:)), found?.bool(3), found?.bool(4) == true)
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
