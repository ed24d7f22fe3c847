import Broker
import Clocks
import Streams
import Logging
import Postgres
import Synchronization

/// Checks periodically that the servers which a node needs serve it; `StreamReading` and `ReadinessRule` decide the
/// readiness.
///
/// Bound: one request in flight to each server.
final class ReadinessProbe: Sendable {
    private static let intervalMs: Int64 = 1_000

    private let pool: PostgresPool
    private let streams: StreamProbe
    private let logger: Logger
    private let state: Mutex<ReadinessRule>

    init(_ rule: ReadinessRule, pool: PostgresPool, streams: StreamProbe, logger: Logger) {
        self.pool = pool
        self.streams = streams
        self.logger = logger
        state = Mutex(rule)
    }

    /// The reason that the node is not ready; nil when it is.
    var problem: String? {
        let nowMs = MonotonicClock.nowMs()
        return state.withLock { $0.problem(nowMs: nowMs) }
    }

    /// Runs until its task is cancelled.
    func run() async {
        let (needed, limitMs) = state.withLock { ($0.needed, $0.limitMs) }
        guard limitMs > 0 else { return }
        let pauseMs = min(Self.intervalMs, max(1, limitMs / 4))
        await withTaskGroup(of: Void.self) { group in
            for server in needed { group.addTask { await self.ask(server, everyMs: pauseMs) } }
            group.addTask { await self.report(everyMs: pauseMs) }
        }
    }

    private func ask(_ server: ReadinessRule.Server, everyMs: Int64) async {
        var reading = StreamReading()
        while !Task.isCancelled {
            let outcome: StreamReading.Outcome
            switch server {
            case .postgres: outcome = await isPostgresThere() ? .served : .silent
            case .redis:
                let (failed, probedMs) = (streams.failedReads(), MonotonicClock.nowMs())
                outcome = reading.probed(await streams.probe(), failedReads: failed, nowMs: probedMs)
            }
            let nowMs = MonotonicClock.nowMs()
            state.withLock { state in
                switch outcome {
                case .served: state.answered(server, nowMs: nowMs)
                case .refused: state.failed(server, refused: true)
                case .silent: state.failed(server, refused: false)
                case .pending: break
                }
            }
            if case .refused(let reason) = outcome {
                logger.debug("a server refuses this node", metadata: ["server": "\(server)", "error": "\(reason)"])
            }
            try? await Task.sleep(for: .milliseconds(everyMs))
        }
    }

    /// Logs each change of readiness.
    private func report(everyMs: Int64) async {
        var wasReady = true
        while !Task.isCancelled {
            let problem = problem
            if let problem, wasReady {
                logger.error("not ready, sessions are kept", metadata: ["reason": "\(problem)"])
            } else if problem == nil, !wasReady {
                logger.notice("ready again")
            }
            wasReady = problem == nil
            try? await Task.sleep(for: .milliseconds(everyMs))
        }
    }

    /// Whether Postgres answers on a connection for mutations or, when those are blocked on a lock, on one for reads.
    /// An error counts as an answer.
    private func isPostgresThere() async -> Bool {
        do throws(PostgresError) {
            _ = try await pool.transaction([("SELECT 1", [])])
            return true
        } catch {
            if case .server = error.code { return true }
        }
        do throws(PostgresError) {
            _ = try await pool.query("SELECT 1")
            return true
        } catch {
            if case .server = error.code { return true }
            return false
        }
    }
}
