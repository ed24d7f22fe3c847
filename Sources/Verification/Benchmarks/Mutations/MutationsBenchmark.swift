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
import SeededRandom
import Settings
import Sharding

/// Measures mutations per second through an API node, each with its outbox row and event, with 64 callers over
/// kept-alive HTTP connections, beside pgbench, which runs the same statements in a transaction of the same shape with
/// as many clients. Also measures what the outbox costs the database, with pgbench without the outbox row.
///
/// The node does more than pgbench: HTTP, JSON, authorization, the event to Redis, and the removal of the outbox row.
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
                + " own CPU of the API node: \(Text.microseconds(rates.nodeCPU.median)) a mutation")
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

/// pgbench with the SQL of the stored mutation and of its outbox row.
private struct Pgbench {
    enum Form: String {
        case plain, withoutOutbox, pipelined
    }

    private let address: String
    private let folder: String
    private let clients: Int
    private let seconds: Int
    private let shards: String
    private let event: String

    init(_ servers: PrivateServers, clients: Int, seconds: Int) throws {
        address = servers.postgres.connectionString
        folder = servers.postgres.dataDirectory
        self.clients = clients
        self.seconds = seconds
        let operation = try servers.operation("EditLot")
        let id = "00000000-0000-4000-8000-000000000000"
        let variables = try operation.coerce([
            "id": .string(id), "category": "Hi-Fi", "description": "Description 1000",
        ])
        let canonicalID = variables["id"]?.stringValue
        let call = try operation.mutationCall(variables: variables, auth: nil, nowMs: 0, makeUUID: { id })
        let event = MutationEvent(
            id: id, operation: operation.reference, variables: variables, auth: .null,
            keysWritten: call.steps.flatMap(\.keysWritten), traceID: id, committedAtMs: 1_700_000_000_000)
        let shards = ShardRouting.shards(
            of: servers.catalog.queriesRefreshed(by: operation.reference),
            shardCount: Settings(profile: .dev).cluster.shardCount)
        self.shards = "{" + shards.map(\.description).joined(separator: ",") + "}"
        self.event = String(decoding: event.encoded, as: UTF8.self)

        var statements = try call.steps.map { step in
            try Self.filled(
                step.sql,
                step.parameters.map { parameter in
                    switch parameter {
                    case canonicalID: "md5('lot:' || :lot)"
                    case "Hi-Fi": "'Hi-Fi'"
                    case "Description 1000": "('Description ' || :number)"
                    default: throw BenchmarkFailure("unexpected parameter")
                    }
                })
        }
        let setting = "\\set lot random(1, 1000)\n\\set number random(1, 1000)\n"
        func body() -> String { (["BEGIN"] + statements + ["COMMIT"]).map { $0 + ";\n" }.joined() }
        try write(setting + body(), .withoutOutbox)
        let outbox = OutboxRow(event, shards: shards).insertion
        statements.append(try Self.filled(outbox.statement.sql, ["gen_random_uuid()", ":shards", ":event"]))
        try write(setting + body(), .plain)
        try write(setting + "\\startpipeline\n" + body() + "\\endpipeline\n", .pipelined)
    }

    /// Replaces `$1` … by values.
    private static func filled(_ sql: String, _ values: [String]) throws -> String {
        var text = ""
        var rest = Substring(sql)
        while let dollar = rest.firstIndex(of: "$") {
            text += rest[..<dollar]
            rest = rest[rest.index(after: dollar)...]
            let digits = rest.prefix { $0.isNumber }
            guard let number = Int(digits), (1...values.count).contains(number) else {
                throw BenchmarkFailure("unexpected statement")
            }
            text += values[number - 1]
            rest = rest[digits.endIndex...]
        }
        return text + rest
    }

    private func write(_ text: String, _ form: Form) throws {
        try text.write(toFile: path(form), atomically: false, encoding: .utf8)
    }

    private func path(_ form: Form) -> String { "\(folder)/\(form.rawValue).pgbench" }

    /// Runs pgbench.
    /// - Returns: the transactions per second.
    func run(_ form: Form) async throws -> Double {
        let arguments = [
            "-n", "-M", "prepared", "-c", "\(clients)", "-j", "2", "-T", "\(seconds)", "-D", "shards=\(shards)", "-D",
            "event=\(event)", "-f", path(form), address,
        ]
        let command = "pgbench " + arguments.map(Shell.quoted).joined(separator: " ") + " 2>&1"
        let output = await onThread { Shell.output(of: command) }
        let lines = output.split(separator: "\n")
        guard let line = lines.first(where: { $0.hasPrefix("tps = ") }),
            let rate = line.dropFirst(6).split(separator: " ").first.flatMap({ Double($0) }), rate > 0
        else { throw BenchmarkFailure("pgbench failed: \(lines.last ?? "no output")") }
        return rate
    }
}
