import Foundation
import JSON
import LocalServers
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// The whole service over a primary and a streaming replica of it.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct PostgresFailoverTests {
    /// A replica that is behind makes no screen stale: the screen is fresh, and operators learn that it is not used.
    private func seen(by admin: AdminClient, replica: LocalPostgres, lot: String) async throws {
        let words = "The replica \(replica.socketDirectory):5432 is "
        let overview = try await admin.wait("v1/overview") { overview in
            overview.rows("problems").contains { $0["sentence"]?.stringValue?.hasPrefix(words) == true }
        }
        let worker = overview.rows("statuses").first { $0["node"]?.stringValue == admin.node }
        let row = try #require(worker?.rows("replicas").first)
        #expect(row["state"] == "behind" && row["isUsed"] == false, "\(row)")
        #expect((row["lagBytes"]?.intValue ?? 0) > 0 && (row["lagMs"]?.intValue ?? 0) > 0, "\(row)")
        let status = try await admin.command(["status"])
        #expect(status.contains(words) && status.contains("behind"), "\(status)")

        let why = "v1/why?operation=auctions/GetLot&variables=%7B%22id%22:%22\(lot)%22%7D"
        let answer = try await admin.wait(why) { $0["verdict"]?["code"] == "fresh" }
        #expect(answer.rows("warnings").contains { $0.stringValue?.hasPrefix(words) == true }, "\(answer)")
        try await Browser.with(try Browser.required()) { browser in
            let page = try await WhyPage.open(browser, admin)
            try await page.home(says: "results stay fresh")
            try await page.home(says: "behind, not used")
            try await page.expect("fresh", "auctions/GetLot", #"{"id": "\#(lot)"}"#, says: "The screen is fresh")
        }
    }

    @Test func reRunsOnTheReplicaThenThePrimaryDies() async throws {
        try await Cluster.with { cluster in
            let primary = cluster.servers.postgres
            var options = LocalPostgresOptions.forTests
            options.primary = primary.connectionString
            let standby = try await LocalPostgres.start(
                dataDirectory: cluster.servers.folder + "/standby", options: options)
            func hosts(_ servers: [LocalPostgres]) -> String {
                "host=\(servers.map(\.socketDirectory).joined(separator: ",")) port=5432 user=\(LocalPostgres.user) "
                    + "dbname=\(primary.databaseName)"
            }
            cluster.environment = [
                "FRESHET_POSTGRES_URL": hosts([standby, primary]),
                "FRESHET_POSTGRES_REPLICAS": standby.connectionString,
            ]
            do {
                // A re-run that a paused replica holds up is the primary's after this long.
                let settings = ["postgres.replicaWaitMs=500", "postgres.connectTimeoutMs=20000"]
                let api = try await cluster.start(roles: "api", settings: settings).address
                let worker = try await cluster.start(roles: "worker,admin", settings: settings)
                let gateway = try await cluster.start(roles: "gateway", settings: settings)
                let list = try JSONParser.parse(try await API.get(api, "ListLots", ["category": "Hi-Fi"]).body)
                let id = try #require(list["data"]?["lots"]?[0]?["id"]?.stringValue)
                let subscriber = try await Subscriber.connect(gateway.address)
                subscriber.subscribe("GetLot", ["id": .string(id)], id: "one")
                _ = try await subscriber.data(id: "one")
                func update(_ description: String) async throws -> Int {
                    try await API.mutate(
                        api, "EditLot",
                        ["id": .string(id), "category": "Hi-Fi", "description": .string(description)]
                    ).status
                }
                func shown(_ description: String) async throws {
                    _ = try await subscriber.data(id: "one") {
                        $0["lot"]?["description"]?.stringValue == description
                    }
                }
                // Until the metrics say that the replica has answered: a busy machine may keep it behind for a while.
                let admin = try #require(worker.admin)
                func answeredByReplica() async throws -> Double {
                    let metrics = String(
                        decoding: try await HTTPCall.send(.GET, admin, path: "/metrics").body, as: UTF8.self)
                    let line = metrics.split(separator: "\n").first {
                        $0.hasPrefix("freshet_refresh_replica_answered")
                    }
                    return line?.split(separator: " ").last.flatMap { Double($0) } ?? 0
                }
                var number = 0
                while try await answeredByReplica() < 3 {
                    number += 1
                    #expect(try await update("number \(number)") == 200)
                    try await shown("number \(number)")
                }

                // Paused: what was committed since is shown all the same.
                let operators = try PostgresOperator(standby)
                try operators.run("SELECT pg_wal_replay_pause()")
                #expect(try await update("while paused") == 200)
                try await shown("while paused")
                try await seen(by: AdminClient(worker.process), replica: standby, lot: id)
                try operators.run("SELECT pg_wal_replay_resume()")

                await primary.crash()
                try await standby.promote()
                while try await update("after the promotion") != 200 {}
                try await shown("after the promotion")
            } catch {
                await standby.stop()
                throw error
            }
            await standby.stop()
        }
    }
}

extension PostgresFailoverTests {
    /// The standby lacks what was committed last, and the worker that showed it died before it could notice: its
    /// successor never saw the former timeline, and no event tells it anything.
    @Test func theOwnerDiesWithThePrimary() async throws {
        try await Cluster.with { cluster in
            let primary = cluster.servers.postgres
            var options = LocalPostgresOptions.forTests
            options.primary = primary.connectionString
            let standby = try await LocalPostgres.start(
                dataDirectory: cluster.servers.folder + "/standby", options: options)
            cluster.environment = [
                "FRESHET_POSTGRES_URL":
                    "host=\(standby.socketDirectory),\(primary.socketDirectory) port=5432 user=\(LocalPostgres.user) "
                    + "dbname=\(primary.databaseName)"
            ]
            do {
                let settings = ["postgres.connectTimeoutMs=20000", "gateway.summaryMs=600000"]
                let api = try await cluster.start(roles: "api", settings: settings).address
                let worker = try await cluster.start(roles: "worker", settings: settings).process
                let gateway = try await cluster.start(roles: "gateway", settings: settings)
                let list = try JSONParser.parse(try await API.get(api, "ListLots", ["category": "Hi-Fi"]).body)
                let id = try #require(list["data"]?["lots"]?[0]?["id"]?.stringValue)
                let subscriber = try await Subscriber.connect(gateway.address)
                subscriber.subscribe("GetLot", ["id": .string(id)], id: "one")
                _ = try await subscriber.data(id: "one")
                func change(_ description: String) async throws {
                    let answer = try await API.mutate(
                        api, "EditLot",
                        ["id": .string(id), "category": "Hi-Fi", "description": .string(description)])
                    #expect(answer.status == 200)
                    try await shown(description)
                }
                func shown(_ description: String) async throws {
                    _ = try await subscriber.data(id: "one") {
                        $0["lot"]?["description"]?.stringValue == description
                    }
                }
                try await change("replicated")
                let operators = try PostgresOperator(standby)
                try operators.until(
                    "SELECT count(*) FROM lot WHERE id = '\(id)' AND description = 'replicated'", is: "1")
                // The standby receives no more.
                try operators.run("ALTER SYSTEM SET primary_conninfo = ''")
                try operators.run("SELECT pg_reload_conf()")
                try operators.until("SELECT count(*) FROM pg_stat_wal_receiver", is: "0")
                try await change("lost")

                await worker.crash()
                await primary.crash()
                try await standby.promote()
                _ = try await cluster.start(roles: "worker", settings: settings)
                try await shown("replicated")
            } catch {
                await standby.stop()
                throw error
            }
            await standby.stop()
        }
    }
}
