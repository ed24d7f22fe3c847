import Foundation
import FreshetClient
import JSON
import LocalServers
import NIOHTTP1
import Synchronization
import Testing

/// New versions of the project and of the program while clients are there: `freshet deploy` and a rolling restart, over
/// real processes.
@Suite(.serialized, .timeLimit(.minutes(8)))
struct RolloutTests {
    /// One movie that a writer numbers without pause, through whichever node answers.
    private final class Writer: Sendable {
        private let addresses: [ServerAddress]
        private let movie: String
        private let isStopped = Atomic<Bool>(false)
        private let count = Atomic<Int>(0)
        private let lastNumber = Mutex<Int?>(nil)

        init(_ addresses: [ServerAddress], movie: String) {
            self.addresses = addresses
            self.movie = movie
        }

        /// Numbers acknowledged so far.
        var acknowledged: Int { count.load(ordering: .acquiring) }

        /// Nil while it goes on.
        var last: Int? { lastNumber.withLock { $0 } }

        func stop() { isStopped.store(true, ordering: .releasing) }

        /// - Returns: the last number.
        func run() async -> Int {
            while !isStopped.load(ordering: .acquiring) { await write() }
            // Once more: whoever was told of the others must see this one, too.
            let last = acknowledged + 1
            lastNumber.withLock { $0 = last }
            await write()
            return acknowledged
        }

        private func write() async {
            let number = acknowledged + 1
            var attempt = number
            while true {
                let answer = try? await API.mutate(
                    addresses[attempt % addresses.count], "UpdateMovie",
                    ["id": .string(movie), "genre": "Sci-Fi", "description": .string(String(number))])
                if answer?.status == 200 { break }
                attempt += 1
                await Task.yield()
            }
            count.store(number, ordering: .releasing)
        }
    }

    static func number(_ data: JSONValue) -> Int {
        data["movie"]?["description"]?.stringValue.flatMap(Int.init) ?? 0
    }

    /// Follows the movie as an app does: comes back elsewhere whenever it is sent away.
    /// - Returns: how often it had to connect.
    private static func follow(_ addresses: [ServerAddress], movie: String, until last: @escaping @Sendable () -> Int?)
        async -> Int
    {
        var connects = 0
        while true {
            connects += 1
            do {
                let subscriber = try await Subscriber.connect(addresses[connects % addresses.count])
                subscriber.subscribe("GetMovieById", ["id": .string(movie)])
                while true {
                    let message = try await subscriber.message { ["next", "error"].contains($0["type"]?.stringValue) }
                    guard let data = message["payload"]?["data"] else { break }
                    if number(data) == last() { return connects }
                }
            } catch {
                await Task.yield()
            }
        }
    }

    /// The sample project with some texts replaced, in a folder of its own.
    static func project(
        _ cluster: Cluster, _ name: String, _ changes: [(file: String, from: String, to: String)]
    )
        throws -> String
    {
        let folder = cluster.servers.folder + "/" + name
        try FileManager.default.copyItem(atPath: Paths.movies, toPath: folder)
        for change in changes {
            let path = folder + "/" + change.file
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(text.contains(change.from), "\(change.file) has no \(change.from)")
            try text.replacingOccurrences(of: change.from, with: change.to).write(
                toFile: path, atomically: true, encoding: .utf8)
        }
        return folder
    }

    static func deploy(_ cluster: Cluster, _ arguments: [String]) async throws -> (code: Int32, output: String) {
        let process = try deploying(cluster, arguments)
        let code = await process.waitForExit()
        return (code, process.output)
    }

    /// Under way.
    static func deploying(_ cluster: Cluster, _ arguments: [String]) throws -> FreshetProcess {
        try FreshetProcess(
            ["deploy"] + arguments,
            environment: [
                "FRESHET_POSTGRES_URL": cluster.servers.postgres.connectionString,
                "FRESHET_REDIS_URL": cluster.servers.redis.url,
                // As the nodes have it.
                "FRESHET_CLUSTER_NODE_TTL_MS": "1500", "FRESHET_CLUSTER_HEARTBEAT_MS": "300",
            ])
    }

    /// A column, a field of a query and a mutation more.
    static let second: [(file: String, from: String, to: String)] = [
        ("schema/schema.gql", "  title: String! @index\n", "  title: String! @index\n  tagline: String\n"),
        (
            "connector/queries.gql", "  movie(id: $id) {\n    id\n    title\n    releaseYear",
            "  movie(id: $id) {\n    id\n    tagline\n    title\n    releaseYear"
        ),
        (
            "connector/mutations.gql", "mutation DeleteMovie(",
            """
            mutation Retitle($id: UUID!, $title: String!, $tagline: String) @auth(level: PUBLIC, insecureReason: "demo") {
              movie_update(id: $id, data: {title: $title, tagline: $tagline})
            }

            mutation DeleteMovie(
            """
        ),
    ]

    static func aMovie(_ address: ServerAddress) async throws -> String {
        let list = try JSONParser.parse(try await API.get(address, "ListMoviesByGenre", ["genre": "Sci-Fi"]).body)
        return try #require(list["data"]?["movies"]?[0]?["id"]?.stringValue)
    }

