package import Broker
package import Cluster
package import Execution
import LiveModel
package import Logging
import Metrics
package import Postgres
package import RoleMachines
import Streams
import Synchronization

/// Performs the effects of `SweeperMachine` on the broker and Postgres, one after the other.
package final class OutboxSweeper: Sendable {
    private let broker: any Broker
    private let pool: PostgresPool
    private let catalogs: ServedCatalogs
    private let publisher: EventPublisher
    private let overrideList: OverrideList
    private let logger: Logger
    private let makeUUID: @Sendable () -> String
    private let othersHavePublished: @Sendable () -> Bool
    private let streams: EventStreams
    private let machine: Mutex<SweeperMachine>
    private let metrics = SweeperMetrics()

    private static let take = Statement(
        """
        SELECT id, shards, event FROM freshet.outbox
        WHERE created_at < clock_timestamp() - make_interval(secs => $1::double precision / 1000)
        ORDER BY created_at LIMIT $2::int FOR UPDATE SKIP LOCKED
        """)
    /// Counts up to a limit, so that measuring a large backlog stays fast.
    private static let measure = Statement(
        """
        SELECT (SELECT count(*) FROM (SELECT 1 FROM freshet.outbox LIMIT $1::int) AS counted),
            coalesce(extract(epoch FROM clock_timestamp() - min(created_at)) * 1000, 0)::bigint
        FROM freshet.outbox
        """)
    /// Replaces two or more rows by one, dated like the oldest of them, so that it is published first. Returns how many
    /// it replaced.
    private static let fold = Statement(
        """
        WITH oldest AS MATERIALIZED (
            SELECT id, created_at FROM freshet.outbox ORDER BY created_at LIMIT $1::int FOR UPDATE SKIP LOCKED
        ), folded AS (
            SELECT count(*) AS rows, min(created_at) AS since FROM oldest HAVING count(*) > 1
        ), gone AS (
            DELETE FROM freshet.outbox USING folded WHERE id IN (SELECT id FROM oldest)
        ), one AS (
            INSERT INTO freshet.outbox (id, created_at, shards, event)
            SELECT $2::uuid, since, '{}', $3::text FROM folded
        )
        SELECT rows FROM folded
        """)

    /// - Parameters:
    ///   - othersHavePublished: whether another part of the node has sent events to the broker.
    ///   - eventsLengthMax: the entries that an events stream keeps at least.
    package init(
        broker: any Broker, pool: PostgresPool, catalogs: ServedCatalogs, publisher: EventPublisher,
        overrideList: OverrideList, settings: SweeperMachine.Settings,
        othersHavePublished: @escaping @Sendable () -> Bool = { false }, eventsLengthMax: Int = 100_000,
        makeUUID: @escaping @Sendable () -> String, logger: Logger
    ) {
        self.broker = broker
        self.pool = pool
        self.catalogs = catalogs
        self.publisher = publisher
        self.overrideList = overrideList
        self.makeUUID = makeUUID
        self.logger = logger
        self.othersHavePublished = othersHavePublished
        streams = EventStreams(keys: broker.keys, shardCount: overrideList.shardCount, lengthMax: eventsLengthMax)
        machine = Mutex(SweeperMachine(settings: settings, shardCount: overrideList.shardCount))
    }

    package var backlog: SweeperMachine.Backlog { machine.withLock { $0.backlog } }

    /// Sweeps until its task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            let pauseMs = await round()
            try? await Task.sleep(for: .milliseconds(pauseMs))
        }
    }

    /// Runs one round. Only one task at a time may call this.
    /// - Returns: the milliseconds until the next round.
    @discardableResult
    package func round() async -> Int64 {
        let (changes, hasPublished) = (
            broker.state.serverChanges, publisher.hasPublished || othersHavePublished()
        )
        var effects = change { $0.roundDue(serverChanges: changes, hasPublished: hasPublished) }
        while true {
            var next: [SweeperMachine.Effect] = []
            for effect in effects {
                if case .wait(let ms) = effect { return ms }
                next += await perform(effect, in: nil)
            }
            effects = next
        }
    }

    private func change(_ body: (inout SweeperMachine) -> [SweeperMachine.Effect]) -> [SweeperMachine.Effect] {
        machine.withLock { body(&$0) }
    }

    /// Performs one effect.
    /// - Parameter session: the transaction that took rows, while it lasts.
    /// - Returns: the effects that follow.
    private func perform(
        _ effect: SweeperMachine.Effect, in session: PostgresSession?
    ) async -> [SweeperMachine.Effect] {
        switch effect {
        case .wait: return []
        case .appendResyncMarkers(let call, let shards):
            let answer = await attempt("appending resync markers failed") {
                _ = try await broker.append(streams.resyncMarkers(for: shards))
            }
            return change { $0.resyncAppended(call, isCertain: (try? answer.get()) != nil) }
        case .take(let call, let ageMs, let limit): return await sweep(call, olderThanMs: ageMs, limit: limit)
        case .confirmOverrides(let call):
            let answer = await attempt("outbox sweep failed") { try await overrideList.confirmed() }
            let (rules, nowMs) = (catalogs.snapshot, overrideList.nowMs())
            return change { $0.overridesConfirmed(call, answer, rules: rules, nowMs: nowMs) }
        case .append(let call, let publications):
            let answer = await attempt("outbox sweep failed") {
                _ = try await broker.append(streams.appends(of: publications))
            }
            return change { $0.appended(call, answer) }
        case .remove(let call, let ids, let loadedDeployment):
            let answer = await attempt("outbox sweep failed") {
                let removal = EventPublisher.removal(of: ids, loadedDeployment: loadedDeployment)
                let removed = try await session?.execute(removal.0, removal.1)
                try await session?.commit()
                return removed?.rows.count ?? 0
            }
            return change { $0.removed(call, answer) }
        case .rollBack:
            // If this fails, the session ends and with it the transaction.
            try? await session?.rollback()
            return []
        case .measure(let call, let countMax):
            let answer = await attempt("measuring the outbox failed") {
                let row = try await pool.query(Self.measure, [.text(String(countMax))]).rows.first
                return (rows: row?.int(0) ?? 0, oldestMs: Int64(row?.int(1) ?? 0))
            }
            return change { $0.measured(call, try? answer.get()) }
        case .fold(let call, let limit):
            let answer = await attempt("folding the outbox failed") {
                try await pool.withSession { session in
                    let parameters: [Parameter] = [
                        .text(String(limit)), .text(makeUUID()), .text(SweeperMachine.foldedEvent),
                    ]
                    return try await session.execute(Self.fold, parameters).rows.first?.int(0) ?? 0
                }
            }
            return change { $0.folded(call, try? answer.get()) }
        case .report(let report):
            note(report)
            return []
        }
    }

    /// Takes rows and performs the effects that belong to the same transaction.
    /// - Returns: the effects that follow the transaction.
    private func sweep(
        _ call: SweeperMachine.CallID, olderThanMs ageMs: Int64, limit: Int
    ) async -> [SweeperMachine.Effect] {
        let answer = await attempt("outbox sweep failed") {
            try await pool.withSession { [self] session in
                try await session.begin()
                let found = try await session.execute(Self.take, [.text(String(ageMs)), .text(String(limit))])
                let rows = found.rows.compactMap(OutboxRow.init(taken:)).map(SweeperMachine.TakenRow.init)
                var effects = change { $0.taken(call, .success(rows)) }
                while let effect = effects.first, effect.isInTransaction {
                    effects.removeFirst()
                    effects = await perform(effect, in: session) + effects
                }
                return effects
            }
        }
        switch answer {
        case .success(let effects): return effects
        case .failure(let failure): return change { $0.taken(call, .failure(failure)) }
        }
    }

    private func attempt<Value>(
        _ failureMessage: Logger.Message, _ body: () async throws -> Value
    ) async -> Result<Value, StepFailure> {
        do {
            return .success(try await body())
        } catch {
            logger.warning(failureMessage, metadata: ["error": "\(error)"])
            return .failure(StepFailure("\(error)"))
        }
    }

    private func note(_ report: SweeperMachine.Report) {
        switch report {
        case .resynced(let changes):
            logger.warning(
                "a different redis server responds; all shards re-run their live queries",
                metadata: ["changes": "\(changes)"])
        case .swept(let rows):
            metrics.swept.increment(by: Int64(rows))
            logger.info("outbox rows published by the sweeper", metadata: ["rows": "\(rows)"])
        case .folded(let folded, let rows):
            metrics.folded.increment(by: Int64(folded))
            logger.error(
                "too many events in the outbox: the oldest are replaced by one that refreshes everything",
                metadata: ["rows": "\(rows)", "folded": "\(folded)"])
        case .backlog(let backlog, let isAlarming):
            metrics.backlog.record(backlog.rows)
            metrics.oldest.record(Double(backlog.oldestMs) / 1_000)
            guard isAlarming else { return }
            logger.error(
                "events are waiting in the outbox",
                metadata: [
                    "rows": "\(backlog.rows)", "oldestMs": "\(backlog.oldestMs)", "problem": "\(backlog.problem)",
                ])
        }
    }
}

extension OutboxRow {
    /// Reads a row of a statement that selects id, shards and event.
    init?(taken row: Row) {
        guard let id = row.string(0), let shards = row.string(1), let event = row[2] else { return nil }
        self.init(id: id, shards: Self.shards(shards), event: event)
    }
}
