import Chaos
import ProtocolClients
import Foundation
import JSON
import LocalServers
import Logging
import NIOHTTP1
import Postgres
import TestSupport
import Testing

/// Mutations that are sent again with their idempotency key, on nodes over a real Postgres and Redis.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct IdempotencyTests {
    private static let secret = "0123456789abcdef0123456789abcdef"
    private static let tokens = ["auth.mode=hs256", "auth.hs256Secret=\(secret)"]

    /// Questions about one lot. Each application of the mutation leaves a row, whose key is in the answer.
    private struct Asking: Sendable {
        let lot: String
        let pool: PostgresPool

        func variables(_ text: String) -> JSONObject {
            ["lotId": .string(lot), "name": "Ann", "text": .string(text)]
        }

        func ask(
            _ address: ServerAddress, _ text: String, key: String, token: String? = nil, connector: String = "auctions"
        ) async throws -> (status: Int, body: JSONValue, headers: HTTPHeaders) {
            try await IdempotencyTests.send(
                address, "AskQuestion", variables(text), key: key, token: token, connector: connector)
        }

        /// How often a question was asked.
        func count(_ text: String) async throws -> Int? {
            try await pool.query("SELECT count(*) FROM question WHERE text = $1::text", [.text(text)])
                .rows.first?.int(0)
        }

        /// Waits until another connection of the nodes waits for a lock.
        func isBlocked() async throws {
            try await waitUntil("a statement that waits for a lock") {
                try await pool.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
                    .rows.first?.int(0) == 1
            }
        }

        /// Waits until a node has looked whether a key is free again.
        func isLookedFor() async throws {
            try await waitUntil("a mutation that waits for another one") {
                try await pool.query(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE query LIKE '%pg_try_advisory_lock_shared%' AND pid <> pg_backend_pid()
                    """
                ).rows.first?.int(0) ?? 0 > 0
            }
        }

        /// Runs `body` while nobody can refer to the lot, so that a question that was asked is under way.
        func holding<T: Sendable>(_ body: (_ release: () async throws -> Void) async throws -> T) async throws -> T {
            try await pool.withSession { session in
                try await session.begin()
                try await session.execute(
                    "SELECT id FROM lot WHERE id = $1::uuid FOR UPDATE", [.text(lot)])
                return try await body { try await session.rollback() }
            }
        }
    }

    private static func send(
        _ address: ServerAddress, _ operation: String, _ variables: JSONObject, key: String, token: String? = nil,
        connector: String = "auctions"
    ) async throws -> (status: Int, body: JSONValue, headers: HTTPHeaders) {
        var headers: HTTPHeaders = ["content-type": "application/json", "idempotency-key": key]
        if let token { headers.add(name: "authorization", value: "Bearer \(token)") }
        let response = try await HTTPCall.send(
            .POST, address, path: "/v1/connectors/\(connector)/mutations/\(operation)", headers: headers,
            body: JSONWriter.compact(["variables": .object(variables)]))
        return (response.status, try JSONParser.parse(response.body), response.headers)
    }

    private static func code(_ body: JSONValue) -> String? { body["errors"]?[0]?["extensions"]?["code"]?.stringValue }

    private static func withCluster(
        project: String = SampleProject.path, listensOnLoopback: Bool = false,
        _ body: (Cluster, Asking) async throws -> Void
    ) async throws {
        try await Cluster.with(project: project, listensOnLoopback: listensOnLoopback) { cluster in
            let pool = PostgresPool(
                configuration: PostgresConfiguration(connectionString: cluster.servers.postgres.connectionString),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            try await pool.start()
            let outcome: Result<Void, any Error>
            do {
                let lot = try await pool.query("SELECT id FROM lot ORDER BY id LIMIT 1").rows.first?.string(0)
                try await body(cluster, Asking(lot: try #require(lot), pool: pool))
                outcome = .success(())
            } catch {
                outcome = .failure(error)
            }
            await pool.stop()
            try outcome.get()
        }
    }

    private static func metric(_ admin: ServerAddress?, _ name: String) async throws -> Int? {
        let text = try await HTTPCall.send(.GET, try #require(admin), path: "/metrics").body
        let line = String(decoding: text, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Double($0.split(separator: " ")[1]) }.map { Int($0) }
    }

    // MARK: Protocols

    @Test(arguments: ["plain", "graphql", "sockets", "shared", "sql-connect", "grpc"])
    func everyProtocolHasItsPlaceForTheKey(_ part: String) async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway", settings: Self.tokens)
            let url = "http://\(node.address.host):\(node.address.port)"
            try await PythonClients.run(
                "idempotency_client.py", [part, url, TestTokens.signed(uid: "ann", secret: Self.secret)])
        }
    }

    @Test func theCommandLineSendsAKey() async throws {
        try await Self.withCluster { cluster, asking in
            let node = try await cluster.start(roles: "api")
            let variables = String(decoding: JSONWriter.compact(.object(asking.variables("by tool"))), as: UTF8.self)
            var outputs: [String] = []
            for _ in 0..<2 {
                let tool = try FreshetProcess([
                    "execute", "AskQuestion", "--vars", variables, "--idempotency-key", UUID.fixed, "--url",
                    "http://\(node.address.host):\(node.address.port)",
                ])
                #expect(await tool.waitForExit() == 0, "\(tool.output)")
                outputs.append(tool.output)
            }
            #expect(outputs[0] == outputs[1] && outputs[0].contains("question_insert"))
            #expect(try await asking.count("by tool") == 1)
        }
    }

    // MARK: Whose key

    @Test func usersAndConnectorsDoNotShareKeys() async throws {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let project = temporary.path + "/project"
        try FileManager.default.copyItem(atPath: SampleProject.path, toPath: project)
        try FileManager.default.createDirectory(atPath: project + "/second", withIntermediateDirectories: true)
        try "connectorId: second\n".write(
            toFile: project + "/second/connector.yaml", atomically: true, encoding: .utf8)
        try """
        mutation AskQuestion($lotId: UUID!, $name: String!, $text: String!) @auth(level: PUBLIC) {
          question_insert(data: {lotId: $lotId, name: $name, text: $text})
        }
        """.write(toFile: project + "/second/second.gql", atomically: true, encoding: .utf8)
        let file = project + "/dataconnect.yaml"
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let changed = text.replacingOccurrences(of: "\"./connector\"", with: "\"./connector\", \"./second\"")
        try #require(changed != text)
        try changed.write(toFile: file, atomically: true, encoding: .utf8)
        try await Self.withCluster(project: project) { cluster, asking in
            let node = try await cluster.start(roles: "api", settings: Self.tokens).address
            let (ann, bob) = (
                TestTokens.signed(uid: "ann", secret: Self.secret), TestTokens.signed(uid: "bob", secret: Self.secret)
            )
            // A later token of the same user is the same user's.
            let later = TestTokens.signed(uid: "ann", secret: Self.secret, expiresAt: 4_102_444_000)
            let first = try await asking.ask(node, "mine", key: UUID.fixed, token: ann)
            let others = [
                try await asking.ask(node, "mine", key: UUID.fixed, token: bob),
                try await asking.ask(node, "mine", key: UUID.fixed),
                try await asking.ask(node, "mine", key: UUID.fixed, token: ann, connector: "second"),
            ]
            #expect(Set(others.map(\.body) + [first.body]).count == 4)
            #expect(try await asking.count("mine") == 4)
            #expect(try await asking.ask(node, "mine", key: UUID.fixed, token: later).body == first.body)
            #expect(try await asking.ask(node, "mine", key: UUID.fixed, token: bob).body == others[0].body)
            #expect(try await asking.count("mine") == 4)
            // A user's key may be short, one that is nobody's may not.
            #expect(try await asking.ask(node, "short", key: "1", token: ann).status == 200)
            #expect(try await asking.ask(node, "short", key: "1").status == 400)
        }
    }

    @Test func administratorsHaveKeysOfTheirOwn() async throws {
        try await Self.withCluster { cluster, asking in
            let node = try await cluster.start(roles: "api,admin", settings: Self.tokens)
            let admin = try #require(node.admin)
            let service = "/v1/projects/p/locations/us-central1/services/auctions"
            func call(
                _ path: String, _ body: JSONObject, header: String? = nil
            ) async throws -> (status: Int, body: JSONValue) {
                var headers: HTTPHeaders = ["content-type": "application/json"]
                if let header { headers.add(name: "idempotency-key", value: header) }
                let response = try await HTTPCall.send(
                    .POST, admin, path: service + path, headers: headers, body: JSONWriter.compact(.object(body)))
                return (response.status, try JSONParser.parse(response.body))
            }
            func adHoc(_ text: String, _ name: String = "ad hoc") -> JSONObject {
                let insert = "question_insert(data: {lotId: $lotId, name: $name, text: $text})"
                return [
                    "query": .string("mutation ($lotId: UUID!, $name: String!, $text: String!) { \(text): \(insert) }"),
                    "variables": .object(asking.variables(name)),
                ]
            }
            // An ad-hoc text has no name of its own, so another text is another request.
            let first = try await call(":executeGraphql", adHoc("a"), header: "one")
            #expect(first.status == 200 && first.body["data"]?["a"]?["id"] != nil, "\(first)")
            #expect(try await call(":executeGraphql", adHoc("a"), header: "\"one\"").body == first.body)
            #expect(try await call(":executeGraphql", adHoc("b"), header: "one").status == 422)
            #expect(try await call(":executeGraphql", adHoc("a", "else"), header: "one").status == 422)
            #expect(try await asking.count("ad hoc") == 1)
            #expect(try await call(":executeGraphql", adHoc("a")).body != first.body, "without a key")

            // In the body, impersonated; the user's own key is another one.
            var stored: JSONObject = [
                "operationName": "AskQuestion", "variables": .object(asking.variables("as ann")),
                "extensions": ["idempotencyKey": "two", "impersonate": ["authClaims": ["sub": "ann"]]],
            ]
            let impersonated = try await call("/connectors/auctions:impersonateMutation", stored)
            #expect(impersonated.status == 200, "\(impersonated)")
            #expect(
                try await call("/connectors/auctions:impersonateMutation", stored, header: "two").body
                    == impersonated.body)
            #expect(try await call("/connectors/auctions:impersonateMutation", stored, header: "three").status == 400)
            let ann = TestTokens.signed(uid: "ann", secret: Self.secret)
            let own = try await asking.ask(node.address, "as ann", key: "two", token: ann)
            #expect(own.status == 200 && own.body["data"] != impersonated.body["data"])
            stored["extensions"] = ["idempotencyKey": "two"]
            let administrator = try await call("/connectors/auctions:impersonateMutation", stored)
            #expect(administrator.status == 200 && administrator.body["data"] != impersonated.body["data"])
            #expect(try await asking.count("as ann") == 3)
            #expect(try await Self.metric(admin, "freshet_idempotency_replayed_total") == 2)
        }
    }

    // MARK: Under way

    /// The second is sent to another node than the first.
    @Test func aRetryWaitsForTheFirstAndGetsItsAnswer() async throws {
        try await Self.withCluster { cluster, asking in
            let one = try await cluster.start(roles: "api,admin")
            let two = try await cluster.start(roles: "api,admin")
            let answers = try await asking.holding { release in
                async let first = asking.ask(one.address, "slow", key: UUID.fixed)
                try await asking.isBlocked()
                async let second = asking.ask(two.address, "slow", key: UUID.fixed)
                try await asking.isLookedFor()
                // Meanwhile, another request with the key is refused as soon as the first has ended, not before.
                async let other = asking.ask(two.address, "other", key: UUID.fixed)
                try await release()
                return try await [first.body, second.body, other.body]
            }
            #expect(answers[0]["data"]?["question_insert"]?["id"] != nil)
            #expect(answers[0] == answers[1])
            #expect(Self.code(answers[2]) == "IDEMPOTENCY_KEY_REUSED")
            #expect(try await asking.count("slow") == 1)
            #expect(try await asking.count("other") == 0)
            #expect(try await Self.metric(one.admin, "freshet_idempotency_kept_total") == 1)
            #expect(try await Self.metric(two.admin, "freshet_idempotency_replayed_total") == 1)
            #expect(try await Self.metric(two.admin, "freshet_idempotency_waited_total") == 1)
            #expect(try await Self.metric(two.admin, "freshet_idempotency_conflicts_total") == 1)
        }
    }

    @Test func aRetryDoesNotWaitForEver() async throws {
        try await Self.withCluster { cluster, asking in
            let node = try await cluster.start(roles: "api,admin", settings: ["api.idempotencyWaitMs=100"])
            let (first, second) = try await asking.holding { release in
                async let first = asking.ask(node.address, "slow", key: UUID.fixed)
                try await asking.isBlocked()
                let second = try await asking.ask(node.address, "slow", key: UUID.fixed)
                try await release()
                return (try await first, second)
            }
            #expect(second.status == 409 && Self.code(second.body) == "IDEMPOTENCY_KEY_IN_USE")
            #expect(second.headers.first(name: "retry-after") == "1")
            #expect(first.status == 200)
            #expect(try await asking.ask(node.address, "slow", key: UUID.fixed).body == first.body)
            #expect(try await Self.metric(node.admin, "freshet_idempotency_in_use_total") == 1)
        }
    }

    /// The first fails after the retry began to wait, which then runs.
    @Test func aRetryRunsWhenTheFirstWasRolledBack() async throws {
        try await Self.withCluster { cluster, asking in
            let node = try await cluster.start(roles: "api").address
            let second = try await asking.holding { release in
                async let first = asking.ask(node, "slow", key: UUID.fixed)
                try await asking.isBlocked()
                async let second = asking.ask(node, "slow", key: UUID.fixed)
                try await asking.isLookedFor()
                try await asking.pool.script(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE wait_event_type = 'Lock' AND pid <> pg_backend_pid()
                    """)
                #expect(try await first.status >= 500)
                try await release()
                return try await second
            }
            #expect(second.status == 200)
            #expect(try await asking.count("slow") == 1)
        }
    }

    // MARK: Failures

    @Test func aMutationThatWasRolledBackLeavesNothing() async throws {
        try await Self.withCluster { cluster, asking in
            let node = try await cluster.start(roles: "api").address
            let missing = "00000000-0000-4000-8000-000000000001"
            let variables: JSONObject = ["lotId": .string(missing), "name": "Ann", "text": "early"]
            let failed = try await Self.send(node, "AskQuestion", variables, key: UUID.fixed)
            #expect(failed.status == 409 && Self.code(failed.body) == "CONSTRAINT_VIOLATION")
            #expect(try await asking.pool.query("SELECT count(*) FROM freshet.idempotency_keys").rows[0].int(0) == 0)
            try await asking.pool.script(
                """
                INSERT INTO lot (id, title, category, start_price, bid_count, open, closes_at, created_at)
                VALUES ('\(missing)', 't', 'Books', 1, 0, true, now(), now())
                """)
            let second = try await Self.send(node, "AskQuestion", variables, key: UUID.fixed)
            #expect(second.status == 200)
            #expect(try await Self.send(node, "AskQuestion", variables, key: UUID.fixed).body == second.body)
            #expect(try await asking.count("early") == 1)
        }
    }

    /// Checks that fail, too: nothing was done, so the retry runs.
    @Test func aFailedCheckIsCheckedAgain() async throws {
        try await Self.withCluster { cluster, asking in
            let node = try await cluster.start(roles: "api").address
            let found = try await asking.pool.query("SELECT category FROM lot WHERE id = $1::uuid", [.text(asking.lot)])
            let category = try #require(found.rows.first?.string(0))
            let move: JSONObject = ["id": .string(asking.lot), "from": "Elsewhere", "to": "There"]
            let failed = try await Self.send(node, "MoveLot", move, key: UUID.fixed)
            #expect(failed.status == 403)
            try await asking.pool.script("UPDATE lot SET category = 'Elsewhere' WHERE id = '\(asking.lot)'")
            let moved = try await Self.send(node, "MoveLot", move, key: UUID.fixed)
            #expect(moved.status == 200, "\(moved.body)")
            // The lot is of another category now; the answer is still the first one.
            try await asking.pool.script("UPDATE lot SET category = '\(category)' WHERE id = '\(asking.lot)'")
            let again = try await Self.send(node, "MoveLot", move, key: UUID.fixed)
            #expect(again.status == 200 && again.body == moved.body)
        }
    }

    /// The commit is certain, and nobody heard of it: the node is killed before it can answer.
    @Test func aNodeThatDiedBetweenCommitAndAnswer() async throws {
        try await Self.withCluster(listensOnLoopback: true) { cluster, asking in
            let postgres = cluster.servers.postgres
            let port = try #require(postgres.port)
            let link = try await FaultyLink.start(to: port)
            let behind = try #require(postgres.loopbackConnectionString)
                .replacingOccurrences(of: "port=\(port) ", with: "port=\(link.port) ")
            let first = try await cluster.start(roles: "api", settings: ["postgres.url=\(behind)"])
            let lost = try await asking.holding { release in
                let lost = Task { try await asking.ask(first.address, "lost", key: UUID.fixed) }
                try await asking.isBlocked()
                // Postgres has the whole mutation, and its answers no longer arrive.
                await link.set(.silent)
                try await release()
                return lost
            }
            try await waitUntil("the commit") { try await asking.count("lost") == 1 }
            await first.process.crash()
            await #expect(throws: (any Error).self) { try await lost.value }
            let second = try await cluster.start(roles: "api").address
            let answer = try await asking.ask(second, "lost", key: UUID.fixed)
            #expect(answer.status == 200)
            let id = try await asking.pool.query("SELECT id FROM question WHERE text = 'lost'").rows.first?.string(0)
            let answered = answer.body["data"]?["question_insert"]?["id"]?.stringValue
            #expect(answered == id?.replacingOccurrences(of: "-", with: ""))
            #expect(try await asking.count("lost") == 1)
            await link.stop()
        }
    }

    // MARK: Bounds

    @Test func anAnswerThatIsTooLargeIsNotKept() async throws {
        try await Self.withCluster { cluster, asking in
            let node = try await cluster.start(roles: "api,admin", settings: ["api.idempotencyAnswerBytesMax=20"])
            #expect(try await asking.ask(node.address, "large", key: UUID.fixed).status == 200)
            let again = try await asking.ask(node.address, "large", key: UUID.fixed)
            #expect(again.status == 409 && Self.code(again.body) == "ALREADY_APPLIED")
            #expect(again.headers.first(name: "retry-after") == nil)
            #expect(try await asking.count("large") == 1)
            #expect(try await Self.metric(node.admin, "freshet_idempotency_too_large_total") == 1)
        }
    }

    @Test func keysEndAfterTheirTimeAndBeyondTheirNumber() async throws {
        try await Self.withCluster { cluster, asking in
            // One that hardly ever sweeps: a key that is over is free before it is removed.
            let node = try await cluster.start(roles: "api", settings: ["api.idempotencySweepMs=86400000"]).address
            let first = try await asking.ask(node, "old", key: UUID.fixed)
            let age = "UPDATE freshet.idempotency_keys SET created_at = clock_timestamp() - interval '1 day 1 s'"
            try await asking.pool.script(age)
            let second = try await asking.ask(node, "old", key: UUID.fixed)
            #expect(second.status == 200 && second.body != first.body)
            #expect(try await asking.ask(node, "old", key: UUID.fixed).body == second.body)
            #expect(try await asking.count("old") == 2)

            try await asking.pool.script(
                """
                \(age);
                INSERT INTO freshet.idempotency_keys (id, request, created_at)
                SELECT sha256(number::text::bytea), '', clock_timestamp() - make_interval(secs => number)
                FROM generate_series(1, 2500) AS number;
                """)
            let sweeping = try await cluster.start(
                roles: "api,admin", settings: ["api.idempotencySweepMs=100", "api.idempotencyRowsMax=1000"])
            try await waitUntil("the sweep") {
                try await asking.pool.query("SELECT count(*) FROM freshet.idempotency_keys").rows[0].int(0) == 1_000
            }
            let kept = try await asking.pool.query(
                "SELECT bool_and(created_at > clock_timestamp() - interval '20 min') FROM freshet.idempotency_keys")
            #expect(kept.rows[0].bool(0) == true)
            try await waitUntil("the counts") {
                let swept = try await Self.metric(sweeping.admin, "freshet_idempotency_swept_total")
                let evicted = try await Self.metric(sweeping.admin, "freshet_idempotency_evicted_total")
                return swept == 1 && evicted == 1_500
            }
        }
    }

    /// Kept answers are nothing for the reader of the database's log.
    @Test func noPublicationHasTheKeys() async throws {
        try await Self.withCluster { _, asking in
            let published = try await asking.pool.query(
                "SELECT count(*) FROM pg_publication_tables WHERE tablename = 'idempotency_keys'")
            #expect(published.rows[0].int(0) == 0)
        }
    }
}

extension UUID {
    /// A key that anyone may use.
    fileprivate static let fixed = "8e03978e-40d5-43e8-bc93-6894a57f9324"
}
