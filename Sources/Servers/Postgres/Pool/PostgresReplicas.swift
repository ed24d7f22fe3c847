import Clocks
package import Logging
import Pacing
import Synchronization

/// Read replicas, for statements whose result must include everything committed before the call.
///
/// The primary's WAL position is read first: everything committed before the call lies before it. A replica checks *in
/// the transaction of the statement, before it*, that it has replayed that far; the statement's snapshot is taken after
/// the check, so it contains those commits. A replica on another timeline than the primary is not used: after a
/// failover it can be further ahead and yet lack later commits. (A replica learns of a new timeline with its next
/// restart point.)
package final class PostgresReplicas: Sendable {
    package struct Counts: Sendable, Hashable {
        /// Statements answered by a replica.
        package var answered = 0
        /// Statements left to the primary, because no replica was connected or had caught up in time.
        package var missed = 0

        package init() {}
    }

    private static let primaryPosition = Statement(
        """
        SELECT p.lsn::text, left(pg_walfile_name(p.lsn), 8)
        FROM (SELECT pg_current_wal_insert_lsn() AS lsn) AS p
        """)
    private static let hasReplayed = Statement(
        """
        SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= $1::pg_lsn
          AND (SELECT timeline_id FROM pg_control_checkpoint()) = $2::int
        """)
    /// Whether it is a standby, and on the primary's timeline; the bytes and milliseconds by which it is behind.
    private static let position = Statement(
        """
        SELECT pg_is_in_recovery(), (SELECT timeline_id FROM pg_control_checkpoint()) = $2::int,
          pg_wal_lsn_diff($1::pg_lsn, pg_last_wal_replay_lsn())::bigint,
          (extract(epoch FROM now() - pg_last_xact_replay_timestamp()) * 1000)::bigint
        """)
    /// The most time that a report waits for a replica to catch up, and for its answer.
    private static let reportWaitMsMax = 500
    private static let reportTimeoutMs = 1_000

    private let primary: PostgresPool
    let pools: [PostgresPool]
    private let waitMs: Int
    private let state = Mutex((choice: ReplicaChoice(), counts: Counts()))

    /// - Parameters:
    ///   - configurations: one per replica.
    ///   - waitMs: how long a statement waits for a replica to catch up.
    package init(
        primary: PostgresPool, configurations: [PostgresConfiguration], waitMs: Int, logger: Logger
    ) {
        self.primary = primary
        self.waitMs = waitMs
        pools = configurations.map { configuration in
            var configuration = configuration
            // The statement needs a snapshot later than the check's.
            configuration.sessionSettings["default_transaction_isolation"] = "read committed"
            return PostgresPool(configuration: configuration, logger: logger)
        }
    }

    /// Connects in the background, so that a replica that is down does not delay the start.
    package func start() { for pool in pools { pool.begin() } }
    package func stop() async { for pool in pools { await pool.stop() } }
    package var counts: Counts { state.withLock { $0.counts } }

    /// Runs a read-only statement on a replica.
    /// - Returns: nil when the primary must run it.
    /// - Throws: only an error with `ranTooLong`, because the primary would take as long.
    package func query(
        _ statement: Statement, _ parameters: [Parameter], _ mode: PostgresPool.RefreshMode = .open
    ) async throws(PostgresError) -> ResultSet? {
        let result = try await answer(statement, parameters, mode)
        state.withLock { state in
            if result == nil { state.counts.missed += 1 } else { state.counts.answered += 1 }
        }
        return result
    }

    private func answer(
        _ statement: Statement, _ parameters: [Parameter], _ mode: PostgresPool.RefreshMode
    ) async throws(PostgresError) -> ResultSet? {
        guard let pool = choose(), let target = await replayTarget() else { return nil }
        let check: PostgresStep = (Self.hasReplayed, [.text(target.lsn), .text(String(target.timeline))])
        let deadline = Deadline(afterMs: waitMs)
        var attempt = ReplicaAttempt()
        var step = ReplicaAttempt.Step.checkAndRun
        var results: [ResultSet] = []
        while true {
            let steps: [PostgresStep]
            switch step {
            case .checkAndRun: steps = [check, (statement, parameters)]
            case .check(let pauseMs):
                try? await Task.sleep(for: .milliseconds(pauseMs))
                steps = [check]
            case .answer: return results.last
            case .leaveToPrimary: return nil
            case .fail(let error): throw error
            }
            do throws(PostgresError) {
                results = try await pool.refresh(steps, mode)
                step = attempt.checked(
                    hasReplayed: results.first?.rows.first.map { $0.string(0) == "t" }, hasRun: results.count > 1,
                    isOver: deadline.isReached || Task.isCancelled)
            } catch {
                step = attempt.failed(error)
            }
        }
    }

    private func replayTarget() async -> ReplayTarget? {
        let row = try? await primary.query(Self.primaryPosition).rows.first
        return row.flatMap { ReplayTarget(lsn: $0.string(0), timeline: $0.string(1)) }
    }

    // MARK: Reports

    /// Asks each replica whether a re-run would run on it now; waits for it as long as a re-run, at most half a second.
    package func reports() async -> [ReplicaReport] {
        let target = await replayTarget()
        return await withTaskGroup { group in
            for (index, pool) in pools.enumerated() {
                group.addTask { (index, await self.report(on: pool, target)) }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func report(on pool: PostgresPool, _ target: ReplayTarget?) async -> ReplicaReport {
        let address = ConnectionHosts.address(of: pool.configuration.connectionString)
        guard pool.hasConnectedWriter else { return ReplicaReport(address: address, state: .notConnected) }
        guard let target else { return ReplicaReport(address: address, state: .unknown) }
        let step: PostgresStep = (Self.position, [.text(target.lsn), .text(String(target.timeline))])
        let deadline = Deadline(afterMs: min(waitMs, Self.reportWaitMsMax))
        var pauseCount = 0
        while true {
            let results = try? await pool.transaction([step], timeoutMs: Self.reportTimeoutMs)
            let row = results?.first?.rows.first
            let report = ReplicaReport(
                address: address, isStandby: row.map { $0.string(0) == "t" }, isSameTimeline: row?.string(1) == "t",
                lagBytes: row?.int(2).map { Int64($0) }, lagMs: row?.int(3).map { Int64($0) })
            guard report.state == .behind, !deadline.isReached, !Task.isCancelled else { return report }
            try? await Task.sleep(for: .milliseconds(ReplicaAttempt.pauses.delayMs(after: pauseCount)))
            pauseCount += 1
        }
    }

    private func choose() -> PostgresPool? {
        let isConnected = pools.map(\.hasConnectedWriter)
        return state.withLock { $0.choice.next(isConnected) }.map { pools[$0] }
    }
}
