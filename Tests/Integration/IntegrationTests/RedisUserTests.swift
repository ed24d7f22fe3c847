import Foundation
import JSON
import LocalServers
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// The service as the Redis users of deploy/redis, who may do what it needs and nothing else.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct RedisUserTests {
    private static let password = "not-that-of-the-file"

    /// Words of the file's one user, with another password.
    private static func rules(_ file: String = "users.acl") throws -> [String] {
        let text = try String(contentsOfFile: Repository.path("deploy/redis/" + file), encoding: .utf8)
        let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        #expect(words.prefix(2) == ["user", "freshet"] && words.count { $0 == "user" } == 1)
        return words.dropFirst(2).map { $0 == ">PASSWORD" ? ">" + password : $0 }
    }

    @Test func everythingWorksAndNothingMoreIsAllowed() async throws {
        let rules = try Self.rules()
        try await Cluster.with { cluster in
            let redis = cluster.servers.redis
            await Self.setUser(rules, on: [redis])
            cluster.environment["FRESHET_REDIS_URL"] = Self.url(redis)
            _ = await redis.command("CONFIG RESETSTAT")

            let one = try await cluster.start(roles: "api,worker,gateway,admin")
            let two = try await cluster.start(roles: "worker,gateway,admin")
            let admin = try await AdminClient(one.process)
            let other = try await AdminClient(two.process)
            let ids = try await SplitTests.lots(one.address, count: 4)
            var screens = [
                try await Screen.open(one.address, ids), try await Screen.open(two.address, ids),
            ]
            func changesAreSeen(_ from: Int, on screens: [Screen]) async throws {
                for (number, id) in ids.enumerated() { try await SplitTests.write(one.address, id, from + number) }
                let truth = try await SplitTests.truth(one.address, ids)
                for screen in screens { try await screen.wait(for: truth) }
            }
            try await changesAreSeen(1, on: screens)

            // Splits, moves, revocations, lists.
            #expect(try await admin.post("operations/auctions/GetLot/splits?count=4").status == 200)
            try await changesAreSeen(10, on: screens)
            #expect(try await admin.post("shards/3/move?to=\(other.node)").status == 200)
            #expect(try await admin.post("shards/3/clear-move").status == 200)
            #expect(try await admin.post("nodes/\(other.node)/drain").status == 200)
            try await admin.wait("shards") { answer in
                answer.rows("shards").allSatisfy { $0["owner"]?.stringValue == admin.node }
            }
            #expect(try await admin.post("nodes/\(other.node)/undrain").status == 200)
            #expect(try await admin.post("revocations?uid=ann").status == 200)
            #expect(try await admin.post("revocations/clear?uid=ann").status == 200)
            #expect(try await admin.get("revocations")["count"]?.intValue == 0)
            try await admin.wait("shards") { answer in
                Set(answer.rows("shards").map { $0["owner"]?.stringValue }) == [admin.node, other.node]
            }
            // Its sessions were asked to reconnect.
            screens[1] = try await Screen.open(two.address, ids)
            try await changesAreSeen(20, on: screens)
            // Nobody's connection counts as another server's: the user may ask who the server is.
            #expect(try await admin.get("status")["redis"]?["servers"]?[0]?["id"]?.stringValue?.contains(".") == true)

            // Redis loses everything but its users.
            _ = await redis.command("FLUSHALL")
            try await changesAreSeen(30, on: screens)
            try await admin.wait("shards") { answer in
                answer.rows("shards").allSatisfy { $0["verdict"]?.stringValue == "ok" }
            }
            #expect(await two.process.terminate() == 0)
            #expect(await one.process.terminate() == 0)

            #expect(await redis.command("ACL LOG") == "*0\r\n")
            for node in [one, two] { #expect(!node.process.output.contains("NOPERM")) }
            // Every exception is in use.
            let used = try await Self.commandsUsed(redis)
            let allowed = rules.filter { $0.hasPrefix("+") }.map { $0.dropFirst() }
            #expect(allowed.count > 20)
            // Streams are trimmed every 10 or 30 s: the other test asks whether they may be.
            for command in allowed where command != "xtrim" {
                #expect(used.contains(String(command)), "\(command) is not needed")
            }
        }
    }

    private static func setUser(_ rules: [String], on servers: [LocalRedis]) async {
        for server in servers {
            #expect(await server.command("ACL SETUSER freshet \(rules.joined(separator: " "))") == "+OK\r\n")
        }
    }

    private static func url(_ server: LocalRedis) -> String {
        "redis://freshet:\(password)@\(server.host):\(server.port)"
    }

    private static func commandsUsed(_ redis: LocalRedis) async throws -> Set<String> {
        let client = try FreshetProcess(
            ["redis-cli", "-s", redis.socketPath, "INFO", "commandstats"], executable: "/usr/bin/env")
        #expect(await client.waitForExit() == 0)
        return Set(
            client.output.split(whereSeparator: \.isNewline).compactMap { line in
                guard line.hasPrefix("cmdstat_"), let end = line.firstIndex(of: ":") else { return nil }
                return String(line[..<end].dropFirst("cmdstat_".count))
            })
    }

    /// A node of every role; its live queries follow a change, and what `meanwhile` does to the servers.
    private func follow(
        _ cluster: Cluster, refusing servers: [LocalRedis], meanwhile: () async throws -> Void
    ) async throws {
        let node = try await cluster.start(roles: "api,worker,gateway,admin")
        let ids = try await SplitTests.lots(node.address, count: 4)
        let screen = try await Screen.open(node.address, ids)
        for (number, id) in ids.enumerated() { try await SplitTests.write(node.address, id, number) }
        try await screen.wait(for: try await SplitTests.truth(node.address, ids))
        try await meanwhile()
        for (number, id) in ids.enumerated() { try await SplitTests.write(node.address, id, 10 + number) }
        try await screen.wait(for: try await SplitTests.truth(node.address, ids))
        #expect(await node.process.terminate() == 0)
        for server in servers { #expect(await server.command("ACL LOG") == "*0\r\n") }
        #expect(!node.process.output.contains("NOPERM"))
    }

    @Test func aClusterNeedsLittleMore() async throws {
        let rules = try Self.rules("users-cluster.acl")
        #expect(Set(rules).isSuperset(of: try Self.rules()))
        try await Cluster.with { cluster in
            let redis = try await LocalRedisCluster.start(
                dataDirectory: cluster.servers.folder + "/cluster", hasReplicas: false)
            await Self.setUser(rules, on: redis.nodes)
            cluster.environment["FRESHET_REDIS_URL"] = Self.url(redis.nodes[0])
            cluster.environment["FRESHET_REDIS_CLUSTER_ADDRESSES"] = redis.addresses.joined(separator: ",")
            do {
                try await follow(cluster, refusing: redis.nodes) {
                    for node in redis.nodes { _ = await node.command("FLUSHALL") }
                }
            } catch {
                await redis.stop()
                throw error
            }
            await redis.stop()
        }
    }

    @Test func sentinelsHaveAUserOfTheirOwn() async throws {
        let (rules, sentinelRules) = (try Self.rules(), try Self.rules("users-sentinel.acl"))
        try await Cluster.with { cluster in
            let redis = try await LocalRedisSentinels.start(
                dataDirectory: cluster.servers.folder + "/sentinels", replicaCount: 1)
            await Self.setUser(rules, on: redis.servers)
            await Self.setUser(sentinelRules, on: redis.sentinels)
            cluster.environment["FRESHET_REDIS_URL"] = Self.url(redis.servers[0])
            cluster.environment["FRESHET_REDIS_SENTINEL_ADDRESSES"] = redis.addresses.joined(separator: ",")
            cluster.environment["FRESHET_REDIS_SENTINEL_MASTER"] = LocalRedisSentinels.masterName
            cluster.environment["FRESHET_REDIS_SENTINEL_USER"] = "freshet"
            cluster.environment["FRESHET_REDIS_SENTINEL_PASSWORD"] = Self.password
            do {
                try await follow(cluster, refusing: redis.sentinels + [redis.servers[1]]) {
                    await redis.servers[0].crash()
                }
            } catch {
                await redis.stop()
                throw error
            }
            await redis.stop()
        }
    }

    @Test func othersKeysAreOutOfReach() async throws {
        let rules = try Self.rules()
        try await Servers.with { servers in
            let redis = servers.redis
            await Self.setUser(rules, on: [redis])
            func may(_ command: String) async -> Bool {
                await redis.command("ACL DRYRUN freshet \(command)") == "+OK\r\n"
            }
            #expect(await may("HSET fr:meta a b"))
            #expect(await may("XADD {fr:shard:1}:events * a b"))
            #expect(await may("XTRIM {fr:shard:1}:events MINID 5"))
            for command in [
                "HSET other:meta a b", "XADD {other:shard:1}:events * a b", "HSET fr2:meta a b", "GET fr:meta",
                "FLUSHALL", "KEYS *", "CONFIG GET dir", "ACL LIST", "PUBLISH fr:news x", "CLIENT KILL ID 1",
            ] {
                #expect(await !may(command), "\(command)")
            }
        }
    }
}
