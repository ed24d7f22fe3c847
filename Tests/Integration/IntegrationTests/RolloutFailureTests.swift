import Catalog
import Foundation
import JSON
import LiveModel
import LocalServers
import Logging
import Postgres
import ProjectFolder
import ProtocolClients
import Sharding
import Testing

/// Deployments while nodes are suspended, Redis loses its data, tables are locked, or two operators deploy at once.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct RolloutFailureTests {
    private static let quick = ["deploy.pollMs=100ms"]
    /// Looks at its start, and when it takes a shard; not by itself.
    private static let unaware = ["deploy.pollMs=10m"]

    /// A query that EditLot refreshes, on a shard that gets no EditLot by the sample's own rules.
    private static func hiddenQuery() throws -> String {
        let mutation = OperationReference(connector: "auctions", operation: "EditLot")
        func shards(_ query: OperationReference) -> [ShardID] {
            ShardRouting.shards(of: query, splits: 1, shardCount: 16)
        }
        let catalog = try Catalog.compile(try ProjectFolder.load(SampleProject.path))
        let addressed = Set(catalog.queriesRefreshed(by: mutation).flatMap(shards))
        let name = (0..<1_000).lazy.map { "Fresh\($0)" }.first {
            addressed.isDisjoint(with: shards(OperationReference(connector: "auctions", operation: $0)))
        }
        return try #require(name, "every shard hears of EditLot")
    }

    private static func adding(_ query: String) -> [(file: String, from: String, to: String)] {
        [
            (
                "connector/queries.gql", "query GetLot(",
                """
                query \(query)($id: UUID!) @auth(level: PUBLIC, insecureReason: "test")
                  @refresh(onMutationExecuted: {operation: "EditLot"}) {
                  lots(where: {id: {eq: $id}}) { description }
                }

                query GetLot(
                """
            )
        ]
    }

    private static func describe(_ address: ServerAddress, _ lot: String, _ text: String) async throws {
        let answer = try await API.mutate(
            address, "EditLot", ["id": .string(lot), "category": "Hi-Fi", "description": .string(text)])
        #expect(answer.status == 200, "\(answer.body)")
    }

    /// Fails on an error message: a subscription that ends is no refresh.
    private static func sees(_ subscriber: Subscriber, _ text: String) async throws {
        let message = try await subscriber.message { message in
            message["type"]?.stringValue == "error"
                || message["payload"]?["data"]?["lots"]?[0]?["description"]?.stringValue == text
        }
        #expect(message["type"]?.stringValue == "next", "\(message)")
    }

    @Test func suspendedNodesHideNothing() async throws {
        try await Cluster.with { cluster in
            let gateway = try await cluster.start(roles: "api,gateway", settings: Self.quick)
            let worker = try await cluster.start(roles: "worker", settings: Self.quick)
            let lateAPI = try await cluster.start(roles: "api", settings: Self.unaware)
            let lateWorker = try await cluster.start(roles: "worker", settings: Self.unaware)
            let lot = try await RolloutTests.aLot(gateway.address)
            let query = try Self.hiddenQuery()
            let next = try RolloutTests.project(cluster, "next", Self.adding(query))

            // Two are suspended: the deployment waits until their entries end, and no other one starts meanwhile.
            lateAPI.process.signal(SIGSTOP)
            lateWorker.process.signal(SIGSTOP)
            let first = try RolloutTests.deploying(cluster, [next])
            _ = try await first.line(containing: "announced")
            let second = try await RolloutTests.deploy(cluster, [next])
            #expect(second.code == 1)
            #expect(second.output.contains("another deployment is under way"), "\(second.output)")
            #expect(await first.waitForExit() == 0)
            #expect(first.output.contains("deployed; 2 nodes serve it"), "\(first.output)")

            let subscriber = try await Subscriber.connect(gateway.address)
            subscriber.subscribe(query, ["id": .string(lot)])
            _ = try await subscriber.data()

            // The API node continues with the rules that it had. Its event reaches the new query all the same.
            lateAPI.process.signal(SIGCONT)
            #expect(try await API.get(lateAPI.address, query, ["id": .string(lot)]).status == 404)
            let start = ContinuousClock.now
            try await Self.describe(lateAPI.address, lot, "by a node that knows nothing")
            try await Self.sees(subscriber, "by a node that knows nothing")
            // By another node's sweeper, and not by what runs everything again now and then.
            #expect(ContinuousClock.now - start < .seconds(20))

            // The worker gets every shard, and must not refuse what it had not heard of.
            lateWorker.process.signal(SIGCONT)
            #expect(await worker.process.terminate() == 0)
            try await Self.describe(gateway.address, lot, "run by the late worker")
            try await Self.sees(subscriber, "run by the late worker")
        }
    }

    @Test func redisWithoutItsDataMakesNoClusterLookEmpty() async throws {
        try await Cluster.with { cluster in
            // Long enough for a reader of the list of nodes to find it empty.
            let slow = ["cluster.heartbeatMs=2s", "cluster.nodeTtlMs=6s"]
            let node = try await cluster.start(roles: "api,worker,gateway", settings: Self.quick + slow)
            let late = try await cluster.start(roles: "api", settings: Self.unaware + slow + ["cluster.nodeId=late"])
            let lot = try await RolloutTests.aLot(node.address)
            let query = try Self.hiddenQuery()
            let next = try RolloutTests.project(cluster, "next", Self.adding(query))
            let arguments = [next] + slow.flatMap { ["--set", $0] }

            // The list is empty until the nodes renew their entries. One of them does not load the version: nothing
            // becomes current, and no request gets it.
            for process in [node.process, late.process] { process.signal(SIGSTOP) }
            _ = await cluster.servers.redis.command("FLUSHALL")
            let refused = try RolloutTests.deploying(cluster, arguments + ["--timeout", "8"])
            _ = try await refused.line(containing: "announced")
            for process in [node.process, late.process] { process.signal(SIGCONT) }
            #expect(await refused.waitForExit() == 1)
            #expect(refused.output.contains("these nodes do not load it: late"), "\(refused.output)")
            #expect(refused.output.contains("nothing else changed"), "\(refused.output)")
            #expect(try await API.get(node.address, query, ["id": .string(lot)]).status == 404)

            await late.process.crash()
            let deployed = try await RolloutTests.deploy(cluster, arguments)
            #expect(deployed.code == 0, "\(deployed.output)")
            #expect(deployed.output.contains("deployed; 1 node serves it"), "\(deployed.output)")

            // Deployments are not stored in Redis.
            await cluster.servers.redis.crash()
            try await cluster.servers.redis.restart()
            let other = try await cluster.start(roles: "api", settings: Self.quick + slow)
            for address in [node.address, other.address] {
                #expect(try await API.get(address, query, ["id": .string(lot)]).status == 200)
            }
            let subscriber = try await Subscriber.connect(node.address)
            subscriber.subscribe(query, ["id": .string(lot)])
            try await Self.describe(other.address, lot, "after the loss")
            try await Self.sees(subscriber, "after the loss")
        }
    }

    @Test func databaseThatIsInTheWay() async throws {
        try await Cluster.with { cluster in
            _ = try await cluster.start(roles: "api,worker,gateway", settings: Self.quick)
            let pool = PostgresPool(
                configuration: PostgresConfiguration(connectionString: cluster.servers.postgres.connectionString),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            try await pool.start()
            defer { Task { await pool.stop() } }
            let second = try RolloutTests.project(cluster, "second", RolloutTests.second)

            // A long transaction has a table: new statements must not pile up behind the deployment.
            try await pool.withSession { session in
                try await session.begin()
                try await session.execute("LOCK TABLE lot IN ACCESS SHARE MODE")
                let blocked = try await RolloutTests.deploy(
                    cluster, [second, "--set", "deploy.lockTimeoutMs=200ms"])
                #expect(blocked.code == 1)
                #expect(blocked.output.contains("a table could not be locked within 200 ms"), "\(blocked.output)")
                try await session.rollback()
            }

            // A foreign column that every insert would have to fill.
            try await pool.script("ALTER TABLE lot ADD COLUMN audit text NOT NULL DEFAULT ''")
            try await pool.script("ALTER TABLE lot ALTER COLUMN audit DROP DEFAULT")
            let failing = try await RolloutTests.deploy(cluster, [second])
            #expect(failing.code == 1)
            #expect(failing.output.contains("lot.audit"), "\(failing.output)")
            #expect(failing.output.contains("operations would fail"), "\(failing.output)")
            try await pool.script("ALTER TABLE lot DROP COLUMN audit")

            // While a migration is under way, the deployment says what it waits for.
            try await pool.withSession { session in
                try await session.execute("SELECT pg_advisory_lock(hashtextextended('freshet.migration', 0))")
                let deploying = try RolloutTests.deploying(cluster, [second])
                _ = try await deploying.line(containing: "another migration is under way (pid ")
                try await session.execute("SELECT pg_advisory_unlock(hashtextextended('freshet.migration', 0))")
                #expect(await deploying.waitForExit() == 0, "\(deploying.output)")
            }
        }
    }
}
