import Foundation
import JSON
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// Custom resolvers through a whole node: a real GraphQL service over HTTP beside a real Postgres.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ResolverTests {
    private static let schema = """
        type Person { id: ID! name: String friends(first: Int! = 5): [Person!]! }
        type Query { person(id: ID!, locale: String = "en"): Person }
        type Mutation { rename(id: ID!, name: String!): Person }
        """

    private static let operations = """

        query WithProfile($id: UUID!, $who: String!, $locale: String, $friends: Boolean = false)
          @auth(level: PUBLIC)
          @refresh(
            onMutationExecuted: {operation: "Rename", condition: "request.variables.who == mutation.variables.who"}
          ) {
          person(id: $who, locale: $locale) { name friends(first: 2) @include(if: $friends) { id } }
          lot(id: $id) { title }
        }
        mutation Rename($who: String!, $name: String!) @auth(level: PUBLIC) { rename(id: $who, name: $name) { name } }
        mutation RenameAndNote($who: String!, $id: UUID!, $text: String!) @auth(level: PUBLIC) {
          lot_update(id: $id, data: {description: $text})
          rename(id: $who, name: $text) { name }
          after: lot_update(id: $id, data: {category: "Books"})
        }
        """

    private func withNode(
        _ body: (_ address: ServerAddress, _ lot: JSONValue, _ resolver: FreshetProcess) async throws -> Void
    ) async throws {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let folder = temporary.path
        let project = folder + "/project"
        try FileManager.default.copyItem(atPath: SampleProject.path, toPath: project)
        try FileManager.default.createDirectory(atPath: project + "/people", withIntermediateDirectories: true)
        try Self.schema.write(toFile: project + "/people/people.gql", atomically: true, encoding: .utf8)
        let resolver = try await PythonClients.start("resolver_server.py", [project + "/people/people.gql"])
        defer { resolver.signal(SIGKILL) }
        let port = try await resolver.line(containing: "listening").split(separator: " ").last ?? ""
        let configuration = """
            specVersion: v1
            serviceId: auctions
            location: local
            schemas:
              - source: ./schema
                datasource: {postgresql: {}}
              - id: people
                source: ./people
                datasource: {httpGraphql: {uri: "http://127.0.0.1:\(port)/graphql", timeout: 700ms}}
            connectorDirs: [./connector]
            """
        try configuration.write(toFile: project + "/dataconnect.yaml", atomically: true, encoding: .utf8)
        let queries = project + "/connector/queries.gql"
        try (try String(contentsOfFile: queries, encoding: .utf8) + Self.operations)
            .write(toFile: queries, atomically: true, encoding: .utf8)
        let settings = ["http.port=0", "admin.port=0", "dev.dataDirectory=\(folder)/data"]
        let node = try FreshetProcess(["dev", project, "--no-reload"] + settings.flatMap { ["--set", $0] })
        let line = try await node.line(containing: "Freshet serves")
        let address = try ServerAddress(String(line.split(separator: " ").last ?? ""))
        let list = try JSONParser.parse(try await API.get(address, "ListLots", ["category": "Toys"]).body)
        try await body(address, try #require(list["data"]?["lots"]?[0]), resolver)
        node.signal(SIGINT)
        #expect(await node.waitForExit() == 0, "\(node.output)")
    }

    /// The resolver is called once, with a key of its own. One that may have acted is not called again.
    @Test func aMutationWithAnIdempotencyKeyCallsOnce() async throws {
        try await withNode { address, _, resolver in
            func rename(_ who: String, _ name: String, key: String) async throws -> JSONValue {
                let body: JSONValue = ["variables": ["who": .string(who), "name": .string(name)]]
                let response = try await HTTPCall.send(
                    .POST, address, path: "/v1/connectors/auctions/mutations/Rename",
                    headers: [
                        "content-type": "application/json", "idempotency-key": key,
                        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                    ],
                    body: JSONWriter.compact(body))
                return try JSONParser.parse(response.body)
            }
            func keys() -> [Substring] { resolver.output.split(separator: "\n").filter { $0.hasPrefix("key ") } }
            let key = "8e03978e-40d5-43e8-bc93-6894a57f9324"
            let first = try await rename("ann", "Anna", key: key)
            #expect(first["data"] == ["rename": ["name": "Anna (en)"]])
            // The client's trace goes on, below the mutation's own span.
            let parent = try await resolver.line(containing: "parent ")
            #expect(parent.hasPrefix("parent 00-4bf92f3577b34da6a3ce929d0e0e4736-") && parent.hasSuffix("-01"))
            #expect(!parent.contains("00f067aa0ba902b7"))
            _ = try await resolver.line(containing: "key ")
            #expect(try await rename("ann", "Anna", key: key) == first)
            // Another mutation between does not change the answer.
            _ = try await rename("ann", "Other", key: "another key of enough length")
            #expect(try await rename("ann", "Anna", key: key) == first)
            try await waitUntil("the second call") { keys().count == 2 }
            #expect(Set(keys()).count == 2 && keys().allSatisfy { $0.count == 4 + 64 })

            let late = try await rename("ann", "dripping", key: "a third key of some length")
            #expect(late["errors"]?[0]?["extensions"]?["code"] == "OUTCOME_UNKNOWN", "\(late)")
            #expect(try await rename("ann", "dripping", key: "a third key of some length") == late)
            #expect(keys().count == 3)
        }
    }

    @Test func fieldsOfTwoSourcesAreOneResult() async throws {
        try await withNode { address, lot, resolver in
            let id = try #require(lot["id"])
            let title = try #require(lot["title"])
            func read(_ who: String, _ further: JSONObject = [:]) async throws -> (status: Int, body: JSONValue) {
                var variables: JSONObject = ["id": id, "who": .string(who)]
                for entry in further.entries { variables[entry.key] = entry.value }
                let response = try await API.get(address, "WithProfile", variables)
                return (response.status, try JSONParser.parse(response.body))
            }
            #expect(
                try await read("ann", ["locale": "de", "friends": true]).body["data"]
                    == [
                        "person": ["name": "somebody (de)", "friends": [["id": "ann-0"], ["id": "ann-1"]]],
                        "lot": ["title": title],
                    ])
            #expect(
                try await read("ann").body["data"] == ["person": ["name": "somebody (en)"], "lot": ["title": title]])

            // A follower gets what the resolver says after the mutation that its rule names.
            let subscriber = try await Subscriber.connect(address)
            subscriber.subscribe("WithProfile", ["id": id, "who": "ann"])
            _ = try await subscriber.data()
            subscriber.subscribe("WithProfile", ["id": id, "who": "bob"], id: "2")
            _ = try await subscriber.data(id: "2")
            let renamed = try await API.mutate(address, "Rename", ["who": "bob", "name": "Robert"])
            #expect(renamed.body["data"] == ["rename": ["name": "Robert (en)"]], "\(renamed)")
            _ = try await subscriber.data(id: "2") { $0["person"]?["name"]?.stringValue == "Robert (en)" }

            // Errors name the resolver and the field.
            for (who, code, status, message, path) in [
                ("broken", "RESOLVER_FAILED", 502, "failed: the profile store is down", ["person"]),
                ("nameless", "RESOLVER_FAILED", 502, "failed: no name", ["person", "name"]),
                ("html", "RESOLVER_FAILED", 502, "responded with HTTP status 500", ["person"]),
                ("large", "RESOLVER_FAILED", 502, "answered with more than 1048576 bytes", ["person"]),
                ("slow", "TIMEOUT", 504, "did not answer in 700 ms", ["person"]),
                ("dripping", "TIMEOUT", 504, "did not answer in 700 ms", ["person"]),
                ("ending", "UNAVAILABLE", 503, "closed the connection", ["person"]),
            ] {
                let answer = try await read(who)
                let error = answer.body["errors"]?[0]
                #expect(answer.status == status, "\(who): \(answer)")
                #expect(error?["extensions"]?["code"]?.stringValue == code, "\(who): \(answer)")
                #expect(error?["path"]?.arrayValue?.compactMap(\.stringValue) == path, "\(who): \(answer)")
                #expect(error?["message"]?.stringValue?.hasSuffix(message) == true, "\(who): \(answer)")
            }

            // In a mutation a failed field is null and the others stay; a rule sees it when something was done.
            let partly = try await API.mutate(
                address, "RenameAndNote", ["who": "broken", "id": id, "text": "noted"])
            #expect(partly.body["data"]?["rename"] == .null)
            #expect(partly.body["errors"]?[0]?["path"] == ["rename"])
            let after = try JSONParser.parse(try await API.get(address, "GetLot", ["id": id]).body)
            #expect(after["data"]?["lot"]?["description"]?.stringValue == "noted")
            #expect(after["data"]?["lot"]?["category"]?.stringValue == "Books")

            // An answer that does not come whole: it may have acted, so nobody takes a repetition for safe, and who
            // follows is refreshed.
            subscriber.subscribe("WithProfile", ["id": id, "who": "carl"], id: "3")
            _ = try await subscriber.data(id: "3")
            for (name, message) in [
                ("dripping", "did not answer in 700 ms"), ("ending", "closed the connection"),
            ] {
                let unknown = try await API.mutate(address, "Rename", ["who": "carl", "name": .string(name)])
                let error = unknown.body["errors"]?[0]
                #expect(error?["extensions"]?["code"]?.stringValue == "OUTCOME_UNKNOWN", "\(unknown)")
                #expect(error?["message"]?.stringValue?.hasSuffix(message) == true, "\(unknown)")
                _ = try await subscriber.data(id: "3") { $0["person"]?["name"]?.stringValue == "\(name) (en)" }
            }

            await resolver.crash()
            let gone = try await read("ann")
            #expect(gone.status == 503)
            #expect(gone.body["errors"]?[0]?["extensions"]?["code"]?.stringValue == "UNAVAILABLE")
        }
    }
}
