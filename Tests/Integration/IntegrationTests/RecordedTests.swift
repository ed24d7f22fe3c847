import Foundation
import JSON
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// Records of a real cluster of two nodes, for operators: events for trials of rules, the tail of all nodes, the flight
/// recorder of a user; and plans.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct RecordedTests {
    private static let secret = "0123456789abcdef0123456789abcdef"

    @Test func operatorsRecordWhatAllNodesDo() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try folder.write(Self.files)
        try await Cluster.with(project: folder.path) { cluster in
            cluster.environment["FRESHET_WORKER_VERIFY_PER_SECOND"] = "0"
            let settings = ["auth.mode=hs256", "auth.hs256Secret=\(Self.secret)"]
            let front = try await cluster.start(roles: "api,gateway,admin", settings: settings)
            let back = try await cluster.start(roles: "worker,gateway,admin", settings: settings)
            let (admin, other) = (try await AdminClient(front.process), try await AdminClient(back.process))
            try await trials(front.address, admin, folder.path)
            try await flight(front.address, back.address, admin, front.process)
            try await plans(admin, cluster)
            try await tail(front.address, admin, other, back.process)
        }
    }

    // MARK: Trials of rules

    private func trials(_ address: ServerAddress, _ admin: AdminClient, _ folder: String) async throws {
        let scifi = try await follow(address, "Shelf", ["category": "Sci-Fi"])
        let drama = try await follow(address, "Shelf", ["category": "Drama"])
        let none = try await admin.post("v1/rules/try?operation=movies/Shelf&condition=true")
        #expect(none.body["sentence"]?.stringValue == "No event is recorded: nothing can be said.", "\(none)")
        let armed = try await admin.post("v1/events/record?forMs=600000")
        #expect(armed.status == 200 && armed.body.rows("recording").contains { $0["untilMs"] != nil }, "\(armed)")
        // Its rule has no condition: both live queries run, and one of them for nothing.
        try await add(address, "1", "Sci-Fi")
        _ = try await scifi.data { $0["movies"]?.arrayValue?.count == 1 }
        let recorded = try await admin.wait("v1/events") { $0["events"] == 1 && $0["runs"] == 2 }
        #expect(recorded["liveQueries"] == 2, "\(recorded)")

        let narrower = "mutation.variables.category == request.variables.category"
        let answer = try await admin.post(
            "v1/rules/try?operation=movies/Shelf&condition="
                + (narrower.addingPercentEncoding(
                    withAllowedCharacters: .alphanumerics) ?? ""))
        let row = try #require(answer.body["operations"]?[0], "\(answer)")
        #expect(row["refreshed"] == 1 && row["spared"] == 1 && row["missed"] == 0, "\(answer.body)")
        #expect(
            row["examples"]?[0]?["reason"]?.stringValue == "mutation.variables.category: 'Sci-Fi' ≠ 'Drama'",
            "\(row)")
        // The pin is hidden, so nothing is guessed.
        let pin = try await admin.post(
            "v1/rules/try?operation=movies/Shelf&condition=mutation.variables.password%20%3D%3D%20%27x%27")
        #expect(pin.body["totals"]?["unjudged"] == 2, "\(pin)")
        #expect(pin.body["unjudged"]?[0]?["reason"]?.stringValue == "mutation.variables.password is redacted")
        let mistake = try await admin.post("v1/rules/try?operation=movies/Shelf&condition=mutation.variables.%20%3D")
        let message = mistake.body["errors"]?[0]?["message"]?.stringValue ?? ""
        #expect(mistake.status == 400 && message.hasPrefix("1:") && message.contains("of the condition"), "\(message)")
        let text = try await admin.command(["try-rule", "movies/Shelf", "--condition", "false"])
        #expect(text.contains("1 needed refresh would be missed, 1 needless refresh would be spared"), "\(text)")

        let file = folder + "/events.jsonl"
        _ = try await admin.command(["events", "--out", file])
        let lines = try String(contentsOfFile: file, encoding: .utf8)
        #expect(!lines.contains("hunter2") && lines.contains("\"type\":\"event\""))
        // By the edited project, as in CI.
        let edited = folder + "/edited"
        try FileManager.default.createDirectory(atPath: edited, withIntermediateDirectories: true)
        for (path, content) in Self.files {
            let to = URL(fileURLWithPath: edited + "/" + path)
            try FileManager.default.createDirectory(
                at: to.deletingLastPathComponent(), withIntermediateDirectories: true)
            try content.replacingOccurrences(
                of: "{operation: \"Add\"}", with: "{operation: \"Add\", condition: \"false\"}"
            ).write(to: to, atomically: true, encoding: .utf8)
        }
        let failing = try await tool(["rules", "try", "--events", file, "--project", edited, "--fail-on", "missed"])
        #expect(failing.code == 3 && failing.output.contains("1 needed refresh would be missed"), "\(failing)")
        let passing = try await tool([
            "rules", "try", "--events", file, "--query", "movies/Shelf", "--condition", narrower, "--fail-on",
            "missed,unproven", "--json",
        ])
        #expect(passing.code == 0, "\(passing)")
        let json = try JSONParser.parse(Array(passing.output.utf8))
        #expect(json["totals"]?["spared"] == 1 && json["totals"]?["missed"] == 0)
        // The events of another mutation are not in a file of this query.
        let ofQuery = folder + "/shelf.jsonl"
        _ = try await admin.command(["events", "--out", ofQuery, "--operation", "movies/Shelf"])
        let filtered = try await tool([
            "rules", "try", "--events", ofQuery, "--query", "movies/Shelf", "--mutation", "movies/Other", "--fail-on",
            "missed",
        ])
        #expect(
            filtered.code == 4 && filtered.output.contains("incomplete: Events of movies/Other are not"), "\(filtered)")
        try (lines + "{\"type\":\"event\"}\n").write(toFile: file, atomically: true, encoding: .utf8)
        let bad = try await tool(["rules", "try", "--events", file, "--project", folder])
        let count = lines.split(separator: "\n").count
        #expect(bad.code == 1 && bad.output.contains("events.jsonl:\(count + 1): "), "\(bad)")

        let stopped = try await admin.post("v1/events/stop")
        #expect(!stopped.body.rows("recording").contains { $0["untilMs"] != nil }, "\(stopped)")
        #expect(try await admin.get("v1/events")["events"] == 1)
        scifi.socket.close()
        drama.socket.close()
    }

    private func tool(_ arguments: [String]) async throws -> (code: Int32, output: String) {
        let process = try FreshetProcess(arguments)
        return (await process.waitForExit(), process.output)
    }

    // MARK: The flight recorder

    private func flight(
        _ front: ServerAddress, _ back: ServerAddress, _ admin: AdminClient, _ process: FreshetProcess
    ) async throws {
        #expect(try await admin.post("v1/flight/record?uid=ann").body["isArmed"] == true)
        let first = try await follow(front, "Mine", [:], token: token(lastsSeconds: 600))
        let second = try await follow(back, "Mine", [:], token: token(lastsSeconds: 2))
        // Gateways know the user, the worker knows the runs.
        let mine = try await admin.wait("v1/live-queries?user=ann") { answer in
            answer.rows("liveQueries").contains { ($0["runs"]?.intValue ?? 0) > 0 }
        }
        let found = mine.rows("liveQueries")
        #expect(mine["matching"] == 1 && found.first?["operation"] == "movies/Mine", "\(mine)")
        #expect(found.first?["node"]?.stringValue != admin.node && found.first?["shard"] != nil, "\(mine)")
        second.subscribe("Shelf", [:], id: "2")
        let other = try await follow(front, "Mine", [:], token: token("bob", lastsSeconds: 600))
        try await add(front, "ann", "Any")
        _ = try await first.data { $0["movies"]?.arrayValue?.count == 1 }
        _ = await second.closeCode()
        first.socket.close()
        @Sendable func kinds(_ answer: JSONValue, _ node: String?) -> Set<String> {
            Set(
                answer.rows("entries").filter { node == nil || $0["node"]?.stringValue == node }
                    .compactMap { $0["kind"]?.stringValue })
        }
        let wanted: Set = ["began", "followed", "delivered", "refused", "expired", "left", "ended"]
        let answer = try await admin.wait("v1/flight?uid=ann") { answer in
            kinds(answer, nil).isSuperset(of: wanted)
                && kinds(answer, admin.node).isSuperset(of: ["began", "followed", "delivered", "left", "ended"])
        }
        let entries = answer.rows("entries")
        #expect(Set(entries.compactMap { $0["node"]?.stringValue }).count == 2, "\(answer)")
        let times = entries.compactMap { $0["atMs"]?.intValue }
        #expect(times == times.sorted())
        let began = try #require(entries.first { $0["kind"]?.stringValue == "began" })
        #expect(began["protocol"]?.stringValue == "graphql-transport-ws" && began["peer"] != nil, "\(began)")
        let delivered = try #require(entries.first { $0["kind"]?.stringValue == "delivered" })
        #expect((delivered["bytes"]?.intValue ?? 0) > 0 && delivered["operation"]?.stringValue == "movies/Mine")
        #expect(
            entries.contains { $0["kind"]?.stringValue == "left" && $0["reason"]?.stringValue == "token_expired" },
            "\(answer)")
        #expect(!answer.description.contains("bob"))
        let text = try await admin.command(["flight", "--uid", "ann"])
        #expect(text.hasPrefix("recording") && text.contains("delivered") && text.contains("token_expired"), "\(text)")
        #expect(process.output.contains("/admin/v1/flight"), "looks are audited")
        #expect(try await admin.post("v1/flight/stop?uid=ann").body.rows("entries").isEmpty)
        other.socket.close()
    }

    private func token(_ uid: String = "ann", lastsSeconds: Int64) -> String {
        TestTokens.signed(
            uid: uid, secret: Self.secret, expiresAt: Int64(Date().timeIntervalSince1970) + lastsSeconds)
    }

    // MARK: Plans

    private func plans(_ admin: AdminClient, _ cluster: Cluster) async throws {
        try PostgresOperator(cluster.servers.postgres).run(
            """
            INSERT INTO movie (id, category, title, password)
              SELECT 'm' || n, 'category' || n, 'Title', '' FROM generate_series(1, 5000) n;
            ANALYZE movie;
            """)
        let variables = "%7B%22category%22:%22category7%22%7D"
        let plan = try await admin.get("v1/plan?operation=movies/Shelf&variables=\(variables)")
        #expect(plan["isMeasured"] == false && plan["scans"]?[0]?["isWasteful"] == true, "\(plan)")
        let sentence = plan["sentences"]?[0]?.stringValue ?? ""
        #expect(sentence.hasPrefix("movie is read whole: about 50"), "\(plan)")
        let measured = try await admin.post("v1/plan/analyze?operation=movies/Shelf&variables=\(variables)")
        #expect(
            measured.body["isMeasured"] == true && measured.body["scans"]?[0]?["rowsKept"]?.doubleValue == 1,
            "\(measured)")
        #expect((measured.body["executionMs"]?.doubleValue ?? -1) >= 0)
        #expect(try await admin.post("v1/plan/analyze?operation=movies/Add&variables=\(variables)").status == 400)
        let byKey = try await admin.get("v1/plan?operation=movies/Mine&uid=m7")
        #expect(byKey["scans"]?[0]?["isWasteful"] == false, "\(byKey)")
        let text = try await admin.command(["plan", "Shelf", "--vars", #"{"category":"category7"}"#, "--analyze"])
        #expect(text.hasPrefix("movie is read whole: 50") && text.contains("rows kept"), "\(text)")
        let top = try await admin.get("v1/top")
        let shelf = top.rows("operations").first { $0["operation"]?.stringValue == "movies/Shelf" }
        #expect((shelf?["statementMs"]?["p99"]?.doubleValue ?? 0) > 0, "\(top)")
    }

    // MARK: The tail of all nodes

    private func tail(
        _ address: ServerAddress, _ admin: AdminClient, _ other: AdminClient, _ process: FreshetProcess
    ) async throws {
        let lines = LineLog()
        let following = Task {
            try await HTTPLines.follow(
                admin.address, path: "/admin/v1/tail?operation=Everything", { lines.append($0) })
        }
        let joined = try await waitFor("the other node in the tail") { lines.data(of: "node") }
        #expect(joined["node"]?.stringValue == other.node && joined["state"]?.stringValue == "joined", "\(joined)")
        let subscriber = try await follow(address, "Everything", [:])
        try await add(address, "tailed", "Any")
        // The run is the worker's, the delivery the gateway's: one stream has both.
        let run = try await waitFor("a run in the tail") { lines.data(of: "run") }
        let delivery = try await waitFor("a delivery in the tail") { lines.data(of: "delivery") }
        #expect(run["node"]?.stringValue == other.node && delivery["node"]?.stringValue == admin.node)
        // The tail of one node alone.
        let own = LineLog()
        let restricted = Task {
            try await HTTPLines.follow(
                admin.address, path: "/admin/v1/tail?node=\(other.node)", { own.append($0) })
        }
        _ = try await waitFor("the other node alone") { own.data(of: "node") }
        try await add(address, "tailed2", "Any")
        _ = try await waitFor("its run") { own.data(of: "run") }
        #expect(own.data(of: "delivery") == nil)
        await process.crash()
        let lost = try await waitFor("the loss of a node in the tail") { lines.data(of: "node", after: joined) }
        #expect(lost["state"]?.stringValue == "lost" && lost["reason"] != nil, "\(lost)")
        subscriber.socket.close()
        for task in [following, restricted] {
            task.cancel()
            _ = await task.result
        }
        try await admin.wait("v1/recording") { $0["tails"]?.intValue == 0 }
    }

    // MARK: Support

    private static let files = MovieProject.files(
        fields: "id: String! category: String! title: String! password: String!",
        operations: """
            query Shelf($category: String!) @auth(level: PUBLIC) @refresh(onMutationExecuted: {operation: "Add"}) {
              movies(where: {category: {eq: $category}}, orderBy: [{id: ASC}]) { id title }
            }
            query Everything @auth(level: PUBLIC) @refresh(onMutationExecuted: {operation: "Add"}) {
              movies(orderBy: [{id: ASC}], limit: 3) { id }
            }
            query Mine @auth(level: USER) @refresh(onMutationExecuted: {operation: "Add"}) {
              movies(where: {id: {eq_expr: "auth.uid"}}) { id }
            }
            mutation Add($id: String!, $category: String!, $password: String!) @auth(level: PUBLIC) {
              movie_insert(data: {id: $id, category: $category, title: "Title", password: $password})
            }
            """)

    private func follow(
        _ address: ServerAddress, _ operation: String, _ variables: JSONObject, token: String? = nil
    ) async throws -> Subscriber {
        let subscriber = try await Subscriber.connect(
            address, payload: token.map { ["Authorization": .string("Bearer \($0)")] })
        subscriber.subscribe(operation, variables)
        _ = try await subscriber.data()
        return subscriber
    }

    private func add(_ address: ServerAddress, _ id: String, _ category: String) async throws {
        let response = try await HTTPCall.send(
            .POST, address, path: "/v1/connectors/movies/mutations/Add",
            headers: ["content-type": "application/json"],
            body: JSONWriter.compact([
                "variables": ["id": .string(id), "category": .string(category), "password": "hunter2"]
            ]))
        try #require(response.status == 200, "\(String(decoding: response.body, as: UTF8.self))")
    }
}
