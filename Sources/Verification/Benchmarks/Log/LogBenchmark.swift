import Broker
import ProtocolClients

import JSON
import LiveModel
import LocalServers
import NIOCore
import NIOPosix
import Node
import Postgres
import SchemaModel
import Settings
import Streams

/// Measures what reading the database's log costs: the time from a commit of another program to the delivery, beside
/// that of an own mutation in the same run, and the CPU time of a row that is decoded.
package enum LogBenchmark {
    /// Random pauses, longer than the minimum gap between two runs of a live query.
    private static let pausesMs = 30...50
    private static let rowsPerTransaction = 500

    package static func run(project: String, isQuick: Bool) async throws -> [BenchmarkResult] {
        try await PrivateServers.with(project: project, adjust: { $0.automaticRefresh.source = .both }) { servers in
            try await servers.withNode(roles: Set(Role.allCases)) { address in
                try await servers.withPool { pool in
                    try await awaitReader(pool)
                    return try await latency(servers, pool, address, rounds: isQuick ? 100 : 1_000)
                        + decoding(servers, pool, transactions: isQuick ? 100 : 400)
                }
            }
        }
    }

    // MARK: Latency

    private static func latency(
        _ servers: PrivateServers, _ pool: PostgresPool, _ address: ServiceNode.Address, rounds: Int
    ) async throws -> [BenchmarkResult] {
        let settings = Settings(profile: .dev)
        let broker = try RedisBroker(
            try RedisConfiguration(url: servers.redis.url), keys: try Keys(namespace: settings.cluster.namespace),
            name: "bench", logger: PrivateServers.quiet)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let id = try await servers.lotIDs(pool, 1)[0]
        let writer = try WriterNode(servers, pool, broker, shardCount: settings.cluster.shardCount, id: id)
        let subscriber = try await SocketClient.connect(
            ServerAddress(host: "127.0.0.1", port: address.publicPort), group)
        subscriber.subscribe("GetLot", ["id": .string(id)], operationID: "live")
        _ = try await subscriber.next()
        let update = Statement("UPDATE lot SET description = $1::text WHERE id = $2::uuid")
        var (own, outside) = (Samples(), Samples())
        for round in 0..<rounds {
            try await Task.sleep(for: .milliseconds(Int.random(in: pausesMs)))
            let committed = try await writer.write("by a mutation \(round)")
            own.add(try await subscriber.next() - committed)

            try await Task.sleep(for: .milliseconds(Int.random(in: pausesMs)))
            _ = try await pool.transaction([(update, [.text("from elsewhere \(round)"), .text(id)])])
            let updated = Clock.now
            outside.add(try await subscriber.next() - updated)
        }
        subscriber.close()
        await broker.close()
        try await group.shutdownGracefully()
        print(
            Text.table([
                ["commit -> delivery, idle system, \(rounds) rounds", "median", "p99"],
                ["own mutation", Text.milliseconds(own.median), Text.milliseconds(own.p99)],
                ["another program", Text.milliseconds(outside.median), Text.milliseconds(outside.p99)],
            ]))
        return [
            BenchmarkResult(
                name: "commit -> delivery, median: another program / own mutation",
                measured: "\(Text.milliseconds(outside.median)) / \(Text.milliseconds(own.median))",
                ratio: outside.median / own.median, limit: .atMost(BenchmarkLimits.outsideOverOwnLatencyMax))
        ]
    }

    // MARK: Decoding

    /// Updates many rows that live queries read by a guard, none of them for a live query that is followed.
    private static func decoding(
        _ servers: PrivateServers, _ pool: PostgresPool, transactions: Int
    ) async throws -> [BenchmarkResult] {
        var lines: [[String]] = [["row from the log", "node", "its process of Postgres", "log"]]
        for identity in ["DEFAULT", "FULL"] {
            try await pool.script("ALTER TABLE lot REPLICA IDENTITY \(identity)")
            let walsender = try await walsender(pool)
            let (node, server) = (Clock.processSeconds, ProcessTimes.now().family(walsender))
            let start = try await position(pool)
            var rows = 0
            let update = Statement(
                """
                UPDATE lot SET description = description || '.' WHERE id IN (
                    SELECT id FROM lot ORDER BY id LIMIT \(rowsPerTransaction))
                """)
            for _ in 0..<transactions {
                rows += try await pool.transaction([(update, [])]).first?.affectedRows ?? 0
            }
            let end = try await position(pool)
            let reached = Statement(
                "SELECT bool_and(confirmed_flush_lsn >= $1::pg_lsn) FROM pg_replication_slots")
            // The reader confirms once a second.
            while try await pool.query(reached, [.text(end)]).rows.first?.bool(0) != true {
                try await Task.sleep(for: .milliseconds(20))
            }
            let bytes = try await pool.query(
                "SELECT pg_wal_lsn_diff($1::pg_lsn, $2::pg_lsn)::bigint", [.text(end), .text(start)])
            let perRow = { (seconds: Double) in Text.fixed(seconds / Double(rows) * 1e6, decimals: 2) + " µs" }
            lines.append([
                "replica identity \(identity)", perRow(Clock.processSeconds - node),
                perRow(ProcessTimes.now().family(walsender) - server),
                "\((bytes.rows.first?.int(0) ?? 0) / max(1, rows)) B",
            ])
        }
        print(Text.table(lines))
        return []
    }

    private static func awaitReader(_ pool: PostgresPool) async throws {
        for _ in 0..<1_000 {
            let found = try await pool.query("SELECT count(*) FROM pg_replication_slots WHERE active")
            if found.rows.first?.int(0) == 1 { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw BenchmarkFailure("nobody reads the log")
    }

    private static func walsender(_ pool: PostgresPool) async throws -> Int32 {
        let found = try await pool.query("SELECT active_pid FROM pg_replication_slots WHERE active")
        return Int32(found.rows.first?.int(0) ?? 0)
    }

    private static func position(_ pool: PostgresPool) async throws -> String {
        try await pool.query("SELECT pg_current_wal_lsn()").rows.first?.string(0) ?? "0/0"
    }
}
