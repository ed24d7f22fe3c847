import CBenchmarks
import Catalog
import Execution
import Foundation
import JSON
import LiveModel
import LocalServers
import NIOCore
import NIOHTTP1
import NIOPosix
import Node
import Postgres
import ProtocolClients
import SchemaModel
import Settings

/// Measures what clients with slow statements cost all others: reads and deliveries of one node with default settings,
/// alone and beside 1 and 20 clients whose queries take long: of callers that repeat them, and of followers that
/// subscribe to them.
///
/// All clients are signed out and share an address, so that only the duration of their statements distinguishes them.
package enum NeighboursBenchmark {
    /// A slow query, as a project may have by mistake.
    private enum SlowQuery: CaseIterable {
        /// Waits in Postgres and uses no CPU, so that only Freshet's queues are measured.
        case sleep
        /// The same for so short a time that no run is slow by itself.
        case nap20, nap80
        /// Matches a million texts against a regular expression: about a second of CPU, which everything else on the
        /// machine then lacks.
        case pattern

        var operation: String { self == .pattern ? "Match" : "Sleep" }

        /// - Parameter number: makes a live query that differs from others.
        func variables(_ number: Int = 0) -> JSONObject {
            switch self {
            case .sleep: ["seconds": .double(60 + Double(number) / 1_000)]
            case .nap20: ["seconds": 0.02]
            case .nap80: ["seconds": 0.08]
            case .pattern: ["pattern": .string(#"^(.*)(.*)\1x\2$|y"# + "\(number)")]
            }
        }

        var label: String {
            switch self {
            case .sleep: "pg_sleep"
            case .nap20: "pg_sleep of 20 ms"
            case .nap80: "pg_sleep of 80 ms"
            case .pattern: "regular expression"
            }
        }

        /// The first is quiet. A follower's query of fixed length runs once.
        var crowds: [(client: SlowClient, count: Int)] {
            let callers: [(SlowClient, Int)] = [(.caller, 0), (.caller, 1), (.caller, 20)]
            return switch self {
            case .sleep, .pattern: callers + [(.follower, 1), (.follower, 20)]
            case .nap20, .nap80: callers
            }
        }
    }

    private enum SlowClient: String, CaseIterable {
        case caller, follower
    }

    /// The slow live queries of one follower, all different.
    private static let followedMax = 8

    private static let operations = SourceFile(
        path: "slow.gql",
        text: """
            query Sleep($seconds: Float!) @auth(level: PUBLIC, insecureReason: "for this benchmark") {
              _select(sql: "SELECT pg_sleep($1)::text AS slept", params: [$seconds])
            }

            query Match($pattern: String!) @auth(level: PUBLIC, insecureReason: "for this benchmark") {
              _select(
                sql: "SELECT count(*)::int FROM generate_series(1, 1000000) AS i WHERE md5(i::text) ~ $1"
                params: [$pattern]
              )
            }
            """)

    private struct Latencies {
        var deliveries = Samples()
        var reads = cbench_http_outcome()
    }

    package static func run(project: String, isQuick: Bool) async throws -> [BenchmarkResult] {
        try await PrivateServers.with(project: project, adding: operations) { servers in
            let ids = try await servers.withPool { try await servers.lotIDs($0, 100) }
            var rows = [["beside", "of", "deliveries median", "p99", "reads median", "p99", "slow ones answered"]]
            var results: [BenchmarkResult] = []
            for query in SlowQuery.allCases {
                var quiet: Latencies?
                for (client, clients) in query.crowds {
                    // A node of its own for each, so that nothing is known of earlier ones.
                    let (measured, answers) = try await servers.withNode(roles: Set(Role.allCases)) { address in
                        try await beside(
                            query, client, clients: clients, ServerAddress(host: "127.0.0.1", port: address.publicPort)
                        ) {
                            try await measure(address, ids, isQuick: isQuick)
                        }
                    }
                    rows.append([
                        clients == 0 ? "quiet" : "\(clients) \(client.rawValue)s", query.label,
                        Text.milliseconds(measured.deliveries.median),
                        Text.milliseconds(measured.deliveries.p99), Text.milliseconds(measured.reads.median),
                        Text.milliseconds(measured.reads.p99), answers,
                    ])
                    guard let quiet else {
                        quiet = measured
                        continue
                    }
                    let name = "beside \(clients) \(client.rawValue)\(clients == 1 ? "" : "s") of a slow \(query.label)"
                    results += [
                        result("deliveries \(name)", measured.deliveries.p99, quiet.deliveries.p99),
                        result("reads \(name)", measured.reads.p99, quiet.reads.p99),
                    ]
                }
            }
            print(Text.table(rows))
            return results
        }
    }

    private static func result(_ name: String, _ p99: Double, _ quiet: Double) -> BenchmarkResult {
        BenchmarkResult(
            name: "p99 of \(name) / quiet", measured: "\(Text.milliseconds(p99)) / \(Text.milliseconds(quiet))",
            ratio: p99 / quiet, limit: .atMost(BenchmarkLimits.besideSlowClientsMax))
    }

    // MARK: Slow clients

    private static func beside<T: Sendable>(
        _ query: SlowQuery, _ client: SlowClient, clients: Int, _ address: ServerAddress, _ body: () async throws -> T
    ) async throws -> (T, answers: String) {
        try await withThrowingTaskGroup(of: [Int: Int].self) { group in
            for number in 0..<clients {
                group.addTask {
                    switch client {
                    case .caller: await repeats(query, address)
                    case .follower: await follows(query, address, from: number * followedMax)
                    }
                }
            }
            // Wait until the first statements are classified as slow or fast.
            if clients > 0 { try await Task.sleep(for: .seconds(1)) }
            let measured = try await body()
            group.cancelAll()
            var answers: [Int: Int] = [:]
            while let counts = try await group.next() { answers.merge(counts, uniquingKeysWith: +) }
            let text = answers.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }.joined(separator: ", ")
            return (measured, text)
        }
    }

    /// Sends the query again after each answer, and after a pause when it was refused. Counts the answers' statuses.
    private static func repeats(_ query: SlowQuery, _ address: ServerAddress) async -> [Int: Int] {
        let variables = JSONWriter.compact(.object(query.variables()))
        var encoded = ""
        for byte in variables { encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16) }
        let path = "/v1/connectors/auctions/queries/\(query.operation)?variables=\(encoded)"
        var counts: [Int: Int] = [:]
        while !Task.isCancelled {
            let running = Task { try? await HTTPCall.send(.GET, address, path: path, timeoutMs: 20_000).status }
            let status = await withTaskCancellationHandler {
                await running.value
            } onCancel: {
                running.cancel()
            }
            guard let status, !Task.isCancelled else { continue }
            counts[status, default: 0] += 1
            if status != 200 { try? await Task.sleep(for: .seconds(1)) }
        }
        return counts
    }

    /// Subscribes to slow live queries until cancelled.
    private static func follows(_ query: SlowQuery, _ address: ServerAddress, from first: Int) async -> [Int: Int] {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        if let socket = try? await SocketClient.connect(address, group) {
            for number in first..<(first + followedMax) {
                socket.subscribe(query.operation, query.variables(number), operationID: "\(number)")
                try? await Task.sleep(for: .milliseconds(5))
            }
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(1)) }
            socket.close()
        }
        try? await group.shutdownGracefully()
        return [:]
    }

    // MARK: The others

    private static func measure(
        _ address: ServiceNode.Address, _ ids: [String], isQuick: Bool
    ) async throws -> Latencies {
        let server = ServerAddress(host: "127.0.0.1", port: address.publicPort)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let subscriber = try await SocketClient.connect(server, group)
        let caller = try await SocketClient.connect(server, group)
        subscriber.subscribe("GetLot", ["id": .string(ids[0])], operationID: "live")
        _ = try await subscriber.next()
        var latencies = Latencies()
        for round in 0..<(isQuick ? 300 : 500) {
            try await Task.sleep(for: .milliseconds(Int.random(in: 30...50)))
            let sent = Clock.now
            caller.subscribe(
                "EditLot",
                ["id": .string(ids[0]), "category": "Books", "description": .string("round \(round)")],
                operationID: "m\(round)")
            latencies.deliveries.add(try await subscriber.next() - sent)
            _ = try await caller.next()
        }
        subscriber.close()
        caller.close()
        try await group.shutdownGracefully()
        let requests = ids.map { id in
            "GET /v1/connectors/auctions/queries/GetLot?variables=%7B%22id%22%3A%22\(id)%22%7D HTTP/1.1\r\n"
                + "Host: 127.0.0.1\r\n\r\n"
        }
        latencies.reads = try await HTTPCallers.run(
            port: address.publicPort, requests, callers: 4, seconds: isQuick ? 3 : 10)
        return latencies
    }
}
