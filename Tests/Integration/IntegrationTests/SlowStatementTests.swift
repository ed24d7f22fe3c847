import JSON
import LocalServers
import NIOHTTP1
import ProtocolClients
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

        mutation Nap($seconds: Float!) @auth(level: PUBLIC, insecureReason: "for tests") {
          _executeReturning(sql: "SELECT pg_sleep($1)::text AS slept", params: [$seconds])
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

    /// Each slow query runs into the timeout of 6 s: a read or a delivery that waited behind one would show it.
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

    /// Statements below every limit of slow ones. Where all wait for each other, 200 of them take some seconds.
    @Test(arguments: [(0.02, 1), (0.08, 1), (0.02, 20), (0.08, 20), (0.02, 200)])
    func queriesOfModerateLengthDelayNeitherReadsNorDeliveries(seconds: Double, clients: Int) async throws {
        try await withNode { address, _, database in
            try await compareRounds(address) { group in
                for _ in 0..<clients {
                    group.addTask {
                        while !Task.isCancelled {
                            _ = try? await API.get(address, "Sleep", ["seconds": .double(seconds)])
                        }
                    }
                }
                try await waitUntil("they run") { try await sleepers(database) >= 1 }
            }
        }
    }

    @Test(arguments: [1, 60])
    func longMutationsDelayNeitherMutationsNorDeliveries(clients: Int) async throws {
        try await withNode { address, _, database in
            try await compareRounds(address) { group in
                for _ in 0..<clients {
                    group.addTask {
                        while !Task.isCancelled { _ = try? await API.mutate(address, "Nap", ["seconds": 0.4]) }
                    }
                }
                try await waitUntil("they run") { try await sleepers(database) >= min(clients, 4) }
            }
        }
    }

    /// Expects most rounds of a neighbour beside others to take at most three times as long as without, and 100 ms for
    /// a busy machine.
    /// - Parameter startOthers: adds their tasks to a group, which is cancelled afterwards.
    private func compareRounds(
        _ address: ServerAddress, startOthers: (inout ThrowingTaskGroup<Void, any Error>) async throws -> Void
    ) async throws {
        let neighbour = try await Neighbour.connect(address)
        let quiet = try await neighbour.rounds(20, "quiet").sorted()
        try await withThrowingTaskGroup(of: Void.self) { group in
            try await startOthers(&group)
            let rounds = try await neighbour.rounds(20).sorted()
            #expect(rounds[14] < quiet[14] * 3 + .milliseconds(100), "\(rounds), quiet \(quiet)")
            #expect(rounds[19] < .seconds(5), "\(rounds)")
            group.cancelAll()
        }
    }

    /// Every live query is another one, so none shares a run with another; each takes longer than the timeout.
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

    /// Returns the longest of `count` rounds.
    func longestRound(of count: Int) async throws -> Duration { try await rounds(count).max() ?? .zero }

    /// Reads the lot, changes it and awaits the delivery, `count` times.
    /// - Returns: the times that this took.
    func rounds(_ count: Int, _ label: String = "beside slow ones") async throws -> [Duration] {
        let clock = ContinuousClock()
        var times: [Duration] = []
        for number in 0..<count {
            let start = clock.now
            #expect(try await API.get(address, "GetLot", ["id": lot]).status == 200)
            let text = "\(label) \(number)"
            let change: JSONObject = ["id": lot, "category": "Books", "description": .string(text)]
            #expect(try await API.mutate(address, "EditLot", change).status == 200)
            _ = try await subscriber.message {
                $0["payload"]?["data"]?["lot"]?["description"]?.stringValue == text
            }
            times.append(clock.now - start)
        }
        return times
    }
}
