import Clocks
import LoadDriver
import Logging
import Postgres

/// Direct access to the database, bypassing the service.
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

    /// Discards logs: the run kills servers on purpose, so its own connections' errors are noise.
    private static let silentLogger = Logger(label: "chaos") { _ in SwiftLogNoOpLogHandler() }

    func start() async throws { try await pool.start() }

    func stop() async { await pool.stop() }

    /// Checks that every acknowledged mutation has its receipt, and that none was applied twice.
    func misses(of acknowledged: [Int]) async -> [String] {
        guard !acknowledged.isEmpty else { return [] }
        var misses: [String] = []
        let list = acknowledged.map { "'\(marker.text($0))'" }.joined(separator: ",")
        let distinct = "SELECT count(DISTINCT marker) FROM receipt"
        guard let found = await number("\(distinct) WHERE marker IN (\(list))"),
            let repeated = await number("SELECT count(*) - (\(distinct)) FROM receipt")
        else { return ["the database did not respond"] }
        if found != acknowledged.count {
            misses.append("\(acknowledged.count - found) acknowledged mutations are lost")
        }
        if repeated != 0 { misses.append("mutations were applied again \(repeated) times, despite their keys") }
        if let difference = await number("SELECT (SELECT sum(value) FROM counter) - (SELECT count(*) FROM receipt)"),
            difference != 0
        {
            misses.append("counters and receipts differ by \(difference)")
        }
        return misses
    }

    /// Returns the number of unpublished events.
    func outboxRows() async -> Int? { await number("SELECT count(*) FROM freshet.outbox") }

    /// Describes a regression and the state of the mutation that the newer result contained.
    func description(of regression: DeliveryWatch.Regression, _ times: MutationTimes) async -> String {
        var text =
            "subscriber \(regression.subscriber) (\(regression.transport.rawValue)) of \(regression.operation) "
            + "went from \(regression.from) to \(regression.to)"
        if regression.isAcrossConnections { text += " after a reconnect" }
        guard let sequence = regression.marker else { return text }
        let marker = marker.text(sequence)
        let isPresent = await number("SELECT count(*) FROM receipt WHERE marker = '\(marker)'") == 1
        text += " (mutation \(sequence), \(times.answeredNs(sequence) == nil ? "not " : "")acknowledged, "
        return text + (isPresent ? "in the database)" : "not in the database any more)")
    }

    /// Corrupts the data, which the verdict must detect.
    func sabotage() async {
        try? await pool.script(
            """
            UPDATE counter SET value = value + 1 WHERE number < 50;
            DELETE FROM receipt WHERE ctid IN (SELECT ctid FROM receipt ORDER BY ctid DESC LIMIT 10);
            """)
    }

    /// Runs a query for one number, with retries, since Postgres may be restarting.
    private func number(_ sql: String) async -> Int? {
        let deadline = Deadline(afterMs: ChaosCluster.readyMs)
        while true {
            if let rows = try? await pool.query(Statement(sql)) { return rows.rows.first?.int(0) }
            guard !deadline.isReached else { return nil }
            await ChaosRun.pause(ms: 200)
        }
    }
}