    @Test func newVersionAndRollingRestartUnderLoad() async throws {
        try await Cluster.with { cluster in
            var ports: [Int] = []
            while ports.count < 2 {
                let port = try #require(Addresses.freeLoopbackPort())
                if !ports.contains(port) { ports.append(port) }
            }
            let quick = ["deploy.pollMs=100ms"]
            var workers = [
                try await cluster.start(roles: "worker", settings: quick).process,
                try await cluster.start(roles: "worker", settings: quick).process,
            ]
            var nodes: [FreshetProcess] = []
            var addresses: [ServerAddress] = []
            for port in ports {
                let node = try await cluster.start(roles: "api,gateway", settings: quick + ["http.port=\(port)"])
                nodes.append(node.process)
                addresses.append(node.address)
            }
            let movie = try await Self.aMovie(addresses[0])
            let old = try await Subscriber.connect(addresses[0])
            old.subscribe("GetMovieById", ["id": .string(movie)])
            #expect(try await old.data()["movie"]?["tagline"] == nil)

            let writer = Writer(addresses, movie: movie)
            async let written = writer.run()
            let all = addresses
            let followers = (0..<10).map { _ in
                Task { await Self.follow(all, movie: movie) { writer.last } }
            }

            // The second version, while the writer writes.
            let deployed = try await Self.deploy(cluster, [try Self.project(cluster, "second", Self.second)])
            #expect(deployed.code == 0, "\(deployed.output)")
            #expect(deployed.output.contains("deployed; 4 nodes serve it"), "\(deployed.output)")
            #expect(deployed.output.contains("tagline"), "\(deployed.output)")
            let fresh = try await Subscriber.connect(addresses[1])
            fresh.subscribe("GetMovieById", ["id": .string(movie)])
            #expect(try await fresh.data()["movie"]?["tagline"] == .null)

            // Both go on with what happens now, each in its own shape.
            let mark = writer.acknowledged
            _ = try await fresh.data { Self.number($0) > mark && $0["movie"]?["tagline"] != nil }
            _ = try await old.data { Self.number($0) > mark && $0["movie"]?["tagline"] == nil }

            // A mutation that only the second version has refreshes queries of the first.
            let renamed = try await API.mutate(
                addresses[0], "Retitle", ["id": .string(movie), "title": "Renamed", "tagline": "New"])
            #expect(renamed.status == 200, "\(renamed.body)")
            _ = try await fresh.data { $0["movie"]?["tagline"]?.stringValue == "New" }
            let shown = try await old.data { $0["movie"]?["title"]?.stringValue == "Renamed" }
            #expect(shown["movie"]?["tagline"] == nil)

            // Every node is started anew, with the first version's folder; what is deployed goes before it.
            for index in workers.indices {
                #expect(await workers[index].terminate() == 0)
                workers[index] = try await cluster.start(roles: "worker", settings: quick).process
            }
            for index in nodes.indices {
                let before = writer.acknowledged
                #expect(await nodes[index].terminate() == 0)
                nodes[index] =
                    try await cluster.start(roles: "api,gateway", settings: quick + ["http.port=\(ports[index])"])
                    .process
                while writer.acknowledged < before + 5 { await Task.yield() }
            }
            #expect(await old.closeCode() == 1001)
            let read = try JSONParser.parse(
                try await API.get(addresses[0], "GetMovieById", ["id": .string(movie)]).body)
            #expect(read["data"]?["movie"]?["tagline"]?.stringValue == "New")

            // The verdict: whoever followed ends with the last acknowledged number.
            writer.stop()
            let final = await written
            var connects = 0
            for follower in followers { connects += await follower.value }
            #expect(connects >= followers.count * 2, "the restarts moved nobody")
            print("rollout: \(final) mutations, \(followers.count) followers with \(connects) connects, nothing missed")
        }
    }

