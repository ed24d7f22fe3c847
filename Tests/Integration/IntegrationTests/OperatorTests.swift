import Foundation
import JSON
import LocalServers
import NIOHTTP1
import ProtocolClients
import Testing

/// Operators' actions on a running cluster, and their view of it.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct OperatorTests {
    @Test func shardsAreMovedNodesDrainedAndSessionsEnded() async throws {
        try await Cluster.with { cluster in
            let one = try await cluster.start(
                roles: "api,worker,gateway,admin", settings: ["drain.sessionsMs=0"])
            let two = try await cluster.start(
                roles: "worker,gateway,admin", settings: ["drain.sessionsMs=0"])
            let admin = try await AdminClient(one.process)
            let other = try await AdminClient(two.process)
            let ids = try await SplitTests.lots(one.address, count: 2)
            let subscriber = try await Subscriber.connect(one.address)
            subscriber.subscribe("GetLot", ["id": .string(ids[0])], id: "a")
            _ = try await subscriber.data(id: "a")

            // Settled: both own some.
            try await admin.wait("shards") { answer in
                Set(answer.rows("shards").map { $0["owner"]?.stringValue }) == [admin.node, other.node]
                    && answer.rows("shards").allSatisfy { $0["verdict"]?.stringValue == "ok" }
            }
            let settled = try await admin.wait("shards") { answer in
                answer.rows("shards").contains { ($0["liveQueries"]?.intValue ?? 0) > 0 }
            }
            let live = try #require(
                settled.rows("shards").firstIndex { ($0["liveQueries"]?.intValue ?? 0) > 0 })
            // The shard in use moves back and forth, and the subscriber follows.
            for (number, node) in [other.node, admin.node, other.node].enumerated() {
                let isThere: @Sendable (JSONValue) -> Bool = { answer in
                    let row = answer.rows("shards")[live]
                    return row["owner"]?.stringValue == node && row["pinned"]?.stringValue == node
                        && row["verdict"]?.stringValue == "ok"
                }
                let moved = try await admin.post("shards/\(live)/move?to=\(node)&forMs=3600000")
                #expect(moved.status == 200, "\(moved.body)")
                try await admin.wait("shards", where: isThere)
                try await SplitTests.write(one.address, ids[0], number + 1)
                _ = try await subscriber.data(id: "a", where: Self.shows(number + 1))
            }
            // Seen from the node that does not own it, too.
            try await admin.wait("shards") { $0.rows("shards")[live]["liveQueries"]?.intValue == 1 }

            // A drained node gives everything up and is not ready; the move to it is ignored meanwhile.
            let stranger = try await Subscriber.connect(two.address)
            #expect(try await admin.post("nodes/\(other.node)/drain").status == 200)
            #expect(await stranger.closeCode() == 1001)
            try await admin.wait("shards") { answer in
                answer.rows("shards").allSatisfy { $0["owner"]?.stringValue == admin.node }
            }
            #expect(try await HTTPCall.send(.GET, two.address, path: "/readyz").status == 503)
            try await SplitTests.write(one.address, ids[0], 10)
            _ = try await subscriber.data(id: "a", where: Self.shows(10))
            #expect(try await admin.command(["undrain", other.node]).contains("accepts shards and sessions again"))
            try await admin.wait("shards") { $0.rows("shards")[live]["owner"]?.stringValue == other.node }
            #expect(try await HTTPCall.send(.GET, two.address, path: "/readyz").status == 200)
            #expect(try await admin.post("shards/\(live)/clear-move").status == 200)

            // Sessions.
            let listed = try await admin.get("sessions").rows("sessions")
            #expect(listed.count == 1 && listed[0]["protocol"]?.stringValue == "graphql-transport-ws")
            #expect(listed[0]["subscriptions"]?.intValue == 1)
            #expect(listed[0]["peer"]?.stringValue?.hasPrefix("127.0.0.1:") == true)
            let id = try #require(listed[0]["id"]?.intValue)
            #expect(try await admin.post("sessions/\(id)/end").status == 200)
            #expect(await subscriber.closeCode() == 1001)

            // A session of another node: found through any.
            let elsewhere = try await Subscriber.connect(two.address)
            let listing = ["sessions", "--node", other.node, "--json"]
            let theirs = try JSONParser.parse(Array(try await admin.command(listing).utf8)).rows("sessions")
            let theirID = try #require(theirs.first?["id"]?.intValue)
            #expect(try await admin.command(["end-session", "\(theirID)", "--node", other.node]).contains("reconnect"))
            #expect(await elsewhere.closeCode() == 1001)
            let nobody = try await admin.command(["sessions", "--node", "nobody"])
            #expect(nobody.contains("no live node \"nobody\"") && nobody.contains(other.node))

            try await refusals(admin)
            // Each with its line, of which this is the last.
            _ = try await one.process.line(containing: "POST /admin/elsewhere")
            let audit = one.process.output.split(separator: "\n").filter { $0.contains("admin action") }
            #expect(audit.contains { $0.contains("move shard \(live) to \(other.node)") && $0.contains("the test") })
            #expect(audit.contains { $0.contains("drain nobody") && $0.contains("no live node") })
            #expect(audit.contains { $0.contains("end session \(id)") })
            let malformed = one.process.output.split(separator: "\n").filter { $0.contains("admin request refused") }
            #expect(malformed.contains { $0.contains("POST /admin/shards/x/move") && $0.contains("the test") })
            #expect(malformed.contains { $0.contains("POST /admin/elsewhere") && $0.contains("no action") })
            let table = try await admin.command(["shards", "--all"])
            #expect(table.contains("verdict") && table.contains(admin.node))
            let overrides = try await admin.command(["overrides"])
            #expect(
                overrides.split(separator: " ") == ["override", "target", "value", "shards", "receiving", "expires\n"])
            #expect(try await admin.command(["orders"]) == overrides, "the former name")
        }
    }

    private static func shows(_ number: Int) -> @Sendable (JSONValue) -> Bool {
        { SplitTests.number($0) == number }
    }

    private func refusals(_ admin: AdminClient) async throws {
        func refused(_ path: String, _ status: Int, _ text: String) async throws {
            let answer = try await admin.post(path)
            let message = answer.body["errors"]?[0]?["message"]?.stringValue ?? ""
            #expect(answer.status == status && message.contains(text), "\(path): \(answer)")
        }
        try await refused("nodes/nobody/drain", 404, "no live node \"nobody\"")
        try await refused("nodes/nobody/undrain", 404, "not drained")
        try await refused("shards/16/move?to=\(admin.node)", 404, "no shard 16")
        try await refused("shards/1/move?to=nobody", 404, "no live node")
        try await refused("shards/1/move", 400, "to is required")
        try await refused("shards/x/move?to=\(admin.node)", 400, "shard must be")
        try await refused("shards/1/move?to=\(admin.node)&forMs=0", 400, "forMs")
        try await refused("shards/5/clear-move", 404, "not moved")
        try await refused("operations/auctions/Nothing/splits?count=2", 404, "no stored query")
        try await refused("operations/auctions/EditLot/splits?count=2", 404, "no stored query")
        try await refused("operations/auctions/GetLot/splits?count=17", 400, "1 to 16")
        try await refused("operations/auctions/GetLot/splits", 400, "count")
        try await refused("sessions/999999/end", 404, "no session 999999")
        try await refused("elsewhere", 404, "no action")
    }

    @Test func reportsAreTablesOrJSON() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway,admin")
            let admin = try await AdminClient(node.process)
            func line(_ report: String, _ start: String) async throws -> [String] {
                let lines = try await admin.command([report]).split(separator: "\n")
                return lines.first { $0.hasPrefix(start) }?.split(separator: " ").map(String.init) ?? []
            }
            func isTime(_ text: String?) -> Bool { text?.wholeMatch(of: #/\d{4}-\d\d-\d\dT[\d:.]+Z/#) != nil }

            let row = try await line("status", admin.node)
            #expect(row.prefix(3) == [admin.node, "admin,api,gateway,worker", "ready"], "\(row)")
            #expect(try await line("shards", "16 shards of").first == "16", "a summary instead of every shard")
            let status = try JSONParser.parse(Array(try await admin.command(["status", "--json"]).utf8))
            #expect(status["node"]?.stringValue == admin.node)

            let moved = try await admin.command(["move", "3", admin.node, "--minutes", "60"])
            #expect(isTime(moved.split(whereSeparator: \.isWhitespace).last.map(String.init)), "\(moved)")
            let move = try await line("overrides", "move")
            #expect(move.prefix(6) == ["move", "shard", "3", admin.node, "-", "-"] && isTime(move.last), "\(move)")

            let revoked = try await admin.command(["revoke", "uid", "ann", "--minutes", "60"])
            #expect(revoked.contains("is revoked until "), "\(revoked)")
            #expect(isTime(revoked.split(whereSeparator: \.isWhitespace).last.map(String.init)), "\(revoked)")
            #expect(try await line("revocations", "subject") == ["subject", "tokens", "revoked", "expires"])
            let revocation = try await line("revocations", "uid:ann")
            #expect(revocation.count == 4 && isTime(revocation.dropFirst(2).first) && isTime(revocation.last))
        }
    }

    @Test func wrongTokensAreAuditedAndCannotFillTheLog() async throws {
        try await Cluster.with { cluster in
            cluster.environment["FRESHET_ADMIN_TOKEN"] = "the right one"
            let node = try await cluster.start(roles: "api,admin")
            let admin = try await AdminClient(node.process)
            for number in 0..<200 {
                let headers: HTTPHeaders = number == 0 ? [:] : ["authorization": "Bearer wrong"]
                let answer = try await HTTPCall.send(
                    .POST, admin.address, path: "/admin/nodes/n\(number)%0Aok/drain", headers: headers)
                #expect(answer.status == 401)
            }
            // It has its own lines.
            let malformed = try await HTTPCall.send(
                .POST, admin.address, path: "/admin/shards/x/move?to=y",
                headers: ["authorization": "Bearer the right one", "x-freshet-operator": "ann"])
            #expect(malformed.status == 400)
            _ = try await node.process.line(containing: "shards/x/move")
            // A node's own secret serves the operator, too.
            let file = cluster.servers.folder + "/admin-token"
            try Data("the right one\n".utf8).write(to: URL(fileURLWithPath: file))
            #expect(
                try await admin.command(["nodes"], environment: ["FRESHET_ADMIN_TOKEN_FILE": file]).contains(admin.node)
            )
            let lines = node.process.output.split(separator: "\n").filter { $0.contains("admin request refused") }
            let strangers = lines.filter { $0.contains("the admin token is missing or invalid") }
            // 20, and one each 3 s.
            #expect((20..<100).contains(strangers.count))
            #expect(strangers.allSatisfy { $0.contains("audit") && $0.contains("127.0.0.1:") })
            #expect(strangers.first?.contains("no token") == true && strangers.first?.contains("nodes/n0") == true)
            #expect(strangers.dropFirst().allSatisfy { $0.contains("wrong token") })
            let own = lines.filter { $0.contains("shards/x/move") }
            #expect(own.count == 1 && own[0].contains("admin token") && own[0].contains("ann"))
            #expect(own[0].contains("shard must be a whole number"))
        }
    }

    @Test func theOutboxTakesWhatRedisCannotAndStaysBounded() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway,admin",
                settings: [
                    "outbox.rowsMax=100", "outbox.alarmRows=20", "redis.commandTimeoutMs=300",
                    "worker.pacedRunsPerSecond=50",
                ])
            let admin = try await AdminClient(node.process)
            let ids = try await SplitTests.lots(node.address, count: 20)
            let screen = try await Screen.open(node.address, ids)
            for (number, id) in ids.enumerated() { try await SplitTests.write(node.address, id, number + 1) }
            try await screen.wait(for: try await SplitTests.truth(node.address, ids))

            await cluster.servers.redis.crash()
            var slowestMs: Int64 = 0
            for number in 100..<400 {
                let start = ContinuousClock.now
                try await SplitTests.write(node.address, ids[number % ids.count], number)
                slowestMs = max(slowestMs, Int64((ContinuousClock.now - start) / .milliseconds(1)))
            }
            #expect(slowestMs < 2_000, "a mutation does not wait for Redis")
            // More than rowsMax: folded and reported.
            let status = try await admin.wait("status") {
                ($0["outbox"]?["folded"]?.intValue ?? 0) > 100
                    && $0["outbox"]?["problem"]?.stringValue?.contains("Redis") == true
            }
            #expect((status["outbox"]?["rows"]?.intValue ?? .max) <= 300)
            try await admin.wait("status") { ($0["outbox"]?["rows"]?.intValue ?? .max) <= 100 }
            let metrics = String(
                decoding: try await HTTPCall.send(.GET, admin.address, path: "/metrics").body, as: UTF8.self)
            #expect(metrics.contains("freshet_outbox_backlog_rows"))
            #expect(node.process.output.contains("events are waiting in the outbox"))

            try await cluster.servers.redis.restart()
            try await screen.wait(for: try await SplitTests.truth(node.address, ids))
            #expect(screen.stepsBack == [])
            try await admin.wait("status") { $0["outbox"]?["rows"]?.intValue == 0 }
        }
    }
}
