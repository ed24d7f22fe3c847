import Foundation
import JSON
import LocalServers
import NIOHTTP1
import ProtocolClients
import Testing

/// Vectors of texts through a whole node: a real embedding server over HTTP beside a real Postgres with pgvector.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct EmbeddingTests {
    private static let project = [
        "dataconnect.yaml": """
        specVersion: v1
        serviceId: places
        location: local
        schema: {source: ./schema, datasource: {postgresql: {}}}
        connectorDirs: [./connector]
        """,
        "connector/connector.yaml": "connectorId: auctions\n",
        "schema/schema.gql": """
        type Place @table(key: "name") {
          name: String!
          v: Vector @col(size: 256) @index(type: HNSW, vector_method: COSINE)
        }
        """,
        "connector/operations.gql": """
        query Near($text: String!) @auth(level: PUBLIC)
          @refresh(onMutationExecuted: {operation: "Add"}) @refresh(onMutationExecuted: {operation: "Remove"}) {
          places_v_similarity(
            compare_embed: {model: "textembedding-gecko@003", text: $text}, method: COSINE, limit: 1
          ) { name }
        }
        query Perhaps($text: String!, $near: Boolean!) @auth(level: PUBLIC) {
          places(orderBy: {name: ASC}) { name }
          places_v_similarity(compare_embed: {model: "textembedding-gecko@003", text: $text}) @include(if: $near) {
            name
          }
        }
        query All @auth(level: PUBLIC) @refresh(onMutationExecuted: {operation: "Remove"}) { places { name } }
        query Unknown @auth(level: PUBLIC) {
          places_v_similarity(compare_embed: {model: "other", text: "sea"}) { name }
        }
        mutation Add($name: String!, $text: String!) @auth(level: PUBLIC) {
          place_upsert(data: {name: $name, v_embed: {model: "textembedding-gecko@003", text: $text}})
        }
        mutation Remove($name: String!) @auth(level: PUBLIC) { place_delete(name: $name) }
        mutation AddAll($text: String!) @auth(level: PUBLIC) @transaction {
          place_insertMany(data: [
            {name: "Hut", v_embed: {model: "textembedding-gecko@003", text: "snow and a stove"}}
            {name: "Pier", v_embed: {model: "textembedding-gecko@003", text: $text}}
          ])
        }
        """,
    ]

    private struct Running {
        let address: ServerAddress
        let node: FreshetProcess
        let server: EmbeddingServer

        func near(_ text: String) async throws -> (status: Int, body: JSONValue) {
            let response = try await API.get(address, "Near", ["text": .string(text)])
            return (response.status, try JSONParser.parse(response.body))
        }

        func add(_ name: String, _ text: String) async throws -> (status: Int, body: JSONValue) {
            try await API.mutate(address, "Add", ["name": .string(name), "text": .string(text)])
        }
    }

    /// A child process that can die and come back at its port.
    private final class EmbeddingServer {
        private(set) var process: FreshetProcess
        let port: Int

        init() async throws {
            process = try await PythonClients.start("embedding_server.py", ["secret", "0"])
            port = try #require(Int(try await process.line(containing: "listening").split(separator: " ").last ?? ""))
        }

        func restart(token: String = "secret") async throws {
            process = try await PythonClients.start("embedding_server.py", [token, "\(port)"])
            _ = try await process.line(containing: "listening")
        }

        /// Answers what hangs.
        func go() async throws { _ = try await get("/go") }

        /// The texts of each request.
        func asked() async throws -> [[String]] { try await get("/asked") }

        private func get(_ path: String) async throws -> [[String]] {
            let response = try await HTTPCall.send(.GET, try ServerAddress("http://127.0.0.1:\(port)"), path: path)
            return try JSONParser.parse(response.body).arrayValue?.map {
                $0.arrayValue?.compactMap(\.stringValue) ?? []
            } ?? []
        }
    }

    private func withNode(
        _ settings: (_ port: Int) -> [String], _ body: (Running) async throws -> Void
    ) async throws {
        let server = try await EmbeddingServer()
        defer { server.process.signal(SIGKILL) }
        try await Servers.with(programFolder: try await PythonClients.postgresWithVectors()) { servers in
            let project = servers.folder + "/project"
            for (file, text) in Self.project {
                let path = "\(project)/\(file)"
                try FileManager.default.createDirectory(
                    atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
                try text.write(toFile: path, atomically: true, encoding: .utf8)
            }
            let environment = [
                "FRESHET_POSTGRES_URL": servers.postgres.connectionString, "FRESHET_REDIS_URL": servers.redis.url,
            ]
            let migration = try FreshetProcess(["migrate", project], environment: environment)
            #expect(await migration.waitForExit() == 0, "\(migration.output)")
            let all = ["http.port=0", "admin.port=0", "cluster.awaitFormerOwners=false"] + settings(server.port)
            let node = try FreshetProcess(
                ["serve", project] + all.flatMap { ["--set", $0] }, environment: environment)
            let ready = try await node.line(containing: "ready http").split(separator: " ")
            do {
                try await body(Running(address: try ServerAddress(String(ready[1])), node: node, server: server))
            } catch {
                await node.crash()
                throw error
            }
            await node.terminate()
        }
    }

    private static func settings(_ format: String, _ port: Int) -> [String] {
        [
            "embeddings.url=http://127.0.0.1:\(port)/v1/", "embeddings.format=\(format)", "embeddings.token=secret",
            "embeddings.models=textembedding-gecko@003=words", "embeddings.timeoutMs=700",
            "embeddings.answerBytesMax=1MiB", "embeddings.textBytesMax=200",
        ]
    }

    private static func found(_ name: String) -> JSONValue { ["places_v_similarity": [["name": .string(name)]]] }

    @Test(arguments: ["openai", "vertex"]) func theNearestTextWins(_ format: String) async throws {
        try await withNode({ Self.settings(format, $0) }) { running in
            for (name, text) in [("Beach", "sand sun and the warm sea"), ("Peak", "snow ski and cold wind")] {
                let added = try await running.add(name, text)
                #expect(added.body["data"] == ["place_upsert": ["name": .string(name)]], "\(added)")
            }
            #expect(try await running.near("the sea").body["data"] == Self.found("Beach"))
            #expect(try await running.near("ski in the snow").body["data"] == Self.found("Peak"))

            // A follower gets the nearer row, and a known text is not sent to the embedding server again.
            let subscriber = try await Subscriber.connect(running.address)
            subscriber.subscribe("Near", ["text": "the sea"])
            // One after the other: the results of two subscriptions come in any order.
            #expect(try await subscriber.data() == Self.found("Beach"))
            subscriber.subscribe("Near", ["text": "a ski in the snow"], id: "2")
            #expect(try await subscriber.data(id: "2") == Self.found("Peak"))
            let before = try await running.server.asked()
            _ = try await running.add("Cliff", "the sea")
            _ = try await subscriber.data { $0 == Self.found("Cliff") }
            #expect(try await running.server.asked() == before)

            // All texts of a mutation at once.
            let all = try await API.mutate(running.address, "AddAll", ["text": "wood over deep water"])
            #expect(all.body["data"]?["place_insertMany"] == [["name": "Hut"], ["name": "Pier"]], "\(all)")
            #expect(try await running.server.asked().last == ["snow and a stove", "wood over deep water"])
            #expect(try await running.near("deep water").body["data"] == Self.found("Pier"))
        }
    }

    @Test func errorsNameTheModelAndAreAlone() async throws {
        try await withNode({ Self.settings("openai", $0) }) { running in
            _ = try await running.add("Beach", "sand and the sea")
            let prefix = #"the embedding server for "textembedding-gecko@003""#
            for (text, code, status, message) in [
                ("broken", "UNAVAILABLE", 503, "\(prefix) responded with HTTP status 500"),
                ("refused", "RESOLVER_FAILED", 502, "\(prefix) rejected the text"),
                ("busy", "LIMIT_EXCEEDED", 429, "\(prefix) is rate-limited"),
                ("page", "UNAVAILABLE", 503, "\(prefix) sent a response that is not JSON"),
                ("large", "RESOLVER_FAILED", 502, "\(prefix) answered with more than 1048576 bytes"),
                (
                    "short", "RESOLVER_FAILED", 502,
                    "\(prefix) returned a vector with 3 dimensions, but the column has 256"
                ),
                ("slow", "TIMEOUT", 504, "\(prefix) did not answer in 700 ms"),
                ("ending", "UNAVAILABLE", 503, "\(prefix) closed the connection"),
                (
                    String(repeating: "x", count: 201), "PAYLOAD_TOO_LARGE", 413,
                    #"a text for "textembedding-gecko@003" can have at most 200 bytes"#
                ),
            ] {
                let answer = try await running.near(text)
                let error = answer.body["errors"]?[0]
                #expect(answer.status == status, "\(text): \(answer)")
                #expect(error?["extensions"]?["code"]?.stringValue == code, "\(text): \(answer)")
                #expect(error?["message"]?.stringValue == message, "\(text): \(answer)")
                // No part of the mutation happens.
                let added = try await running.add("Gone", text)
                #expect(added.body["errors"]?[0]?["message"]?.stringValue == message, "\(text): \(added)")
            }
            let unknown = try JSONParser.parse(try await API.get(running.address, "Unknown", [:]).body)
            #expect(
                unknown["errors"]?[0]?["message"]?.stringValue
                    == #"the embedding server for "other" does not know the model"#)
            _ = try await running.node.line(containing: "HTTP status 404: there is no model other")

            // One of two texts is refused: it alone is to blame, and the log tells what may be done.
            let both = try await API.mutate(running.address, "AddAll", ["text": "refused"])
            #expect(both.body["errors"]?[0]?["message"]?.stringValue == "\(prefix) rejected the text", "\(both)")
            _ = try await running.node.line(containing: "lower embeddings.textsPerRequestMax")
            #expect(
                try await Set(running.server.asked().suffix(3)) == [
                    ["snow and a stove", "refused"], ["snow and a stove"], ["refused"],
                ])
            #expect(try await running.near("snow and a stove").status == 200)

            // A field that is left out needs no embedding.
            let before = try await running.server.asked()
            let without = try await API.get(running.address, "Perhaps", ["text": "broken", "near": false])
            #expect(try JSONParser.parse(without.body)["data"] == ["places": [["name": "Beach"]]])
            #expect(try await running.server.asked() == before)

            // The server is gone: who has a result keeps getting new ones, since its vector is known.
            let subscriber = try await Subscriber.connect(running.address)
            subscriber.subscribe("Near", ["text": "the sea"])
            #expect(try await subscriber.data() == Self.found("Beach"))
            await running.server.process.crash()
            #expect(try await running.near("not known yet").status == 503)
            #expect(try await running.add("Gone", "not known yet").status == 503)
            #expect(try await running.add("Quay", "the sea").status == 200)
            _ = try await subscriber.data { $0 == Self.found("Quay") }
            try await running.server.restart()
            #expect(try await running.near("not known yet").status == 200)
        }
    }

    /// A subscriber with a result gets no message about an outage and gets the new one after it, though nothing is
    /// cached.
    @Test func aLiveQueryOutlastsTheServer() async throws {
        try await withNode({ Self.settings("openai", $0) + ["embeddings.cacheEntriesMax=0"] }) { running in
            _ = try await running.add("Beach", "the sea")
            _ = try await running.add("Peak", "the snow")
            // An answer that is too large is one of fewer texts when it is asked for again.
            let large = try await API.mutate(running.address, "AddAll", ["text": "large"])
            #expect("\(large.body)".contains("answered with more than 1048576 bytes"), "\(large)")
            #expect(
                try await Set(running.server.asked().suffix(3)) == [
                    ["snow and a stove", "large"], ["snow and a stove"], ["large"],
                ])
            let subscriber = try await Subscriber.connect(running.address)
            subscriber.subscribe("Near", ["text": "the sea"])
            #expect(try await subscriber.data() == Self.found("Beach"))
            await running.server.process.crash()
            let removed = try await API.mutate(running.address, "Remove", ["name": "Beach"])
            #expect(removed.body["data"] == ["place_delete": ["name": "Beach"]], "\(removed)")
            _ = try await running.node.line(containing: "embeddings failed")
            // Nor of a token that it refuses until the token is right again.
            try await running.server.restart(token: "other")
            _ = try await running.node.line(containing: "responded with HTTP status 401")
            await running.server.process.crash()
            try await running.server.restart()
            let next = try await subscriber.message { $0["id"]?.stringValue == "1" }
            #expect(next["type"] == "next" && next["payload"]?["data"] == Self.found("Peak"), "\(next)")
            _ = try await running.node.line(containing: "the embedding server responds again")
        }
    }

    @Test func aHangHoldsNothingElse() async throws {
        let adminPort = try #require(Addresses.freeLoopbackPort())
        let changes = [
            "worker.runsMax=1", "worker.remoteRunsMax=1", "embeddings.waitersMax=1", "embeddings.timeoutMs=1m",
            "admin.port=\(adminPort)",
        ]
        try await withNode({ Self.settings("openai", $0) + changes }) { running in
            _ = try await running.add("Beach", "the sea")
            let subscriber = try await Subscriber.connect(running.address)
            subscriber.subscribe("Near", ["text": "hang"])
            while try await running.server.asked().last != ["hang"] { await Task.yield() }
            // The worker's run waits. All other live queries go on,
            subscriber.subscribe("All", [:], id: "2")
            #expect(try await subscriber.data(id: "2") == ["places": [["name": "Beach"]]])
            _ = try await API.mutate(running.address, "Remove", ["name": "Beach"])
            #expect(try await subscriber.data(id: "2") == ["places": []])
            // and there is room for one that waits.
            let refused = try await running.near("snow")
            #expect(refused.status == 429, "\(refused)")
            #expect(try await running.near("the sea").status == 200, "it is known")
            try await running.server.go()
            #expect(try await subscriber.data() == ["places_v_similarity": []])

            let admin = try ServerAddress("http://127.0.0.1:\(adminPort)")
            let metrics = String(
                decoding: try await HTTPCall.send(.GET, admin, path: "/metrics").body, as: UTF8.self)
            for line in [
                // The text that was known once, and perhaps in the re-run that the mutation caused.
                #"freshet_embedding_requests_total{outcome="answered"} 2"#,
                #"freshet_embedding_texts_total{cache="miss"} 3"#, #"freshet_embedding_texts_total{cache="hit"} "#,
            ] {
                #expect(metrics.contains("\n\(line)"), "\(line)")
            }
        }
    }

    @Test func withoutAServerOnlyThoseOperationsFail() async throws {
        try await withNode({ _ in [] }) { running in
            let line = try await running.node.line(containing: "embeddings.url is not set")
            #expect(
                line.contains("auctions/Add, auctions/AddAll, auctions/Near, auctions/Perhaps, auctions/Unknown"),
                "\(line)")
            let near = try await running.near("the sea")
            #expect(
                near.body["errors"]?[0]?["message"]?.stringValue
                    == "vectors of texts need an embedding server, and embeddings.url is not set", "\(near)")
            #expect(near.status == 502)
            let plain = try await API.get(running.address, "Perhaps", ["text": "x", "near": false])
            #expect(try JSONParser.parse(plain.body)["data"] == ["places": []])
        }
    }
}