    @Test func whatWouldBreakIsRefused() async throws {
        try await Cluster.with { cluster in
            let quick = ["deploy.pollMs=100ms"]
            let node = try await cluster.start(roles: "api,worker,gateway", settings: quick)
            // Before the first deployment, the folder that nodes were started with is compared with.
            let less = try Self.project(
                cluster, "less", [("connector/queries.gql", "    title\n    releaseYear\n", "    releaseYear\n")])
            let refused = try await Self.deploy(cluster, [less])
            #expect(refused.code == 1)
            #expect(refused.output.contains("result-field-removed"), "\(refused.output)")
            #expect(refused.output.contains("queries.gql:2:7"), "\(refused.output)")
            #expect(refused.output.contains("nothing was changed"), "\(refused.output)")

            let lossy = try Self.project(
                cluster, "lossy", [("schema/schema.gql", "imageUrl: String", "imageUrl: Int")])
            let unmade = try await Self.deploy(cluster, [lossy, "--allow-breaking"])
            #expect(unmade.code == 1)
            #expect(unmade.output.contains("movie.image_url"), "\(unmade.output)")

            let dry = try await Self.deploy(
                cluster, [try Self.project(cluster, "second", Self.second), "--dry-run"])
            #expect(dry.code == 0, "\(dry.output)")
            #expect(dry.output.contains("could be deployed"), "\(dry.output)")
            #expect(!(try await Self.deploy(cluster, ["--list"])).output.contains("  deploy  "))

            // Whoever insists gets it, and back.
            let insisted = try await Self.deploy(cluster, [less, "--allow-breaking"])
            #expect(insisted.code == 0, "\(insisted.output)")
            let movie = try await Self.aMovie(node.address)
            func title() async throws -> JSONValue? {
                let body = try await API.get(node.address, "GetMovieById", ["id": .string(movie)]).body
                return try JSONParser.parse(body)["data"]?["movie"]?["title"]
            }
            #expect(try await title() == nil)
            let back = try await Self.deploy(cluster, ["--rollback"])
            #expect(back.code == 0, "\(back.output)")
            #expect(try await title() != nil)
            let list = try await Self.deploy(cluster, ["--list"])
            #expect(list.output.contains("current"), "\(list.output)")
            #expect(list.output.contains("former, still served"), "\(list.output)")
        }
    }

    @Test func sessionsOfAFormerVersionAreToldToComeBack() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway",
                settings: ["deploy.pollMs=100ms", "deploy.keepMs=0ms", "deploy.moveMs=200ms"])
            let movie = try await Self.aMovie(node.address)
            let old = try await Subscriber.connect(node.address)
            old.subscribe("GetMovieById", ["id": .string(movie)])
            _ = try await old.data()
            let deployed = try await Self.deploy(cluster, [try Self.project(cluster, "second", Self.second)])
            #expect(deployed.code == 0, "\(deployed.output)")
            #expect(await old.closeCode() == 1001)
            let fresh = try await Subscriber.connect(node.address)
            fresh.subscribe("GetMovieById", ["id": .string(movie)])
            #expect(try await fresh.data()["movie"]?["tagline"] == .null)
        }
    }

    /// Apps send the texts, or their digests, that they were built with. A new version of an operation does not shut them
    /// out before its time.
    @Test func textsOfAFormerVersionAreTakenWhileItIsInService() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway",
                settings: ["deploy.pollMs=100ms", "deploy.keepMs=15s", "deploy.moveMs=200ms"])
            let movie = try await Self.aMovie(node.address)
            let checked = try FreshetProcess(["check", Paths.movies, "--documents"])
            #expect(await checked.waitForExit() == 0)
            let line = try #require(checked.output.split(separator: "\n").first { $0.contains("\"GetMovieById\"") })
            let document = try JSONParser.parse(Array(line.utf8))
            let text = try #require(document["text"]?.stringValue)
            let digest = try #require(document["documentId"]?.stringValue)

            let deployed = try await Self.deploy(cluster, [try Self.project(cluster, "second", Self.second)])
            #expect(deployed.code == 0, "\(deployed.output)")
            func ask(_ request: JSONObject) async throws -> JSONValue {
                var request = request
                request["variables"] = ["id": .string(movie)]
                let answer = try await HTTPCall.send(
                    .POST, node.address, path: "/graphql", headers: ["content-type": "application/json"],
                    body: JSONWriter.compact(.object(request)))
                return try JSONParser.parse(answer.body)
            }
            let named: JSONObject = ["operationName": "GetMovieById"]
            let (byText, byDigest): (JSONObject, JSONObject) = (
                ["query": .string(text)], ["documentId": .string(digest)]
            )
            // By its name alone a client gets what is current; with what it was built with, what it was built for.
            #expect(try await ask(named)["data"]?["movie"]?["tagline"] == .null)
            for request in [byText, byDigest] {
                let movie = try #require(try await ask(request)["data"]?["movie"])
                #expect(movie["title"] != nil && movie["tagline"] == nil)
            }
            let subscriber = try await Subscriber.connect(node.address)
            let followed = try #require(text.firstRange(of: "query"))
            subscriber.subscribe(
                "GetMovieById", ["id": .string(movie)],
                query: text.replacingCharacters(in: followed, with: "subscription"))
            #expect(try await subscriber.data()["movie"]?["tagline"] == nil)
            let renamed = try await API.mutate(
                node.address, "Retitle", ["id": .string(movie), "title": "Renamed", "tagline": "New"])
            #expect(renamed.status == 200, "\(renamed.body)")
            let shown = try await subscriber.data { $0["movie"]?["title"]?.stringValue == "Renamed" }
            #expect(shown["movie"]?["tagline"] == nil)

            // Its time is over: who has it is told to come back, and is then told what is the matter.
            #expect(await subscriber.closeCode() == 1001)
            for request in [byText, byDigest] {
                let refused = try await ask(request)
                #expect(refused["data"] == nil && refused["errors"]?[0]?["message"]?.stringValue != nil)
            }
            #expect(try await ask(named)["data"]?["movie"]?["tagline"]?.stringValue == "New")
        }
    }
}
