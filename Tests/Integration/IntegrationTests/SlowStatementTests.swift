import FreshetClient
import JSON
import LocalServers
import NIOHTTP1
import TestSupport
import Testing

/// Clients with slow statements beside others, with the default connections to Postgres.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct SlowStatementTests: SampleProjectTests {
    /// Each run takes as long as its client says.
    private static let slowOperations = """

        query Sleep($seconds: Float!) @auth(level: PUBLIC, insecureReason: "for tests") {
          _select(sql: "SELECT pg_sleep($1)::text AS slept", params: [$seconds])
        }
        """

    private func withNode(
        settings: [String] = [],
        _ body: (_ address: ServerAddress, _ admin: AdminClient, _ database: String) async throws -> Void
    ) async throws {
        try await withProject { project, _ in
            try append(Self.slowOperations, to: project + "/connector/queries.gql")
            try await Cluster.with(project: project) { cluster in
                let node = try await cluster.start(
                    roles: "api,worker,gateway,admin", settings: ["postgres.statementTimeoutMs=6000"] + settings)
                try await body(
                    node.address, try await AdminClient(node.process), cluster.servers.postgres.connectionString)
            }
        }
    }

    private func count(_ name: String, _ admin: AdminClient) async throws -> Int {
        let metrics = try await HTTPCall.send(.GET, admin.address, path: "/metrics").body
        let line = String(decoding: metrics, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix("freshet_postgres_slow_statements_\(name){kind=\"query\"} ") }
        return try #require(Int(line?.split(separator: " ").last ?? ""), "\(line ?? "no metric")")
    }

    /// Returns the number of slow queries that Postgres executes.
    private func sleepers(_ database: String) async throws -> Int {
        let query = """
            SELECT 'sleepers ' || count(*) FROM pg_stat_activity
            WHERE wait_event = 'PgSleep' AND pid <> pg_backend_pid()
            """
        let psql = try FreshetProcess(["-Atc", query, database], executable: "/usr/bin/psql")
        let line = try await psql.line(containing: "sleepers")
        _ = await psql.waitForExit()
        return try #require(Int(line.split(separator: " ").last ?? ""))
    }

    /// Each slow query runs into the time-out of 6 s: a read or a delivery that waited behind one would show it.
    @Test(arguments: [1, 20])
    func slowQueriesDelayNeitherReadsNorDeliveries(clients: Int) async throws {
        try await withNode { address, admin, database in
            let other = try await Neighbour.connect(address)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<clients {
                    group.addTask { _ = try await API.get(address, "Sleep", ["seconds": 60]) }
                }
                try await waitUntil("a slow statement runs") { try await sleepers(database) >= 1 }
                // A single one keeps a connection of its own without moving, since others choose another.
                if clients > 1 {
                    try await waitUntil("slow statements run apart") { try await count("running", admin) >= 1 }
                }
                let longest = try await other.longestRound(of: 20)
                #expect(longest < .seconds(5), "\(longest)")
                group.cancelAll()
            }
        }
    }

    /// Every live query is another one, so none shares a run with another; each takes longer than the time-out.
    @Test(arguments: [1, 20])
    func slowLiveQueriesDelayNeitherReadsNorDeliveries(clients: Int) async throws {
        try await withNode { address, _, database in
            let other = try await Neighbour.connect(address)
            var followers: [Subscriber] = []
            for client in 0..<clients {
                let follower = try await Subscriber.connect(address)
                for number in 0..<8 {
                    let seconds = JSONValue.double(60 + Double(client * 8 + number) / 1_000)
                    follower.subscribe("Sleep", ["seconds": seconds], id: "\(number)")
                }
                followers.append(follower)
            }
            try await waitUntil("a slow live query runs") { try await sleepers(database) >= 1 }
            let longest = try await other.longestRound(of: 20)
            #expect(longest < .seconds(5), "\(longest)")
            // They run one by one, and a newcomer of the same operation gets a result beside them.
            let newcomer = try await Subscriber.connect(address)
            newcomer.subscribe("Sleep", ["seconds": 0])
            _ = try await newcomer.data()
            #expect(try await sleepers(database) <= 2)
        }
    }

    @Test func burstOfSlowStatementsOfOneCallerDelaysNobodyElse() async throws {
        try await withNode { address, admin, _ in
            let other = try await Neighbour.connect(address)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<200 {
                    group.addTask { _ = try? await API.get(address, "Sleep", ["seconds": 60]) }
                }
                let longest = try await other.longestRound(of: 20)
                #expect(longest < .seconds(5), "\(longest)")
                try await waitUntil("the caller has as many as it may") { try await count("waiting", admin) == 64 }
                group.cancelAll()
            }
        }
    }

    @Test func oneCallerHasABoundOfSlowStatements() async throws {
        try await withNode(settings: ["postgres.slowQueuePerCallerMax=16"]) { address, admin, _ in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<40 {
                    group.addTask { try await API.get(address, "Sleep", ["seconds": 2]).status }
                }
                var statuses: [Int: Int] = [:]
                // Once the operation is known to be slow, 16 of them wait; the others are refused.
                while statuses[503, default: 0] < 10, let status = try await group.next() {
                    statuses[status, default: 0] += 1
                }
                group.cancelAll()
                return statuses
            }
            #expect(statuses[503, default: 0] >= 10, "\(statuses)")
            #expect(statuses.keys.allSatisfy { $0 == 200 || $0 == 503 }, "\(statuses)")
            #expect(try await count("refused", admin) >= 10)
        }
    }
}

/// A client that reads, changes and follows a lot beside slow ones.
private struct Neighbour {
    let address: ServerAddress
    let lot: JSONValue
    let subscriber: Subscriber

    static func connect(_ address: ServerAddress) async throws -> Neighbour {
        let lots = try JSONParser.parse(try await API.get(address, "ClosingSoon", [:]).body)
        let lot = try #require(lots["data"]?["lots"]?[0]?["id"])
        let subscriber = try await Subscriber.connect(address)
        subscriber.subscribe("GetLot", ["id": lot])
        _ = try await subscriber.data()
        return Neighbour(address: address, lot: lot, subscriber: subscriber)
    }

    /// Reads the lot, changes it and awaits the delivery, so many times.
    /// - Returns: the longest time that this took.
    func longestRound(of count: Int) async throws -> Duration {
        let clock = ContinuousClock()
        var longest = Duration.zero
        for number in 0..<count {
            let start = clock.now
            #expect(try await API.get(address, "GetLot", ["id": lot]).status == 200)
            let text = "beside slow ones \(number)"
            let change: JSONObject = ["id": lot, "category": "Books", "description": .string(text)]
            #expect(try await API.mutate(address, "EditLot", change).status == 200)
            _ = try await subscriber.message {
                $0["payload"]?["data"]?["lot"]?["description"]?.stringValue == text
            }
            longest = max(longest, clock.now - start)
        }
        return longest
    }
}
