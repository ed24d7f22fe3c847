import JSON
import LocalServers
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// Answers to load balancers while Postgres or Redis stays away, and the state of connected clients.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ReadinessTests {
    private func ready(_ address: ServerAddress) async throws -> (status: Int, reason: String?) {
        let answer = try await HTTPCall.send(.GET, address, path: "/readyz")
        return (answer.status, try JSONParser.parse(answer.body)["reason"]?.stringValue)
    }

    private func until(_ address: ServerAddress, _ status: Int) async throws -> String? {
        try await waitFor("/readyz with \(status)") {
            let answer = try await ready(address)
            return answer.status == status ? .some(answer.reason) : .none
        }
    }

    private func metric(_ admin: ServerAddress, _ name: String) async throws -> Double? {
        let text = String(
            decoding: try await HTTPCall.send(.GET, admin, path: "/metrics").body, as: UTF8.self)
        let line = text.split(whereSeparator: \.isNewline).first {
            $0.hasPrefix(name + " ") || $0.hasPrefix(name + "{")
        }
        return line?.split(separator: " ").last.flatMap { Double($0) }
    }

    @Test func aServerStaysAway() async throws {
        try await Cluster.with { cluster in
            let settings = ["cluster.unreadyAfterMs=3000"]
            let api = try await cluster.start(roles: "api,admin", settings: settings)
            let worker = try await cluster.start(roles: "worker,admin", settings: settings)
            let gateway = try await cluster.start(roles: "gateway,api,admin", settings: settings)
            let patient = try await cluster.start(roles: "gateway", settings: ["cluster.unreadyAfterMs=0"])
            let list = try JSONParser.parse(
                try await API.get(api.address, "ListLots", ["category": "Hi-Fi"]).body)
            let id = try #require(list["data"]?["lots"]?[0]?["id"]?.stringValue)
            let subscriber = try await Subscriber.connect(gateway.address)
            subscriber.subscribe("GetLot", ["id": .string(id)], id: "one")
            _ = try await subscriber.data(id: "one")
            func update(_ description: String) async throws {
                let answer = try await API.mutate(
                    api.address, "EditLot",
                    ["id": .string(id), "category": "Hi-Fi", "description": .string(description)])
                #expect(answer.status == 200, "\(answer.body)")
            }
            func shown(_ description: String) async throws {
                _ = try await subscriber.data(id: "one") { $0["lot"]?["description"]?.stringValue == description }
            }

            // Redis: mutations continue, so their node stays ready.
            await cluster.servers.redis.crash()
            let reason = try #require(try await until(gateway.address, 503))
            #expect(reason.hasPrefix("Redis has not answered for "))
            #expect(try await until(#require(gateway.admin), 503)?.hasPrefix("Redis has not answered for ") == true)
            #expect(try await until(worker.address, 503)?.contains("Redis has") == true)
            #expect(try await ready(api.address).status == 200)
            #expect(try await ready(patient.address).status == 200)
            // Nobody can say how far the worker is behind: it does not say that it is not.
            #expect(try await metric(#require(worker.admin), "freshet_cluster_shards") == 16)
            let admin = try #require(worker.admin)
            try await waitUntil("a worker that is 10 s behind") {
                try await metric(admin, "freshet_worker_behind_seconds") ?? 0 >= 10
            }
            #expect(try await HTTPCall.send(.GET, gateway.address, path: "/healthz").status == 200)
            try await update("without Redis")
            try await cluster.servers.redis.restart()
            // The same session.
            try await shown("without Redis")
            for node in [gateway, worker] { _ = try await until(node.address, 200) }
            try await waitUntil("a worker that has caught up") {
                try await metric(admin, "freshet_worker_behind_seconds") ?? 10 <= 5
            }

            // Postgres: no mutation is possible, gateways keep what they have.
            await cluster.servers.postgres.crash()
            #expect(try await until(api.address, 503)?.hasPrefix("Postgres has not answered for ") == true)
            #expect(try await until(worker.address, 503)?.contains("Postgres has") == true)
            #expect(try await ready(gateway.address).status == 200)
            #expect(try await HTTPCall.send(.GET, api.address, path: "/healthz").status == 200)
            try await cluster.servers.postgres.restart()
            for node in [api, worker] { _ = try await until(node.address, 200) }
            try await update("Postgres is back")
            try await shown("Postgres is back")
        }
    }
}
