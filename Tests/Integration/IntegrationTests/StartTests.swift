import Foundation
import JSON
import LocalServers
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// Nodes that start before their servers answer.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct StartTests {
    private func serve(_ postgres: String, _ redis: String, _ settings: [String] = []) throws -> FreshetProcess {
        var arguments = ["serve", SampleProject.path, "--roles", "gateway,admin"]
        for setting in ["admin.port=0", "http.eventLoops=1"] + settings { arguments += ["--set", setting] }
        return try FreshetProcess(
            arguments, environment: ["FRESHET_POSTGRES_URL": postgres, "FRESHET_REDIS_URL": redis])
    }

    private func migrate(_ servers: Servers) async throws {
        let migration = try FreshetProcess(
            ["migrate", SampleProject.path], environment: ["FRESHET_POSTGRES_URL": servers.postgres.connectionString])
        try #require(await migration.waitForExit() == 0)
    }

    @Test func aWaitingNodeIsAliveAndNotReady() async throws {
        try await Servers.with { servers in
            try await migrate(servers)
            await servers.postgres.crash()
            await servers.redis.crash()
            let port = try #require(Addresses.freeLoopbackPort())
            let address = try ServerAddress("http://127.0.0.1:\(port)")
            let node = try serve(servers.postgres.connectionString, servers.redis.url, ["http.port=\(port)"])
            do {
                // A line for each step, and each says what it waits for.
                #expect(try await node.line(containing: "waitedMs=1000").contains("server=Postgres"))
                _ = try await node.line(containing: "waitedMs=3000")
                while try await HTTPCall.send(.GET, address, path: "/healthz").status != 200 {}
                #expect(try await HTTPCall.send(.GET, address, path: "/readyz").status == 503)
                let refused = try await HTTPCall.send(
                    .POST, address, path: "/v1/connectors/auctions/mutations/EditLot",
                    headers: ["content-type": "application/json"], body: Array("{}".utf8))
                #expect(refused.status == 503 && refused.headers.first(name: "retry-after") == "1")

                try await servers.postgres.restart()
                _ = try await node.line(containing: "server=Redis")
                #expect(try await HTTPCall.send(.GET, address, path: "/readyz").status == 503)
                try await servers.redis.restart()
                _ = try await node.line(containing: "ready http://")
                #expect(try await HTTPCall.send(.GET, address, path: "/readyz").status == 200)
                #expect(await node.terminate() == 0)
            } catch {
                await node.crash()
                throw error
            }
        }
    }

    @Test func aWaitingNodeStopsCleanly() async throws {
        try await Servers.with { servers in
            await servers.redis.crash()
            let node = try serve(servers.postgres.connectionString, servers.redis.url, ["http.port=0"])
            _ = try await node.line(containing: "waitedMs=")
            #expect(await node.terminate() == 0)
            #expect(node.output.contains("stopping during the start"))
        }
    }

    @Test func theStartFailsWhenTheWaitReachesItsBound() async throws {
        try await Servers.with { servers in
            await servers.redis.crash()
            let node = try serve(
                servers.postgres.connectionString, servers.redis.url, ["http.port=0", "cluster.startWaitMs=1500"])
            #expect(await node.waitForExit() == 1)
            #expect(node.output.contains("waited 1500 ms"), "\(node.output)")
        }
    }

    @Test func theStartFailsAtOnceWhenWaitingCannotHelp() async throws {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let folder = temporary.path + "/data"
        var options = LocalPostgresOptions.forTests
        options.listensOnLoopback = true
        let postgres = try await LocalPostgres.start(dataDirectory: folder + "/postgres", options: options)
        let redis: LocalRedis
        do {
            redis = try await LocalRedis.start(dataDirectory: folder + "/redis", options: .forTests)
            _ = await redis.command("CONFIG SET requirepass right")
        } catch {
            await postgres.stop()
            throw error
        }
        let good = postgres.connectionString
        let loopback = "host=127.0.0.1 port=\(postgres.port ?? 0) dbname=\(postgres.databaseName) "
        let rightRedis = "redis://:right@127.0.0.1:\(redis.port)"
        let cases: [(postgres: String, redis: String, says: String)] = [
            (loopback + "user=\(LocalPostgres.user) password=wrong", rightRedis, "password authentication failed"),
            (loopback + "user=\(LocalPostgres.user)", rightRedis, "no password supplied"),
            (good + " dbname=nowhere", rightRedis, "\"nowhere\" does not exist"),
            (good + " user=nobody", rightRedis, "\"nobody\" does not exist"),
            (good + " nonsense=1", rightRedis, "nonsense"),
            (good + " sslmode=perhaps", rightRedis, "sslmode"),
            ("postgresql://[::1/db", rightRedis, "Postgres:"),
            (good, "redis://:wrong@127.0.0.1:\(redis.port)", "WRONGPASS"),
            (good, "redis://127.0.0.1:\(redis.port)", "NOAUTH"),
            (good, rightRedis + "/77", "out of range"),
            (good, "redis//127.0.0.1", "Redis address"),
        ]
        for (postgres, redis, says) in cases {
            let node = try serve(postgres, redis, ["http.port=0"])
            #expect(await node.waitForExit() == 1)
            #expect(node.output.contains(says) && !node.output.contains("waiting for a server"), "\(node.output)")
        }
        await redis.stop()
        await postgres.stop()
    }
}
