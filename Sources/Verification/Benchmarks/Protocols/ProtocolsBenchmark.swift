import CBroadcaster
import Broker
import Streams
import LiveModel
import LocalServers
import Node
import Postgres
import Settings

/// Measures the cost of one result to thousands of sessions over each protocol, and the memory of an idle session.
///
/// One node with every role; all sessions follow the same live query. A round is one committed mutation; the next
/// begins when the last client has its result. The CPU time is that of this process, so it includes the mutation, its
/// event and the one run, divided by the number of sessions.
package enum ProtocolsBenchmark {
    private struct Cost {
        var cpuSecondsPerMillion = Double.infinity
        var deliveriesPerSecond = 0.0
    }

    /// - Parameter kinds: the protocols to measure; empty for all.
    package static func fanout(
        _ clients: ClientGroup, project: String, kinds: [ClientKind], sessions: Int?, isQuick: Bool
    ) async throws -> [BenchmarkResult] {
        let sessions = sessions ?? (isQuick ? 1_000 : 5_000)
        let (rounds, passes) = isQuick ? (15, 1) : (30, 3)
        let kinds = kinds.isEmpty ? ClientKind.allCases : kinds
        var costs: [ClientKind: Cost] = [:]
        try await PrivateServers.with(project: project, isDurable: false) { servers in
            try await servers.withPool { pool in
                for _ in 0..<passes {
                    for kind in kinds {
                        let cost = try await naming(kind) {
                            try await withNode(servers, pool) { address, lot, writer in
                                try await measure(
                                    clients, kind.script(lot: lot), sessions: sessions, rounds: rounds,
                                    address.publicPort, writer)
                            }
                        }
                        if cost.cpuSecondsPerMillion < (costs[kind] ?? Cost()).cpuSecondsPerMillion {
                            costs[kind] = cost
                        }
                    }
                }
            }
        }
        return report(kinds.compactMap { kind in costs[kind].map { (kind, $0) } }, sessions: sessions, rounds: rounds)
    }

    private static func naming<T>(_ kind: ClientKind, _ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch {
            throw BenchmarkFailure("\(kind.rawValue): \(error)")
        }
    }

    private static func measure(
        _ clients: ClientGroup, _ script: ClientScript, sessions: Int, rounds: Int, _ port: Int, _ writer: WriterNode
    ) async throws -> Cost {
        try clients.connect(script, count: sessions, port: port)
        try await round(clients, writer, 0)
        let (cpu, start) = (cb_own_cpu_us(), Clock.now)
        for number in 1...rounds { try await round(clients, writer, number) }
        let (used, seconds) = (cb_own_cpu_us() - cpu, Clock.now - start)
        try clients.disconnect()
        let deliveries = Double(sessions * rounds)
        return Cost(cpuSecondsPerMillion: Double(used) / deliveries, deliveriesPerSecond: deliveries / seconds)
    }

    static func round(_ clients: ClientGroup, _ writer: WriterNode, _ number: Int) async throws {
        _ = try await writer.write(description(number))
        try clients.awaitResult()
    }

    /// Makes a result of about 1 KiB with the mark that the clients count.
    private static func description(_ number: Int) -> String { "\(number) " + String(repeating: "7", count: 850) + "§" }

    /// Runs with a fresh node, so that nothing is left over from other sessions.
    static func withNode<T: Sendable>(
        _ servers: PrivateServers, _ pool: PostgresPool,
        _ body: (ServiceNode.Address, String, WriterNode) async throws -> T
    ) async throws -> T {
        let settings = Settings(profile: .dev)
        let broker = try RedisBroker(
            try RedisConfiguration(url: servers.redis.url), keys: try Keys(namespace: settings.cluster.namespace),
            name: "bench", logger: PrivateServers.quiet)
        let lot = try await servers.lotIDs(pool, 1)[0]
        let writer = try WriterNode(servers, pool, broker, shardCount: settings.cluster.shardCount, id: lot)
        let outcome: Result<T, any Error>
        do {
            outcome = .success(
                try await servers.withNode(
                    roles: Set(Role.allCases),
                    adjust: {
                        $0.gateway.acceptPerSecond = 0
                        $0.gateway.initTimeoutMs = 60_000
                        // The clients answer nothing, not even pings, and all poll at once.
                        $0.gateway.pingIntervalMs = 3_600_000
                        $0.api.requestsInFlightMax = 100_000
                    }
                ) { address in
                    // A result that differs from the first round's.
                    _ = try await writer.write(description(-1))
                    return try await body(address, lot, writer)
                })
        } catch {
            outcome = .failure(error)
        }
        await broker.close()
        return try outcome.get()
    }

    private static func report(_ costs: [(kind: ClientKind, cost: Cost)], sessions: Int, rounds: Int)
        -> [BenchmarkResult]
    {
        let sockets = costs.filter(\.kind.isWebSocket).map(\.cost.cpuSecondsPerMillion)
        guard let fastest = sockets.min() ?? costs.map(\.cost.cpuSecondsPerMillion).min() else { return [] }
        print(
            Text.table(
                [["\(Text.grouped(sessions)) sessions, \(rounds) rounds", "CPU s per million", "deliveries"]]
                    + costs.map {
                        [
                            $0.kind.rawValue, Text.fixed($0.cost.cpuSecondsPerMillion),
                            Text.rate($0.cost.deliveriesPerSecond),
                        ]
                    }))
        return costs.map { kind, cost in
            BenchmarkResult(
                name: "\(kind.rawValue): CPU of the fastest WebSocket protocol / its own",
                measured: "\(Text.fixed(fastest)) / \(Text.fixed(cost.cpuSecondsPerMillion)) s per million",
                ratio: fastest / cost.cpuSecondsPerMillion,
                limit: kind.costMin.map { .atLeast($0) } ?? .none)
        }
    }

    /// Measures the growth of the resident set for each of many sessions that have their first result and wait.
    package static func idle(
        _ clients: ClientGroup, project: String, kinds: [ClientKind], sessions: Int?, isQuick: Bool
    ) async throws -> [BenchmarkResult] {
        let sessions = sessions ?? (isQuick ? 2_000 : 10_000)
        return try await PrivateServers.with(project: project, isDurable: false) { servers in
            try await servers.withPool { pool in
                var results: [BenchmarkResult] = []
                for kind in kinds.isEmpty ? ClientKind.allCases : kinds {
                    let kib = try await naming(kind) {
                        try await withNode(servers, pool) { address, lot, _ in
                            try await idleKiB(
                                clients, kind.script(lot: lot), sessions: sessions, address.publicPort)
                        }
                    }
                    results.append(
                        BenchmarkResult(
                            name: "\(kind.rawValue): memory of each of \(Text.grouped(sessions)) idle sessions",
                            measured: "\(Text.fixed(kib)) KiB", ratio: kib / kind.idleKiBMax,
                            limit: kind == .longPoll ? .none : .atMost(1)))
                }
                return results
            }
        }
    }

    private static func idleKiB(
        _ clients: ClientGroup, _ script: ClientScript, sessions: Int, _ port: Int
    ) async throws -> Double {
        // The first sessions of a kind create shared state that must not count.
        try clients.connect(script, count: 100, port: port)
        try clients.disconnect()
        try await Task.sleep(for: .milliseconds(300))
        cb_trim_memory()
        let before = cb_own_resident_bytes()
        try clients.connect(script, count: sessions, port: port)
        try await Task.sleep(for: .milliseconds(500))
        let grown = Double(Int(cb_own_resident_bytes()) - Int(before)) / 1024
        try clients.disconnect()
        return grown / Double(sessions)
    }
}

extension ClientKind {
    /// The CPU of the fastest WebSocket protocol over its own, at least; nil: long-polls are held to nchan (`peers`).
    fileprivate var costMin: Double? {
        switch self {
        case .longPoll: nil
        case .grpc: BenchmarkLimits.gRPCOverFastestMin
        default: BenchmarkLimits.protocolOverFastestMin
        }
    }

    fileprivate var idleKiBMax: Double {
        self == .grpc ? BenchmarkLimits.idleGRPCConnectionKiBMax : BenchmarkLimits.idleConnectionKiBMax
    }
}
