import Foundation
import JSON
import LocalServers
import NIOCore
import NIOHTTP1
import NIOPosix
import ProtocolClients
import TestSupport
import Testing

/// "Why is this screen stale?" about faults that a real cluster has: the report names the cause, and so does the
/// console in a browser. One cluster for all faults of a test. A replica that is behind, which is no fault, has its
/// test in `PostgresFailoverTests`.
///
/// Long, because each fault has both of its checks beside each other.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct WhyTests {
    static let secret = "0123456789abcdef0123456789abcdef"
    private static let auth = ["auth.mode=hs256", "auth.hs256Secret=\(secret)"]

    // MARK: Faults

    /// Mistakes of clients and projects.
    @Test func namesWhatProjectsAndClientsDoWrong() async throws {
        try await withCluster { cluster, _, browser in
            // Verification would run what is stale again, and mend it.
            cluster.environment["FRESHET_WORKER_VERIFY_PER_SECOND"] = "0"
            let node = try await cluster.start(
                roles: "api,worker,gateway,admin",
                settings: Self.auth + ["gateway.sessionBytesMax=64MiB", "http.compression.on=false"])
            let admin = try await AdminClient(node.process)
            let page = try await WhyPage.open(browser, admin)
            try await wrongCondition(node.address, admin, page)
            try await missingRule(node.address, admin, page, try PostgresOperator(cluster.servers.postgres))
            try await refusedByAuth(node.address, admin, page)
            try await expiredToken(node.address, admin, page)
            try await revokedUser(node.address, admin, page)
            try await stalledClient(node.address, admin, page)
            try await questions(node.address, admin)
            try await followedAsUsers(admin)
            try await failingRuns(node.address, admin, page, try PostgresOperator(cluster.servers.postgres))
            // Variables are users' data, and no line shows them.
            _ = try await node.process.line(containing: "admin look")
            let looks = node.process.output.split(separator: "\n").filter { $0.contains("admin look") }
            #expect(looks.contains { $0.contains("movies/Shelf") && $0.contains("the test") })
            #expect(!looks.contains { $0.contains("Sci-Fi") })
        }
    }

    private func wrongCondition(
        _ address: ServerAddress, _ admin: AdminClient, _ page: WhyPage
    ) async throws {
        let subscriber = try await follow(address, "Shelf", ["category": "Sci-Fi"])
        let question = #"why?operation=movies/Shelf&variables={"category":"Sci-Fi"}"#
        try await admin.expect("fresh", question)
        try await add(address, "1", "Sci-Fi", title: "Drama")
        // Its condition compares the title: nothing refreshes the list.
        let answer = try await admin.expect("condition_false", question)
        #expect(answer["truth"]?["state"]?.stringValue == "differs", "\(answer)")
        let event = try #require(answer["events"]?[0])
        #expect(event["isRecorded"]?.boolValue == true && event["isMatched"]?.boolValue == false, "\(event)")
        #expect(
            event["rules"]?[0]?["reason"]?.stringValue == "mutation.variables.title: 'Drama' ≠ 'Sci-Fi'", "\(event)")
        let command = try await admin.command([
            "why", "Shelf", "--vars", #"{"category":"Sci-Fi"}"#,
        ])
        try await page.expect(
            "condition_false", "movies/Shelf", #"{"category": "Sci-Fi"}"#,
            says: "mutation.variables.title: 'Drama' ≠ 'Sci-Fi'")
        #expect(command.contains("STALE  condition_false") && command.contains("'Drama' ≠ 'Sci-Fi'"), "\(command)")
        #expect(subscriber.pendingMessages == 0)
        // One that the condition lets through refreshes it.
        try await add(address, "2", "Sci-Fi", title: "Sci-Fi")
        _ = try await subscriber.data { ($0["movies"]?.arrayValue ?? []).count == 2 }
        let after = try await admin.expect("fresh", question)
        let run = try #require(after["runs"]?[0])
        #expect(run["outcome"]?.stringValue == "changed" && run["causes"]?[0]?.stringValue == "rule", "\(run)")
        // By session, and by key.
        let session = try #require(after["gateways"]?[0]?["sessions"]?[0]?["session"]?.stringValue)
        try await admin.expect("fresh", "why?session=\(session)")
        let key = try #require(after["query"]?["key"]?.stringValue)
        try await admin.expect("fresh", "why?key=\(key)")
        // A session that follows the operation twice: the operation does not tell which one is meant.
        subscriber.subscribe("Shelf", ["category": "Drama"], id: "2")
        let choose = try await admin.expect("choose", "why?session=\(session)&operation=Shelf")
        #expect(Set(choose.rows("choices").compactMap { $0["key"]?.stringValue }).count == 2, "\(choose)")
        let one = try await admin.expect("fresh", "why?session=\(session)&key=\(key)")
        #expect(one["query"]?["variables"]?["category"]?.stringValue == "Sci-Fi", "\(one)")
        try await page.choose(session: session, key: key, "fresh", says: "The screen is fresh")
        let told = try await admin.command(["why", "--session", session, "--key", key])
        #expect(told.contains("FRESH"), "\(told)")
        // Variables that no request target could hold.
        let long = String(repeating: "x", count: 20_000)
        let asked = try await admin.command(["why", "Shelf", "--vars", #"{"category":"\#(long)"}"#])
        #expect(asked.contains("UNCLEAR  not_followed"), "\(asked.prefix(400))")
        subscriber.socket.close()
    }

    private func missingRule(
        _ address: ServerAddress, _ admin: AdminClient, _ page: WhyPage, _ sql: PostgresOperator
    ) async throws {
        let subscriber = try await follow(address, "Everything", [:])
        _ = try await mutate(address, "Rename", ["id": "1", "title": "Renamed"])
        let answer = try await admin.expect("no_rule", "why?operation=movies/Everything")
        let missing = try #require(answer["staticRules"]?["missing"]?[0])
        #expect(missing["mutation"]?.stringValue == "movies/Rename", "\(missing)")
        #expect(missing["rule"]?.stringValue?.contains("operation: \"Rename\"") == true, "\(missing)")
        try await page.expect("no_rule", from: "live-queries", "movies/Everything", says: "movies/Rename")
        // A run has seen that. What another program writes later is not blamed on the mutation.
        // A mutation in the second before the run may count as later, as the clocks of nodes may differ.
        var number = 0
        let other = try await waitFor("a run that has seen the mutation") {
            number += 1
            try await add(address, "seen\(number)", "Any", title: "Seen")
            try await admin.expect("fresh", "why?operation=movies/Everything")
            try sql.run("UPDATE movie SET title = 'By psql \(number)' WHERE id = '1'")
            let answer = try await admin.get("v1/why?operation=movies/Everything")
            return answer["verdict"]?["code"] == "stale_unexplained" ? answer : Optional.none
        }
        #expect(
            other["verdict"]?["sentence"]?.stringValue?.contains("something wrote without Freshet") == true, "\(other)")
        subscriber.socket.close()
    }

    private func refusedByAuth(
        _ address: ServerAddress, _ admin: AdminClient, _ page: WhyPage
    ) async throws {
        try await admin.expect("auth_refused", "why?operation=movies/Mine")
        try await admin.expect("auth_refused", #"why?operation=movies/Staff&claims={"sub":"bob","role":"guest"}"#)
        try await page.expect(
            "auth_refused", "movies/Staff", uid: "bob", claims: #"{"role": "guest"}"#,
            says: "@auth refuses this user: ")
        let unclear = try await admin.expect(
            "not_followed", #"why?operation=movies/Staff&claims={"sub":"bob","role":"staff"}"#)
        #expect(unclear["verdict"]?["state"] == "unclear" && unclear["verdict"]?["isStale"] == true, "\(unclear)")
    }

    private func expiredToken(
        _ address: ServerAddress, _ admin: AdminClient, _ page: WhyPage
    ) async throws {
        let expiresAt = Int64(Date().timeIntervalSince1970) + 2
        let token = TestTokens.signed(uid: "ann", secret: Self.secret, expiresAt: expiresAt)
        let subscriber = try await follow(address, "Mine", [:], token: token)
        let question = "why?operation=movies/Mine&uid=ann"
        let before = try await admin.expect("fresh", question)
        #expect((before["gateways"]?[0]?["sessions"]?[0]?["tokenExpiresInMs"]?.intValue ?? 0) > 0, "\(before)")
        let session = try #require(before["gateways"]?[0]?["sessions"]?[0]?["session"]?.stringValue)
        _ = await subscriber.closeCode()
        let answer = try await admin.expect("token_expired", question)
        try await admin.expect("token_expired", "why?session=\(session)")
        #expect(answer["ended"]?[0]?["reason"]?.stringValue == "token_expired", "\(answer)")
        try await page.expect("token_expired", "movies/Mine", uid: "ann", says: "because its token had expired")
    }

    private func revokedUser(
        _ address: ServerAddress, _ admin: AdminClient, _ page: WhyPage
    ) async throws {
        let expiresAt = Int64(Date().timeIntervalSince1970) + 600
        let token = TestTokens.signed(uid: "eve", secret: Self.secret, expiresAt: expiresAt)
        let subscriber = try await follow(address, "Mine", [:], token: token)
        let row = try #require(try await admin.get("v1/sessions?user=eve").rows("sessions").first)
        let session = "\(admin.node)/\(row["id"]?.intValue ?? 0)"
        try await page.revoke("eve")
        _ = await subscriber.closeCode()
        // Nobody had asked about it before.
        let ended = try await admin.expect("user_revoked", "why?session=\(session)")
        #expect(ended["ended"]?[0]?["uid"]?.stringValue == "", "\(ended)")
        try await page.expect("user_revoked", session: session, says: "because its user was revoked")
        let answer = try await admin.expect("user_revoked", "why?operation=movies/Mine&uid=eve")
        #expect(answer["verdict"]?["sentence"]?.stringValue?.contains("eve is revoked") == true, "\(answer)")
        try await page.expect("user_revoked", "movies/Mine", uid: "eve", says: "The user eve is revoked")
    }

    private func stalledClient(
        _ address: ServerAddress, _ admin: AdminClient, _ page: WhyPage
    ) async throws {
        let silent = try await SilentClient.follow(address, "/v1/connectors/movies/queries/Long")
        let question = "why?operation=movies/Long"
        try await admin.wait("v1/" + question) { $0["gateways"]?[0]?["sessions"]?[0]?["digest"] != nil }
        let padding = String(repeating: "x", count: 200_000)
        // What fills the buffers of two sockets, and more.
        for number in 0..<16 { try await add(address, "long\(number)", "Long", title: padding) }
        let answer = try await admin.expect("client_stalled", question)
        let session = try #require(answer["gateways"]?[0]?["sessions"]?[0])
        #expect((session["pendingBytes"]?.intValue ?? 0) > 0 && session["isStalled"]?.boolValue == true)
        let name = try #require(session["session"]?.stringValue)
        try await admin.expect("client_stalled", "why?session=\(name)")
        try await page.expect("client_stalled", from: "sessions", "movies/Long", says: "does not read: ")
        try await silent.close()
    }

    private func questions(_ address: ServerAddress, _ admin: AdminClient) async throws {
        try await admin.expect("operation_unknown", "why?operation=movies/Nothing")
        try await admin.expect("variables_invalid", "why?operation=movies/Shelf")
        try await admin.expect("session_unknown", "why?session=nobody/7")
        let missing = try await admin.get("v1/why")
        #expect(missing["errors"]?[0]?["message"]?.stringValue?.contains("is required") == true)
        // Passwords are shown nowhere, nor what the project marks.
        for (operation, variable) in [("Secret", "password"), ("Pin", "pin")] {
            let subscriber = try await follow(address, operation, [variable: "hunter2"])
            let redacted = try await admin.expect(
                "fresh", #"why?operation=movies/\#(operation)&variables={"\#(variable)":"hunter2"}"#)
            #expect(!redacted.description.contains("hunter2"), "\(redacted)")
            #expect(redacted["query"]?["variables"]?[variable]?.stringValue == "(redacted)", "\(redacted)")
            subscriber.socket.close()
        }
    }

    /// A new live query whose runs fail, by what operators see without asking about it.
    private func failingRuns(
        _ address: ServerAddress, _ admin: AdminClient, _ page: WhyPage, _ sql: PostgresOperator
    ) async throws {
        try sql.run("ALTER TABLE movie RENAME COLUMN title TO gone")
        let subscriber = try await Subscriber.connect(address)
        subscriber.subscribe("Shelf", ["category": "Broken"])
        let overview = try await admin.wait("v1/overview") { overview in
            overview.rows("problems").contains {
                let sentence = $0["sentence"]?.stringValue ?? ""
                return sentence.contains(" on \(admin.node) fail") && sentence.contains("movies/Shelf")
            }
        }
        let worker = overview.rows("statuses").first?["worker"]
        #expect((worker?["failing"]?.intValue ?? 0) > 0, "\(overview)")
        let failure = try #require(worker?["lastFailure"])
        #expect(failure["operation"]?.stringValue == "movies/Shelf", "\(failure)")
        #expect(failure["message"]?.stringValue?.contains("Broken") == false, "\(failure)")
        try await admin.expect("run_failing", "why?key=\(failure["key"]?.stringValue ?? "")")
        #expect(try await admin.command(["status"]).contains("movies/Shelf"))
        try await page.home(says: "the last movies/Shelf")
        let metrics = try await HTTPCall.send(.GET, admin.address, path: "/metrics")
        let counted = String(decoding: metrics.body, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix("freshet_refresh_failed_total") }
        #expect(counted.map { !$0.hasSuffix(" 0") } == true, "\(counted ?? "")")
        try sql.run("ALTER TABLE movie RENAME COLUMN gone TO title")
        subscriber.socket.close()
    }

    /// The console follows a query as any user, past `@auth` only as administrator.
    private func followedAsUsers(_ admin: AdminClient) async throws {
        func result(_ query: String) async throws -> JSONValue {
            let lines = LineLog()
            let path = query.addingPercentEncoding(withAllowedCharacters: .urlQueryAllowed) ?? query
            let following = Task {
                try await HTTPLines.follow(admin.address, path: "/admin/v1/follow/movies/\(path)") { lines.append($0) }
            }
            defer { following.cancel() }
            return try await waitFor("a result of \(query)") { lines.firstData }
        }
        func refusal(_ query: String) async throws -> String? {
            let path = query.addingPercentEncoding(withAllowedCharacters: .urlQueryAllowed) ?? query
            return try await admin.get("v1/follow/movies/\(path)")["errors"]?[0]?["extensions"]?["code"]?.stringValue
        }
        // `Mine` lists the film with the user's id.
        #expect(try await result("Mine?uid=1")["data"]?["movies"]?[0]?["id"]?.stringValue == "1")
        #expect(try await result("Mine?uid=zoe")["data"]?.rows("movies").isEmpty == true)
        #expect(try await refusal("Mine?as=signed-out") == "UNAUTHENTICATED")
        #expect(try await refusal(#"Staff?uid=bob&claims={"role":"guest"}"#) == "PERMISSION_DENIED")
        for path in [#"Staff?uid=bob&claims={"role":"staff"}"#, "Staff", "Everything?as=signed-out"] {
            #expect(try await result(path)["data"]?.rows("movies").isEmpty == false, "\(path)")
        }
    }

    /// Ends of nodes, seen from another one.
    @Test func namesWhatHappensToNodes() async throws {
        try await withCluster { cluster, _, browser in
            let front = try await cluster.start(roles: "api,gateway,admin", settings: Self.auth)
            let back = try await cluster.start(
                roles: "worker,gateway,admin", settings: Self.auth + ["drain.sessionsMs=0"])
            let admin = try await AdminClient(front.process)
            let other = try await AdminClient(back.process)
            let page = try await WhyPage.open(browser, admin)
            let subscriber = try await follow(front.address, "Everything", [:])
            let elsewhere = try await follow(back.address, "Everything", [:])
            let question = "why?operation=movies/Everything"
            let answer = try await admin.expect("fresh", question)
            #expect(answer["registered"]?["node"]?.stringValue == other.node, "\(answer)")
            #expect(answer["gateways"]?.arrayValue?.count == 2, "\(answer)")
            try await trace(front.address, admin, subscriber)
            try await tail(front.address, other, subscriber)

            // The session of a drained node.
            let sessions = answer["gateways"]?.arrayValue?.flatMap { $0["sessions"]?.arrayValue ?? [] } ?? []
            let name = try #require(
                sessions.compactMap { $0["session"]?.stringValue }.first { $0.hasPrefix(other.node + "/") })
            #expect(try await admin.post("nodes/\(other.node)/drain").status == 200)
            _ = await elsewhere.closeCode()
            try await admin.expect("node_drained", "why?session=\(name)")
            try await page.expect("node_drained", session: name, says: "node")
            #expect(try await admin.post("nodes/\(other.node)/undrain").status == 200)
            try await admin.wait("shards") { $0.rows("shards").allSatisfy { $0["verdict"]?.stringValue == "ok" } }

            // No worker is left.
            await back.process.crash()
            let lost = try await admin.expect("no_owner", question)
            #expect(lost["shard"]?["owner"] == nil, "\(lost)")
            try await page.expect("no_owner", "movies/Everything", says: "has no owner")
            subscriber.socket.close()
        }
    }

    /// Faults of the database and of other servers, and a project that changes.
    @Test func namesWhatHappensAroundNodes() async throws {
        let people = try await SilentServer.start()
        var files = Self.files
        files["dataconnect.yaml"] = """
            specVersion: v1
            serviceId: movies
            location: local
            schemas:
              - {source: ./schema, datasource: {postgresql: {}}}
              - id: people
                source: ./people
                datasource: {httpGraphql: {uri: "http://127.0.0.1:\(people.port)/graphql", timeout: 60s}}
            connectorDirs: [./movies]
            """
        files["people/people.gql"] = "type Person { name: String } type Query { person(id: ID!): Person }\n"
        files["refresh.yaml"] = "automatic: off\nsource: wal\noperations:\n  movies/Watched: {automatic: lists}\n"
        files["movies/more.gql"] = """
            query Profile @auth(level: PUBLIC) @refresh(onMutationExecuted: {operation: "Add"}) {
              person(id: "1") { name }
              movies { id }
            }
            query Watched @auth(level: PUBLIC) { movies(where: {category: {eq: "Watched"}}, limit: 10) { id title } }
            """
        // The database keeps little log for a slot that nobody reads.
        let small = [
            "max_slot_wal_keep_size": "1MB", "max_wal_size": "32MB", "min_wal_size": "32MB", "wal_keep_size": "0",
        ]
        try await withCluster(files, postgres: small) { cluster, folder, browser in
            let sql = try PostgresOperator(cluster.servers.postgres)
            // A role that may not make a replication slot.
            try sql.run(Self.role)
            let superuser = cluster.servers.postgres
            cluster.environment["FRESHET_POSTGRES_URL"] =
                "host=\(superuser.socketDirectory) port=5432 user=app password=app dbname=\(superuser.databaseName)"
            cluster.environment["FRESHET_WORKER_VERIFY_PER_SECOND"] = "0"
            let node = try await cluster.start(
                roles: "api,worker,gateway,admin", settings: Self.auth + ["deploy.pollMs=100ms", "deploy.keepMs=10m"])
            let admin = try await AdminClient(node.process)
            let page = try await WhyPage.open(browser, admin)
            // Only the log would tell what another program writes.
            let watched = try await follow(node.address, "Watched", [:])
            try await admin.expect("fresh", "why?operation=movies/Watched")
            try sql.run("INSERT INTO movie (id, category, title) VALUES ('w', 'Watched', 'By psql')")
            let lost = try await admin.expect("slot_lost", "why?operation=movies/Watched")
            // The database's own words for the obstacle.
            let obstacle = try #require(lost["verdict"]?["sentence"]?.stringValue)
            try await page.expect("slot_lost", "movies/Watched", says: obstacle)
            try await lostSlot(admin, page, sql)
            watched.socket.close()

            // A server that never answers.
            let profile = try await Subscriber.connect(node.address)
            profile.subscribe("Profile", [:])
            let hanging = try await admin.expect("resolver_hangs", "why?operation=movies/Profile&truth=no")
            #expect(
                hanging["verdict"]?["sentence"]?.stringValue?.contains("http://127.0.0.1:\(people.port)") == true,
                "\(hanging)")
            try await page.expect(
                "resolver_hangs", "movies/Profile", says: "the custom resolver http://127.0.0.1:\(people.port)")
            profile.socket.close()

            // A new version, while a session follows the former one.
            let former = try await follow(node.address, "Everything", [:])
            let text = try String(contentsOfFile: folder.path + "/movies/movies.gql", encoding: .utf8)
            try folder.write([
                "movies/movies.gql": text.replacingOccurrences(
                    of: "movies(orderBy: [{id: ASC}]) { id title }",
                    with: "movies(orderBy: [{id: ASC}]) { id title category }")
            ])
            let deployed = try await RolloutTests.deploy(cluster, [folder.path])
            #expect(deployed.code == 0, "\(deployed.output)")
            let answer = try await admin.expect("other_version", "why?operation=movies/Everything")
            #expect(answer["query"]?["isCurrentVersion"]?.boolValue == false, "\(answer)")
            try await page.expect("other_version", "movies/Everything", says: "a former version of the project")
            former.socket.close()
        }
        try await people.close()
    }

    /// A slot that is read, and then neither read nor replaced while the database removes its log.
    private func lostSlot(_ admin: AdminClient, _ page: WhyPage, _ sql: PostgresOperator) async throws {
        try sql.run("ALTER ROLE app REPLICATION")
        try sql.until("SELECT count(*) FROM pg_replication_slots WHERE active", is: "1")
        try await admin.expect("fresh", "why?operation=movies/Watched")
        try sql.run("ALTER ROLE app NOREPLICATION")
        try sql.run("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active")
        try sql.run("CREATE TABLE waste AS SELECT repeat(md5(n::text), 30) FROM generate_series(1, 100000) AS n")
        while try sql.run("SELECT wal_status FROM pg_replication_slots") != "lost" {
            try sql.run("SELECT pg_switch_wal(); CHECKPOINT")
            try Task.checkCancellation()
        }
        try sql.run("UPDATE movie SET title = 'By psql, unseen' WHERE id = 'w'")
        let name = try sql.run("SELECT slot_name FROM pg_replication_slots")
        let words = "the replication slot \(name) is lost"
        let lost = try await admin.expect("slot_lost", "why?operation=movies/Watched")
        #expect(lost["verdict"]?["sentence"]?.stringValue?.contains(words) == true, "\(lost)")
        try await page.expect("slot_lost", "movies/Watched", says: words)
        let overview = try await admin.wait("v1/overview") { overview in
            overview.rows("problems").contains {
                $0["sentence"]?.stringValue?.hasPrefix("The replication slot \(name) is lost") == true
            }
        }
        #expect(overview["level"] == "critical", "\(overview)")
        let status = try await admin.command(["status"])
        #expect(status.contains("The replication slot \(name) is lost") && status.contains("noeviction"), "\(status)")
        try await page.home(says: "is lost")
    }

    private static let role = """
        CREATE ROLE app LOGIN PASSWORD 'app';
        GRANT USAGE ON SCHEMA freshet TO app;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA freshet TO app;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app;
        GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO app
        """

    private func trace(_ address: ServerAddress, _ admin: AdminClient, _ subscriber: Subscriber) async throws {
        let response = try await HTTPCall.send(
            .POST, address, path: "/v1/connectors/movies/mutations/Add",
            headers: ["content-type": "application/json", "x-freshet-trace": "1"],
            body: JSONWriter.compact([
                "variables": ["id": "traced", "category": "Any", "title": "Traced"]
            ]))
        let id = try #require(response.headers.first(name: "x-freshet-trace"))
        #expect(id == response.headers.first(name: "x-trace-id"))
        _ = try await subscriber.data {
            ($0["movies"]?.arrayValue ?? []).contains { $0["id"]?.stringValue == "traced" }
        }
        let answer = try await admin.wait("v1/trace/\(id)") { answer in
            Set((answer["spans"]?.arrayValue ?? []).compactMap { $0["kind"]?.stringValue }).isSuperset(of: [
                "received", "committed", "published", "matched", "query", "ran", "arrived", "delivered",
            ])
        }
        #expect(answer["mutation"]?.stringValue == "movies/Add", "\(answer)")
        #expect(answer["sentence"]?.stringValue?.contains("reached") == true, "\(answer)")
        let spans = answer["spans"]?.arrayValue ?? []
        #expect(Set(spans.compactMap { $0["node"]?.stringValue }).count == 2, "\(answer)")
        #expect(spans.first { $0["kind"]?.stringValue == "committed" }?["ms"]?.doubleValue == 0)
        #expect(try await admin.command(["trace", id]).contains("Committed"))
        #expect(try await admin.get("v1/trace/nothing")["errors"]?[0]?["message"]?.stringValue != nil)
        // Nobody asked for a trace of this one.
        let plain = try await mutate(address, "Add", ["id": "plain", "category": "Any", "title": "Plain"])
        #expect(plain.headers.first(name: "x-freshet-trace") == nil)
    }

    private func tail(_ address: ServerAddress, _ admin: AdminClient, _ subscriber: Subscriber) async throws {
        let lines = LineLog()
        let following = Task {
            try await HTTPLines.follow(
                admin.address, path: "/admin/v1/tail?kind=events,runs&operation=Everything", { lines.append($0) })
        }
        try await admin.wait("v1/recording") { $0["tails"]?.intValue.map(Int.init) == $0["nodes"]?.arrayValue?.count }
        _ = try await mutate(address, "Add", ["id": "tailed", "category": "Any", "title": "Tailed"])
        let run = try await waitFor("a run in the tail") { lines.data(of: "run") }
        #expect(run["operation"]?.stringValue == "movies/Everything" && run["outcome"]?.stringValue == "changed")
        following.cancel()
        _ = await following.result
        // Nothing is recorded once the reader is gone.
        try await admin.wait("v1/recording") { $0["tails"]?.intValue == 0 }
    }

    // MARK: Support

    private static let files = MovieProject.files(
        fields: "id: String! category: String! title: String!",
        operations: """
            query Shelf($category: String!) @auth(level: PUBLIC)
              @refresh(onMutationExecuted: {
                operation: "Add", condition: "mutation.variables.title == request.variables.category"
              }) {
              movies(where: {category: {eq: $category}}, orderBy: [{id: ASC}]) { id title }
            }
            query Everything @auth(level: PUBLIC) @refresh(onMutationExecuted: {operation: "Add"}) {
              movies(orderBy: [{id: ASC}]) { id title }
            }
            query Long @auth(level: PUBLIC) @refresh(onMutationExecuted: {operation: "Add"}) {
              movies(where: {category: {eq: "Long"}}, orderBy: [{id: ASC}]) { id title }
            }
            query Mine @auth(level: USER) @refresh(onMutationExecuted: {operation: "Add"}) {
              movies(where: {id: {eq_expr: "auth.uid"}}) { id }
            }
            query Staff @auth(expr: "auth.token.role == 'staff'") @refresh(onMutationExecuted: {operation: "Add"}) {
              movies { id }
            }
            # freshet: redact
            query Pin($pin: String!) @auth(level: PUBLIC) @refresh(onMutationExecuted: {operation: "Add"}) {
              movies(where: {title: {eq: $pin}}) { id }
            }
            query Secret($password: String!) @auth(level: PUBLIC) @refresh(onMutationExecuted: {operation: "Add"}) {
              movies(where: {title: {eq: $password}}) { id }
            }
            mutation Add($id: String!, $category: String!, $title: String!) @auth(level: PUBLIC) {
              movie_insert(data: {id: $id, category: $category, title: $title})
            }
            mutation Rename($id: String!, $title: String!) @auth(level: PUBLIC) {
              movie_updateMany(where: {id: {eq: $id}}, data: {title: $title})
            }
            """)

    private func withCluster(
        _ files: [String: String] = files, postgres: [String: String] = [:],
        _ body: (Cluster, TemporaryFolder, Browser) async throws -> Void
    ) async throws {
        let path = try Browser.required()
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try folder.write(files)
        try await Cluster.with(project: folder.path, postgres: postgres) { cluster in
            try await Browser.with(path) { try await body(cluster, folder, $0) }
        }
    }

    private func follow(
        _ address: ServerAddress, _ operation: String, _ variables: JSONObject, token: String? = nil
    ) async throws -> Subscriber {
        let subscriber = try await Subscriber.connect(
            address, payload: token.map { ["Authorization": .string("Bearer \($0)")] })
        subscriber.subscribe(operation, variables)
        _ = try await subscriber.data()
        return subscriber
    }

    private func mutate(
        _ address: ServerAddress, _ operation: String, _ variables: JSONObject
    ) async throws -> HTTPCall.Response {
        let response = try await HTTPCall.send(
            .POST, address, path: "/v1/connectors/movies/mutations/\(operation)",
            headers: ["content-type": "application/json"],
            body: JSONWriter.compact(["variables": .object(variables)]))
        try #require(response.status == 200, "\(String(decoding: response.body, as: UTF8.self))")
        return response
    }

    private func add(_ address: ServerAddress, _ id: String, _ category: String, title: String) async throws {
        _ = try await mutate(
            address, "Add", ["id": .string(id), "category": .string(category), "title": .string(title)])
    }
}

