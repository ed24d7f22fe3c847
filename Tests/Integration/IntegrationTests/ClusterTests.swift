import Foundation
import JSON
import LocalServers
import NIOHTTP1
import ProtocolClients
import Testing

/// Freshet as its users run it: several processes, a real Postgres, a real Redis.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ClusterTests {
    @Test func apiWorkersAndGatewaysShareTheWork() async throws {
        try await Cluster.with { cluster in
            let api = try await cluster.start(roles: "api,admin")
            let workers = [try await cluster.start(roles: "worker"), try await cluster.start(roles: "worker")]
            let gateways = [try await cluster.start(roles: "gateway"), try await cluster.start(roles: "gateway")]

            // One live query, followed on both gateways; another one beside it.
            let list = try JSONParser.parse(
                try await API.get(api.address, "ListLots", ["category": "Hi-Fi"]).body)
            let lot = try #require(list["data"]?["lots"]?[0])
            let id = try #require(lot["id"]?.stringValue)
            var subscribers: [Subscriber] = []
            for gateway in gateways {
                let subscriber = try await Subscriber.connect(gateway.address)
                subscriber.subscribe("ListLots", ["category": "Hi-Fi"], id: "list")
                subscriber.subscribe("GetLot", ["id": .string(id)], id: "one")
                _ = try await subscriber.data(id: "list")
                subscribers.append(subscriber)
            }

            func update(_ description: String) async throws {
                let answer = try await API.mutate(
                    api.address, "EditLot",
                    ["id": .string(id), "category": "Hi-Fi", "description": .string(description)])
                #expect(answer.status == 200, "\(answer.body)")
            }
            func isShown(_ description: String) -> @Sendable (JSONValue) -> Bool {
                { data in data["lot"]?["description"]?.stringValue == description }
            }

            try await update("first")
            for subscriber in subscribers { _ = try await subscriber.data(id: "one", where: isShown("first")) }

            // A worker dies: the other takes its shards and every subscriber still gets the final state.
            await workers[0].process.crash()
            try await update("second")
            for subscriber in subscribers { _ = try await subscriber.data(id: "one", where: isShown("second")) }

            // A worker leaves in order.
            let third = try await cluster.start(roles: "worker")
            _ = third
            #expect(await workers[1].process.terminate() == 0)
            try await update("third")
            for subscriber in subscribers { _ = try await subscriber.data(id: "one", where: isShown("third")) }

            // Redis loses everything.
            await cluster.servers.redis.crash()
            try await update("while Redis is away")
            try await cluster.servers.redis.restart()
            for subscriber in subscribers {
                _ = try await subscriber.data(id: "one", where: isShown("while Redis is away"))
            }

            // Postgres dies and comes back.
            await cluster.servers.postgres.crash()
            try await cluster.servers.postgres.restart()
            var status = 0
            while status != 200 {
                status = try await API.mutate(
                    api.address, "EditLot", ["id": .string(id), "category": "Hi-Fi", "description": "after Postgres"]
                ).status
            }
            for subscriber in subscribers {
                _ = try await subscriber.data(id: "one", where: isShown("after Postgres"))
            }

            // A gateway that drains tells its sessions to come back elsewhere.
            #expect(await gateways[0].process.terminate() == 0)
            #expect(await subscribers[0].closeCode() == 1001)
        }
    }

    @Test func wrongShardCountRefusesToStart() async throws {
        try await Cluster.with { cluster in
            _ = try await cluster.start(roles: "api")
            let other = try FreshetProcess(
                [
                    "serve", SampleProject.path, "--roles", "worker", "--set", "http.port=0", "--set",
                    "cluster.shardCount=17",
                ],
                environment: [
                    "FRESHET_POSTGRES_URL": cluster.servers.postgres.connectionString,
                    "FRESHET_REDIS_URL": cluster.servers.redis.url,
                ])
            #expect(await other.waitForExit() == 1)
            #expect(other.output.contains("cluster.shardCount is 17"))
        }
    }

    /// `drain.delayMs`: load balancers learn of it before all others, and the node's metrics show it too.
    @Test func leavingNodeServesUntilTheDelayIsOver() async throws {
        try await Cluster.with { cluster in
            let adminPort = try #require(Addresses.freeLoopbackPort())
            let node = try await cluster.start(
                roles: "api,worker,gateway,admin", settings: ["drain.delayMs=60s", "admin.port=\(adminPort)"])
            let admin = try ServerAddress("http://127.0.0.1:\(adminPort)")
            func metrics() async throws -> String {
                String(decoding: try await HTTPCall.send(.GET, admin, path: "/metrics").body, as: UTF8.self)
            }
            let subscriber = try await Subscriber.connect(node.address)
            subscriber.subscribe("ListLots", ["category": "Hi-Fi"])
            _ = try await subscriber.data()
            let before = try await metrics()
            for line in [
                "freshet_ready 1", "freshet_sessions 1", "freshet_worker_behind_seconds 0",
                "freshet_worker_condition_errors 0", "freshet_peers_cut_off 0",
                "freshet_build_info{roles=\"admin,api,gateway,worker\",version=\"0.1.0\"} 1",
            ] {
                #expect(before.contains("\n\(line)\n"), "\(line)")
            }
            for use in ["query", "refresh", "transaction", "session"] {
                let line = #/\nfreshet_postgres_connections_open\{tier="fast",use="(\w+)"\} [1-9]/#
                #expect(before.matches(of: line).contains { $0.1 == use }, "\(use)")
            }
            for match in before.matches(of: #/[#] TYPE ([a-z_]+) /#) {
                #expect(before.contains("# HELP \(match.1) "), "\(match.1) has no description")
            }

            node.process.signal(SIGTERM)
            while try await HTTPCall.send(.GET, node.address, path: "/readyz").status == 200 { await Task.yield() }
            #expect(try await metrics().contains("\nfreshet_ready 0\n"))
            // A client that does not know of the drain yet is served as before.
            #expect(try await API.get(node.address, "ListLots", ["category": "Books"]).status == 200)
            let late = try await Subscriber.connect(node.address)
            late.subscribe("ListLots", ["category": "Books"])
            _ = try await late.data()
            // A second signal ends the wait.
            #expect(await node.process.terminate() == 130)
        }
    }
}
