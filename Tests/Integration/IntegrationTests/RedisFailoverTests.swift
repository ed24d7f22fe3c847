import Foundation
import JSON
import LocalServers
import NIOHTTP1
import ProtocolClients
import Testing

/// The whole service over Redis as it is run in production: a master that sentinels replace, and a Redis Cluster.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct RedisFailoverTests {
    /// One lot, followed on a gateway, while an API node changes it.
    private struct Scene {
        let api: ServerAddress
        let admin: ServerAddress
        let id: String
        let subscriber: Subscriber

        init(_ cluster: Cluster, settings: [String] = []) async throws {
            let first = try await cluster.start(roles: "api,admin", settings: settings)
            api = first.address
            admin = try #require(first.admin)
            _ = try await cluster.start(roles: "worker", settings: settings)
            _ = try await cluster.start(roles: "worker", settings: settings)
            let gateway = try await cluster.start(roles: "gateway", settings: settings)
            let list = try JSONParser.parse(try await API.get(api, "ListLots", ["category": "Hi-Fi"]).body)
            id = try #require(list["data"]?["lots"]?[0]?["id"]?.stringValue)
            subscriber = try await Subscriber.connect(gateway.address)
            subscriber.subscribe("GetLot", ["id": .string(id)], id: "one")
            _ = try await subscriber.data(id: "one")
        }

        func update(_ description: String) async throws {
            let answer = try await API.mutate(
                api, "EditLot", ["id": .string(id), "category": "Hi-Fi", "description": .string(description)])
            #expect(answer.status == 200, "\(answer.body)")
        }

        /// The addresses that the API node's readiness names.
        func redisAddresses() async throws -> [String] {
            let answer = try await HTTPCall.send(.GET, admin, path: "/readyz")
            let servers = try JSONParser.parse(answer.body)["redis"]?["servers"]
            var addresses: [String] = []
            while let address = servers?[addresses.count]?.stringValue { addresses.append(address) }
            return addresses
        }

        func shown(_ description: String) async throws {
            let isShown = try await withThrowingTaskGroup { group in
                group.addTask {
                    _ = try await subscriber.data(id: "one") { $0["lot"]?["description"]?.stringValue == description }
                    return true
                }
                group.addTask {
                    try await Task.sleep(for: .milliseconds(waitMs))
                    return false
                }
                defer { group.cancelAll() }
                return try await group.next() ?? false
            }
            if !isShown {
                throw WaitTimedOut(what: "“\(description)” is shown", state: "\(try await redisAddresses())")
            }
        }
    }

    /// The time for anything that servers and nodes do by themselves, on a machine that does much else.
    private static let waitMs = 60_000

    private struct WaitTimedOut: Error {
        let what: String
        let state: String
    }

    private func until(
        _ what: String, state: () async -> String = { "" }, _ holds: () async throws -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + .milliseconds(Self.waitMs)
        while try await !holds() {
            guard ContinuousClock.now < deadline else { throw WaitTimedOut(what: what, state: await state()) }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Certificates carry a name only, while masters and slots are given by their addresses: a server
    /// found that way must be reached over TLS, too, and checked by that name.
    private func options(isTLS: Bool, _ cluster: Cluster) async throws -> LocalRedisOptions {
        var options = LocalRedisOptions.forTests
        guard isTLS else { return options }
        let certificates = try Certificates(folder: cluster.servers.folder + "/certificates")
        options.tlsFolder = certificates.folder
        cluster.environment = certificates.environment
        return options
    }

    @Test(arguments: [false, true]) func sentinelsReplaceTheMaster(isTLS: Bool) async throws {
        try await Cluster.with { cluster in
            let redis = try await LocalRedisSentinels.start(
                dataDirectory: cluster.servers.folder + "/sentinels", replicaCount: 2,
                options: try await options(isTLS: isTLS, cluster))
            cluster.environment["FRESHET_REDIS_SENTINEL_ADDRESSES"] = redis.addresses.joined(separator: ",")
            cluster.environment["FRESHET_REDIS_SENTINEL_MASTER"] = LocalRedisSentinels.masterName
            do {
                let scene = try await Scene(cluster)
                try await scene.update("first")
                try await scene.shown("first")

                // kill -9, with mutations going on meanwhile.
                await redis.servers[0].crash()
                try await scene.update("without a master")
                try await scene.shown("without a master")
                // All sentinels must agree, not only one: a second failover may be under way.
                var agreed: LocalRedis?
                try await until("a master after the first", state: redis.report) {
                    agreed = await redis.master()
                    return try await scene.redisAddresses() == [agreed?.url]
                }
                let second = try #require(agreed)
                #expect(second !== redis.servers[0])
                try await scene.update("second master")
                try await scene.shown("second master")

                // The replica that is left gets nothing any more, then has to take over: what it never got is lost,
                // and is noticed as lost.
                let third = try #require(redis.servers.first { $0 !== second && $0 !== redis.servers[0] })
                try await until("the replica that is left follows", state: redis.report) {
                    let info = await third.command("INFO replication") ?? ""
                    // Two sentinels may have led a failover each, and then neither informs the master that lost.
                    if info.contains("role:master"), await redis.master() === second {
                        _ = await third.command("REPLICAOF \(second.host) \(second.port)")
                    }
                    return info.contains("master_port:\(second.port)") && info.contains("master_link_status:up")
                }
                third.freeze()
                try await scene.update("never replicated")
                try await scene.shown("never replicated")
                await second.crash()
                third.resume()
                try await until("the replica takes over", state: redis.report) { await redis.master() === third }
                try await scene.update("third master")
                try await scene.shown("third master")
            } catch {
                await redis.stop()
                throw error
            }
            await redis.stop()
        }
    }

    @Test(arguments: [false, true]) func clusterMovesSlotsAndReplacesPrimaries(isTLS: Bool) async throws {
        try await Cluster.with { cluster in
            let redis = try await LocalRedisCluster.start(
                dataDirectory: cluster.servers.folder + "/redis-cluster", hasReplicas: true,
                options: try await options(isTLS: isTLS, cluster))
            cluster.environment["FRESHET_REDIS_CLUSTER_ADDRESSES"] = redis.addresses.joined(separator: ",")
            do {
                let scene = try await Scene(cluster)
                try await scene.update("first")
                try await scene.shown("first")
                #expect(
                    try await Set(scene.redisAddresses())
                        == Set(redis.nodes.prefix(LocalRedisCluster.primaryCount).map(\.url)))

                // Every slot of one primary goes to another one.
                try await moveEverySlot(of: 0, to: 1, redis)
                try await scene.update("slots moved")
                try await scene.shown("slots moved")

                // kill -9 of a primary: its replica takes over. All shards' streams and the inbox are on two nodes by
                // now, so both are killed, one after the other.
                for number in [1, 2] {
                    let slot = number * 16_384 / 3 + 1
                    #expect(await redis.primary(ofSlot: slot) === redis.nodes[number])
                    await redis.nodes[number].crash()
                    try await scene.update("without primary \(number)")
                    try await scene.shown("without primary \(number)")
                    try await until("the replica of primary \(number) takes over") {
                        await redis.primary(ofSlot: slot) === redis.nodes[number + 3]
                    }
                    try await scene.update("after primary \(number)")
                    try await scene.shown("after primary \(number)")
                    try await redis.nodes[number].restart()
                }
            } catch {
                await redis.stop()
                throw error
            }
            await redis.stop()
        }
    }

    /// Slot by slot, as `redis-cli --cluster reshard` does.
    private func moveEverySlot(of source: Int, to target: Int, _ redis: LocalRedisCluster) async throws {
        let (from, to) = (redis.nodes[source], redis.nodes[target])
        let fromID = await redis.id(of: from)
        let toID = await redis.id(of: to)
        let first = source * 16_384 / 3
        let last = (source + 1) * 16_384 / 3 - 1
        var moved = 0
        for slot in first...last {
            // Only those with keys need the whole ceremony; the others would take minutes.
            let count = await from.command("CLUSTER COUNTKEYSINSLOT \(slot)") ?? ""
            guard count != ":0\r\n" else { continue }
            moved += 1
            _ = await to.command("CLUSTER SETSLOT \(slot) IMPORTING \(fromID)")
            _ = await from.command("CLUSTER SETSLOT \(slot) MIGRATING \(toID)")
            while true {
                let answer = await from.command("CLUSTER GETKEYSINSLOT \(slot) 10") ?? "*0"
                let keys = answer.split(separator: "\r\n").filter { !$0.hasPrefix("*") && !$0.hasPrefix("$") }
                if keys.isEmpty { break }
                for key in keys { _ = await from.command("MIGRATE \(to.host) \(to.port) \(key) 0 5000") }
            }
            for node in [to, from, redis.nodes[2]] {
                _ = await node.command("CLUSTER SETSLOT \(slot) NODE \(toID)")
            }
        }
        #expect(moved > 0)
    }
}