extension AdminClient {
    /// Asks why until the verdict has this code: what is on its way may take a moment.
    @discardableResult
    fileprivate func expect(_ code: String, _ question: String) async throws -> JSONValue {
        let path = "v1/" + (question.addingPercentEncoding(withAllowedCharacters: .urlQueryAllowed) ?? question)
        var last = JSONValue.null
        return try await waitFor("\(code) to \(question), last \(last["verdict"] ?? last)") {
            let response = try await HTTPCall.send(
                .GET, address, path: "/admin/" + path, headers: ["x-freshet-operator": "the test"])
            last = try JSONParser.parse(response.body)
            return last["verdict"]?["code"]?.stringValue == code ? last : Optional.none
        }
    }
}

/// A server that takes requests and answers none.
private struct SilentServer {
    let channel: any Channel
    var port: Int { channel.localAddress?.port ?? 0 }

    static func start() async throws -> SilentServer {
        SilentServer(
            channel: try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .bind(host: "127.0.0.1", port: 0).get())
    }

    func close() async throws { try await channel.close() }
}

/// A client that asks for an event stream and reads nothing of it.
private struct SilentClient {
    let channel: any Channel

    static func follow(_ address: ServerAddress, _ path: String) async throws -> SilentClient {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .channelOption(.socketOption(.so_rcvbuf), value: 4_096)
            .connect(host: address.host, port: address.port).get()
        try await channel.writeAndFlush(
            ByteBuffer(string: "GET \(path) HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n"))
        return SilentClient(channel: channel)
    }

    func close() async throws { try await channel.close() }
}
