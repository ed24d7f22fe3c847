import Foundation
import JSON
import LocalServers
import ProtocolClients
import TestSupport
import Testing

/// Queries with native SQL and views that refresh by what the database says they read, through a deployment.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct SQLReadsTests: SampleProjectTests {
    private static let schema = """

        type Shown @view(name: "shown") { n: Int64 }
        """

    private static let operations = """

        # freshet: refresh automatic
        query Questions @auth(level: PUBLIC) { _select(sql: "SELECT count(*) AS n FROM question", params: []) }
        # freshet: refresh automatic
        query Shown @auth(level: PUBLIC) { showns { n } }
        # freshet: refresh automatic
        query Random @auth(level: PUBLIC) { _select(sql: "SELECT random() AS r, title FROM lot", params: []) }
        # freshet: refresh automatic
        query Titles @auth(level: PUBLIC) { lots(orderBy: [{id: ASC}]) { title } }
        mutation Forget($id: UUID!) @auth(level: PUBLIC) {
          _execute(sql: "DELETE FROM question WHERE id = $1", params: [$id])
        }
        mutation Retitle($title: String!) @auth(level: PUBLIC) {
          _execute(sql: "UPDATE lot SET title = $1", params: [$title])
        }
        mutation Store @auth(level: PUBLIC) { _execute(sql: "SELECT lo_create(0)", params: []) }
        """

    private func number(_ data: JSONValue) -> Int64? {
        (data["_select"] ?? data["showns"])?[0]?["n"].flatMap { $0.intValue ?? $0.stringValue.flatMap { Int64($0) } }
    }

    private func follow(
        _ address: ServerAddress, _ operation: String
    ) async throws -> (subscriber: Subscriber, first: Int64) {
        let subscriber = try await Subscriber.connect(address)
        subscriber.subscribe(operation, [:])
        let first = try await subscriber.data()
        return (subscriber, try #require(number(first), "\(first)"))
    }

    @Test func changesOfTheTablesThatSQLReadsRefreshUntilDefinitionsChange() async throws {
        try await withProject { project, _ in
            try append(Self.schema, to: project + "/schema/schema.gql")
            try append(Self.operations, to: project + "/connector/queries.gql")
            try await Cluster.with { cluster in
                let sql = try PostgresOperator(cluster.servers.postgres)
                try sql.run("CREATE VIEW public.shown AS SELECT count(*) AS n FROM question")
                let url = cluster.servers.postgres.connectionString
                cluster.environment["FRESHET_WORKER_VERIFY_PER_SECOND"] = "0"
                let node = try await cluster.start(
                    roles: "api,worker,gateway", settings: ["deploy.pollMs=100ms", "worker.definitionsMs=200ms"])
                let deployed = try await RolloutTests.deploy(cluster, [project])
                #expect(deployed.code == 0, "\(deployed.output)")
                // The same findings are the same version.
                let again = try await RolloutTests.deploy(cluster, [project])
                #expect(again.code == 0 && again.output.contains("is deployed already"), "\(again.output)")

                let explanation = try await output(["explain", project, "Shown", "--database", url])
                #expect(explanation.contains("automatic: changes of question"), "\(explanation)")
                #expect(explanation.contains("class: table, native SQL or a view reads the table"), "\(explanation)")
                let without = try await output(["explain", project, "Shown"])
                #expect(without.contains("automatic: changes of any row"), "\(without)")
                let check = try await output(["check", project, "--database", url])
                #expect(check.contains("the function random() is volatile"), "\(check)")
                let found = check.split(separator: "\n").filter { $0.contains("[refresh-sql]") }
                #expect(found.count == 2, "\(found)")
                #expect(check.contains("the function lo_create(oid) is volatile, so it may write"), "\(check)")
                let forget = try await output(["explain", project, "Forget", "--database", url])
                #expect(forget.contains("Questions") && !forget.contains("auctions/Titles"), "\(forget)")

                let (questions, shown) = (
                    try await follow(node.address, "Questions"), try await follow(node.address, "Shown")
                )
                let lot = try sql.run("SELECT min(id::text) FROM lot")
                let question: JSONObject = ["lotId": .string(lot), "name": "ann", "text": "How old?"]
                #expect(try await API.mutate(node.address, "AskQuestion", question).status == 200)
                _ = try await questions.subscriber.data { number($0) == questions.first + 1 }
                _ = try await shown.subscriber.data { number($0) == shown.first + 1 }

                // Native SQL of mutations deletes rows, and sets a field.
                let row = try sql.run("SELECT min(id::text) FROM question")
                #expect(try await API.mutate(node.address, "Forget", ["id": .string(row)]).status == 200)
                _ = try await questions.subscriber.data { number($0) == questions.first }
                _ = try await shown.subscriber.data { number($0) == shown.first }
                let titles = try await Subscriber.connect(node.address)
                titles.subscribe("Titles", [:])
                _ = try await titles.data()
                #expect(try await API.mutate(node.address, "Retitle", ["title": "Clock"]).status == 200)
                _ = try await titles.data { $0["lots"]?[0]?["title"]?.stringValue == "Clock" }

                // The view reads another table now: nobody tells the cluster, but it looks.
                try sql.run("CREATE OR REPLACE VIEW public.shown AS SELECT 1000 + count(*) AS n FROM watch")
                let watches = Int64(try sql.run("SELECT 1000 + count(*) FROM watch"))
                _ = try await shown.subscriber.data { number($0) == watches }
                _ = try await node.process.line(containing: "definitions changed in the database")
                try sql.run("DELETE FROM watch")
                _ = try await shown.subscriber.data { number($0) == 1000 }
                let warned = try await output(["check", project, "--database", url])
                #expect(warned.contains("public.shown changed after the deployment"), "\(warned)")

                // A deployment of the same folder says what it reads now.
                let third = try await RolloutTests.deploy(cluster, [project])
                #expect(third.code == 0 && third.output.contains("deployed; 1 node"), "\(third.output)")
                let calm = try await output(["check", project, "--database", url])
                #expect(!calm.contains("changed after the deployment"), "\(calm)")
            }
        }
    }
}
