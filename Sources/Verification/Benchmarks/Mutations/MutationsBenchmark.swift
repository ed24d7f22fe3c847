import Catalog
import CBenchmarks
import Clocks
import Execution
import FoundationEssentials
import JSON
import LiveModel
import LocalServers
import Node
import Postgres
import QuerySQL
import SeededRandom
import Settings
import Sharding

/// Measures mutations per second through an API node, each with its outbox row and event, with 64 callers over
/// kept-alive HTTP connections, beside pgbench, which runs the same statements in a transaction of the same shape with
/// as many clients. Also measures what the outbox costs the database, with pgbench without the outbox row.
///
/// The node does more than pgbench: HTTP, JSON, authorization, the event to Redis, and the removal of the outbox row.
/// Another node in turn leaves its events in the database's log alone, and publishes them from there.
package enum MutationsBenchmark {
    private static let callers = 64
    private static let lots = 1_000
    /// The number of passes in which pgbench also runs in its other forms.
    private static let comparisons = 3

    package static func run(project: String, isQuick: Bool) async throws -> [BenchmarkResult] {
        var results: [BenchmarkResult] = []
        for isDurable in isQuick ? [true] : [true, false] {
            results +=
                try await PrivateServers.with(project: project, isDurable: isDurable) { servers in
                    try await measure(
                        servers, isDurable: isDurable, passes: isQuick ? 1 : 5, seconds: isQuick ? 3 : 5)
                }
        }
        return results
    }

    private static func measure(
        _ servers: PrivateServers, isDurable: Bool, passes: Int, seconds: Int
    ) async throws -> [BenchmarkResult] {
        var rates = Rates()
        try await servers.withPool { pool in
            let requests = try await Self.requests(servers, pool)
            let pgbench = try Pgbench(servers, clients: callers, seconds: seconds)
            for pass in 0..<passes {
                try await tidy(pool)
                let cpuStart = Clock.processSeconds
                let outcome = try await servers.withNode(roles: [.api]) { address in
                    try await HTTPCallers.run(port: address.publicPort, requests, callers: callers, seconds: seconds)
                }
                let cpu = Clock.processSeconds - cpuStart
                let rate = Double(outcome.answered) / outcome.seconds
                try await tidy(pool)
                let ruled = try await servers.withNode(roles: [.api], isAutomatic: false) { address in
                    try await HTTPCallers.run(port: address.publicPort, requests, callers: callers, seconds: seconds)
                }
                rates.automaticRatios.add(rate / (Double(ruled.answered) / ruled.seconds))
                try await tidy(pool)
                let logged = try await servers.withNode(
                    roles: [.api, .tailer], adjust: { $0.outbox.kind = .wal }
                ) { address in
                    let outcome = try await HTTPCallers.run(
                        port: address.publicPort, requests, callers: callers, seconds: seconds)
                    rates.logBehindMs.add(try await publish(pool))
                    return Double(outcome.answered) / outcome.seconds
                }
                rates.logged.add(logged)
                rates.loggedRatios.add(logged / rate)
                try await dropSlot(pool)
                try await tidy(pool)
                let plain = try await pgbench.run(.plain)
                // The CPU time includes the warm-up second but not the callers' thread.
                rates.nodeCPU.add(
                    cpu / (rate * (outcome.seconds + 1)) - Double(outcome.cpu_us) / 1e6 / Double(outcome.answered))
                rates.add(node: rate, plain: plain, outcome)
                guard pass < comparisons else { continue }
                try await tidy(pool)
                let bare = try await pgbench.run(.withoutOutbox)
                rates.bare.add(bare)
                rates.outboxRatios.add(plain / bare)
                try await tidy(pool)
                rates.pipelined.add(try await pgbench.run(.pipelined))
            }
            try await tidy(pool)
        }
        let kind = isDurable ? "durable" : "fsync off"
        show(rates, kind, passes: passes)
        return [
            BenchmarkResult(
                name: "mutations per second (\(kind)): API node / pgbench",
                measured: "\(Text.rate(rates.node.median)) / \(Text.rate(rates.plain.median))",
                ratio: rates.ratios.median,
                limit: isDurable ? .atLeast(BenchmarkLimits.mutationsOverPgbenchMin) : .none),
            BenchmarkResult(
                name: "mutations per second (\(kind)): with automatic refresh as the sample has it / without",
                measured: "\(Text.rate(rates.node.median)) with",
                ratio: rates.automaticRatios.median,
                limit: isDurable ? .atLeast(BenchmarkLimits.automaticMutationsMin) : .none),
            BenchmarkResult(
                name: "mutations per second (\(kind)): events in the log alone / in the outbox table",
                measured: "\(Text.rate(rates.logged.median)) / \(Text.rate(rates.node.median))",
                ratio: rates.loggedRatios.median, limit: .none),
            BenchmarkResult(
                name: "pgbench (\(kind)): with the outbox row / without",
                measured: "\(Text.rate(rates.plain.median)) / \(Text.rate(rates.bare.median))",
                ratio: rates.outboxRatios.median,
                limit: .none),
        ]
    }

    private static func show(_ rates: Rates, _ kind: String, passes: Int) {
        print(
            Text.table([
                ["mutations, \(callers) callers, \(kind)", "per second", "median", "p99"],
                [
                    "API node over HTTP, outbox and event", Text.fixed(rates.node.median, decimals: 0),
                    Text.milliseconds(rates.latency.median), Text.milliseconds(rates.latencyP99.median),
                ],
                [
                    "the same, which also reads the log, events in it alone (outbox.kind: wal)",
                    Text.fixed(rates.logged.median, decimals: 0), "-", "-",
                ],
                ["pgbench, same statements", Text.fixed(rates.plain.median, decimals: 0), "-", "-"],
                ["pgbench, without the outbox row", Text.fixed(rates.bare.median, decimals: 0), "-", "-"],
                [
                    "pgbench, same statements in one pipeline", Text.fixed(rates.pipelined.median, decimals: 0), "-",
                    "-",
                ],
            ]))
        print(
            "medians; \(passes) pairs of node and pgbench one after the other, ratios"
                + " \(Text.fixed(rates.ratios.quantile(0), decimals: 2)) to"
                + " \(Text.fixed(rates.ratios.quantile(1), decimals: 2));"
                + " own CPU of the API node: \(Text.microseconds(rates.nodeCPU.median)) a mutation;"
                + " the log was published \(Text.fixed(rates.logBehindMs.median, decimals: 0)) ms after the last one")
    }

    private struct Rates: Sendable {
        private(set) var node = Samples()
        private(set) var plain = Samples()
        /// The ratio of each pair, so that other load on the machine affects both.
        private(set) var ratios = Samples()
        private(set) var latency = Samples()
        private(set) var latencyP99 = Samples()
        var bare = Samples()
        /// The ratio of nodes with and without automatic refresh, run in turn.
        var automaticRatios = Samples()
        /// Nodes that leave events in the log alone, their ratio to those with the table, and how far behind the
        /// reader of the log was at the end.
        var logged = Samples()
        var loggedRatios = Samples()
        var logBehindMs = Samples()
        /// The ratio of pgbench with and without the outbox row, run in turn.
        var outboxRatios = Samples()
        var pipelined = Samples()
        /// CPU seconds per mutation.
        var nodeCPU = Samples()

        mutating func add(node: Double, plain: Double, _ outcome: cbench_http_outcome) {
            self.node.add(node)
            self.plain.add(plain)
            ratios.add(node / plain)
            latency.add(outcome.median)
            latencyP99.add(outcome.p99)
        }
    }

    /// Resets the tables, so that every run starts alike.
    private static func tidy(_ pool: PostgresPool) async throws {
        try await pool.script("TRUNCATE freshet.outbox")
        try await pool.script("VACUUM public.lot")
        try await pool.script("CHECKPOINT")
    }

    // MARK: Events in the log

    /// The time within which the reader of the log must have published everything.
    private static let publishedWithinMs: Int64 = 60_000

    /// Waits until everything in the log is published.
    /// - Returns: the milliseconds that it took.
    private static func publish(_ pool: PostgresPool) async throws -> Double {
        let startNs = MonotonicClock.nowNs()
        let deadline = Deadline(afterMs: publishedWithinMs)
        let mark = try await pool.query(
            "SELECT pg_logical_emit_message(true, 'freshet.mark', '')::text"
        ).rows.first?.string(0)
        guard let mark else { throw BenchmarkFailure("no mark was left in the log") }
        while !deadline.isReached {
            let found = try await pool.query(
                "SELECT EXISTS (SELECT FROM freshet.change_slots WHERE reached >= $1::pg_lsn)", [.text(mark)])
            if found.rows.first?.bool(0) == true { return Double(MonotonicClock.nowNs() - startNs) / 1e6 }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw BenchmarkFailure("the log was not published within \(publishedWithinMs) ms")
    }

    /// Drops the slot, whose next reader would begin with the log of the other runs.
    private static func dropSlot(_ pool: PostgresPool) async throws {
        try await pool.script(
            """
            SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active;
            DELETE FROM freshet.change_slots
            """)
    }

    // MARK: The node's callers

    private static func requests(_ servers: PrivateServers, _ pool: PostgresPool) async throws -> [String] {
        var random = SeededRandom(seed: 1)
        return try await servers.lotIDs(pool, lots).shuffled(using: &random).enumerated().map { number, id in
            let body = JSONWriter.compact([
                "variables": ["id": .string(id), "category": "Hi-Fi", "description": .string("Description \(number)")]
            ])
            return """
                POST /v1/connectors/auctions/mutations/EditLot HTTP/1.1\r
                Host: 127.0.0.1\r
                Content-Type: application/json\r
                Content-Length: \(body.count)\r
                \r
                \(String(decoding: body, as: UTF8.self))
                """
        }
    }
}
