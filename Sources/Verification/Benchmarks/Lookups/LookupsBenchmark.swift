import Catalog
import CBenchmarks
import Execution
import FoundationEssentials
import JSON
import LiveModel
import LocalServers
import Node
import Postgres
import QuerySQL
import Settings

/// Measures lookups by key per second through an API node with 64 callers over kept-alive HTTP connections, beside
/// pgbench, which runs the same prepared statement with as many clients.
package enum LookupsBenchmark {
    private static let callers = 64
    private static let lots = 1_000

    package static func run(project: String, isQuick: Bool) async throws -> [BenchmarkResult] {
        try await PrivateServers.with(project: project) { servers in
            try await servers.withPool { pool in
                try await measure(servers, pool, passes: isQuick ? 1 : 3, seconds: isQuick ? 3 : 6)
            }
        }
    }

    private static func measure(
        _ servers: PrivateServers, _ pool: PostgresPool, passes: Int, seconds: Int
    ) async throws -> [BenchmarkResult] {
        let ids = try await servers.lotIDs(pool, lots)
        let requests = ids.map { id in
            "GET /v1/connectors/auctions/queries/GetLot?variables=%7B%22id%22%3A%22\(id)%22%7D HTTP/1.1\r\n"
                + "Host: 127.0.0.1\r\n\r\n"
        }
        let script = try script(servers)
        try await pool.script("VACUUM ANALYZE public.lot")
        var node = cbench_http_outcome()
        var nodeRate = 0.0
        var bareRate = 0.0
        var pgbenchRate = 0.0
        for _ in 0..<passes {
            let outcome = try await servers.withNode(roles: [.api]) { address in
                try await HTTPCallers.run(port: address.publicPort, requests, callers: callers, seconds: seconds)
            }
            let rate = Double(outcome.answered) / outcome.seconds
            if rate > nodeRate { (node, nodeRate) = (outcome, rate) }
            pgbenchRate = max(pgbenchRate, try await pgbench(servers, script, seconds: seconds))
            bareRate = max(
                bareRate,
                try await servers.withNode(roles: [.api]) { address in
                    let health = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
                    let outcome = try await HTTPCallers.run(
                        port: address.publicPort, [health], callers: callers, seconds: min(seconds, 3))
                    return Double(outcome.answered) / outcome.seconds
                })
        }
        print(
            Text.table([
                ["single lookups, \(callers) callers", "per second", "median", "p99"],
                [
                    "API node over HTTP", Text.fixed(nodeRate, decimals: 0), Text.milliseconds(node.median),
                    Text.milliseconds(node.p99),
                ],
                ["  the same node, GET /healthz: HTTP alone", Text.fixed(bareRate, decimals: 0), "-", "-"],
                ["pgbench, the same prepared statement", Text.fixed(pgbenchRate, decimals: 0), "-", "-"],
            ]))
        return [
            BenchmarkResult(
                name: "single lookups per second: API node / pgbench",
                measured: "\(Text.rate(nodeRate)) / \(Text.rate(pgbenchRate))", ratio: nodeRate / pgbenchRate,
                limit: .atLeast(BenchmarkLimits.lookupsOverPgbenchMin))
        ]
    }

    // MARK: pgbench

    private static func script(_ servers: PrivateServers) throws -> String {
        let operation = try servers.operation("GetLot")
        let variables = try operation.coerce(["id": "00000000-0000-4000-8000-000000000000"])
        let call = try operation.queryCall(variables: variables, auth: nil, nowMs: 0)
        guard call.parameters.count == 1 else { throw BenchmarkFailure("unexpected statement") }
        let sql = call.statement.single.split(separator: "$1", omittingEmptySubsequences: false)
            .joined(separator: "md5('lot:' || :lot)")
            // pgbench reads a colon before a letter as one of its variables, even in a timestamp format.
            .replacing("'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'", with: #"E'YYYY-MM-DD"T"HH24\072MI\072SS.US"Z"'"#)
        let path = servers.postgres.dataDirectory + "/lookup.pgbench"
        try "\\set lot random(1, \(lots))\n\(sql);\n".write(toFile: path, atomically: false, encoding: .utf8)
        return path
    }

    private static func pgbench(_ servers: PrivateServers, _ script: String, seconds: Int) async throws -> Double {
        let arguments = [
            "-n", "-M", "prepared", "-c", "\(callers)", "-j", "2", "-T", "\(seconds)", "-f", script,
            servers.postgres.connectionString,
        ]
        let command = "pgbench " + arguments.map(Shell.quoted).joined(separator: " ") + " 2>&1"
        let lines = await onThread { Shell.output(of: command) }.split(separator: "\n")
        guard let line = lines.first(where: { $0.hasPrefix("tps = ") }),
            let rate = line.dropFirst(6).split(separator: " ").first.flatMap({ Double($0) }), rate > 0
        else { throw BenchmarkFailure("pgbench failed: \(lines.last ?? "no output")") }
        return rate
    }
}
