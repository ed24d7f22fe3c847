import Logging
import Postgres
import SeededRandom
import Synchronization

/// Writes rows without the service, as `psql` or another service does.
///
/// Each write bumps counters and leaves a receipt for each in the same transaction, as the mutations do.
final class OutsideWriter: Sendable {
    fileprivate struct State {
        var isPaused = true
        var isWriting = false
        var written = 0
    }

    private let pool: PostgresPool
    private let pauseMs: Int
    private let seed: UInt64
    private let state = Mutex(State())

    private static let write = Statement(
        """
        WITH changed AS (
            UPDATE counter SET value = value + 1, note = $2::text
            WHERE CASE WHEN $3::bool THEN team = (SELECT team FROM counter WHERE number = $1::int)
                ELSE number = $1::int END
            RETURNING number
        )
        INSERT INTO receipt (id, marker) SELECT gen_random_uuid(), $2::text || number FROM changed
        """)

    init(_ connectionString: String, perSecond: Double, seed: UInt64) {
        var configuration = PostgresConfiguration(connectionString: connectionString)
        configuration.writeConnections = 1
        configuration.sessionConnections = 1
        pool = PostgresPool(
            configuration: configuration, logger: Logger(label: "chaos") { _ in SwiftLogNoOpLogHandler() })
        pauseMs = max(1, Int(1_000 / perSecond))
        self.seed = seed
    }

    /// The number of writes that were committed.
    var written: Int { state.withLock { $0.written } }

    /// Writes until its task is cancelled, except while it is paused, as it is at first.
    func run() async throws {
        try await pool.start()
        let counters = try await pool.query("SELECT count(*) FROM counter").rows.first?.int(0) ?? 0
        var random = SeededRandom(seed: seed)
        var number = 0
        while !Task.isCancelled {
            await ChaosRun.pause(ms: pauseMs)
            guard state.withLock({ $0.begin() }) else { continue }
            number += 1
            let parameters: [Parameter] = [
                .text(String(Int.random(in: 0..<max(1, counters), using: &random))),
                .text("outside-\(seed)-\(number)-"),
                .text(Int.random(in: 0..<4, using: &random) == 0 ? "true" : "false"),
            ]
            let isWritten = (try? await pool.transaction([(Self.write, parameters)])) != nil
            state.withLock { $0.end(isWritten) }
        }
        await pool.stop()
    }

    func resume() { state.withLock { $0.isPaused = false } }

    /// Returns when nothing is being written any more.
    func pause() async {
        state.withLock { $0.isPaused = true }
        while state.withLock({ $0.isWriting }) { await ChaosRun.pause(ms: 5) }
    }
}

extension OutsideWriter.State {
    fileprivate mutating func begin() -> Bool {
        isWriting = !isPaused
        return isWriting
    }

    fileprivate mutating func end(_ isWritten: Bool) {
        isWriting = false
        if isWritten { written += 1 }
    }
}
