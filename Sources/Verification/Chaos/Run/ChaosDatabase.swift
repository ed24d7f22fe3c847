import LoadDriver
import Logging
import Postgres

/// What a run asks the database, past the service.
struct ChaosDatabase: Sendable {
    private let pool: PostgresPool
    private let marker: Marker

    init(_ connectionString: String, seed: UInt64) {
        var configuration = PostgresConfiguration(connectionString: connectionString)
        configuration.writeConnections = 1
        configuration.sessionConnections = 1
        pool = PostgresPool(configuration: configuration, logger: Self.silentLogger)
        marker = Marker(run: UInt32(truncatingIfNeeded: seed))
    }

    /// The suite ends servers on purpose: what its own connections say about that is of no use.
    private static let silentLogger = Logger(label: "chaos") { _ in SwiftLogNoOpLogHandler() }

    func start() async throws { try await pool.start() }

    func stop() async { await pool.stop() }

    /// Every acknowledged mutation must have its receipt.
    func misses(of acknowledged: [Int]) async -> [String] {
        guard !acknowledged.isEmpty else { return [] }
        var misses: [String] = []
        let list = acknowledged.map { "'\(marker.text($0))'" }.joined(separator: ",")
        guard let found = await ask("SELECT count(*) FROM receipt WHERE marker IN (\(list))") else {
            return ["the database did not answer"]
        }
        if found != acknowledged.count {
            misses.append("\(acknowledged.count - found) acknowledged mutations are lost")
        }
        if let apart = await ask("SELECT (SELECT sum(value) FROM counter) - (SELECT count(*) FROM receipt)"),
            apart != 0
        {
            misses.append("counters and receipts are apart by \(apart)")
        }
        return misses
    }

    /// Events that were not published yet.
    func outboxRows() async -> Int? { await ask("SELECT count(*) FROM freshet.outbox") }

    /// A regress, and what became of the mutation that the newer result showed.
    func words(_ regress: DeliveryWatch.Regress, _ times: MutationTimes) async -> String {
        var text =
            "subscriber \(regress.subscriber) (\(regress.transport.rawValue)) of \(regress.operation) went from \(regress.from) to \(regress.to)"
        if regress.isAcrossConnections { text += " after a reconnect" }
        guard let sequence = regress.marker else { return text }
        let marker = marker.text(sequence)
        let isThere = await ask("SELECT count(*) FROM receipt WHERE marker = '\(marker)'") == 1
        text += " (mutation \(sequence), \(times.answeredNs(sequence) == nil ? "not " : "")acknowledged, "
        return text + (isThere ? "in the database)" : "not in the database any more)")
    }

    /// What the verdict must find.
    func sabotage() async {
        try? await pool.script(
            """
            UPDATE counter SET value = value + 1 WHERE number < 50;
            DELETE FROM receipt WHERE ctid IN (SELECT ctid FROM receipt ORDER BY ctid DESC LIMIT 10);
            """)
    }

    /// One number; Postgres may just have come back.
    private func ask(_ sql: String) async -> Int? {
        let deadline = ContinuousClock.now + .milliseconds(ChaosCluster.readyMs)
        while true {
            if let rows = try? await pool.query(Statement(sql)) { return rows.rows.first?.int(0) }
            guard ContinuousClock.now < deadline else { return nil }
            await ChaosRun.pause(ms: 200)
        }
    }
}
