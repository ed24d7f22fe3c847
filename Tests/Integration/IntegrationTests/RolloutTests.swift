import Foundation
import JSON
import LocalServers
import NIOHTTP1
import ProtocolClients
import Synchronization
import Testing

/// New versions of the project and of the program while clients are there: `freshet deploy` and a rolling restart, over
/// real processes.
@Suite(.serialized, .timeLimit(.minutes(8)))
struct RolloutTests {
    /// One lot that a writer numbers without pause, through whichever node answers.
    private final class Writer: Sendable {
        private let addresses: [ServerAddress]
        private let lot: String
        private let isStopped = Atomic<Bool>(false)
        private let count = Atomic<Int>(0)
        private let lastNumber = Mutex<Int?>(nil)

        init(_ addresses: [ServerAddress], lot: String) {
            self.addresses = addresses
            self.lot = lot
        }

        /// Numbers acknowledged so far.
        var acknowledged: Int { count.load(ordering: .acquiring) }

        /// The last number; nil while the writer runs.
        var last: Int? { lastNumber.withLock { $0 } }

        func stop() { isStopped.store(true, ordering: .releasing) }

        /// - Returns: the last number.
        func run() async -> Int {
            while !isStopped.load(ordering: .acquiring) { await write() }
            // Once more: a follower that got the others must get this one, too.
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
                    addresses[attempt % addresses.count], "EditLot",
                    ["id": .string(lot), "category": "Hi-Fi", "description": .string(String(number))])
                if answer?.status == 200 { break }
                attempt += 1
                await Task.yield()
            }
            count.store(number, ordering: .releasing)
        }
    }

    static func number(_ data: JSONValue) -> Int {
        data["lot"]?["description"]?.stringValue.flatMap(Int.init) ?? 0
    }

    /// Follows the lot as an app does: comes back elsewhere whenever it is sent away.
    /// - Returns: how often it had to connect.
    private static func follow(_ addresses: [ServerAddress], lot: String, until last: @escaping @Sendable () -> Int?)
        async -> Int
    {
        var connects = 0
        while true {
            connects += 1
            do {
                let subscriber = try await Subscriber.connect(addresses[connects % addresses.count])
                subscriber.subscribe("GetLot", ["id": .string(lot)])
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
        try FileManager.default.copyItem(atPath: SampleProject.path, toPath: folder)
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

    /// Starts a deployment and returns while it is under way.
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
            "connector/queries.gql", "  lot(id: $id) {\n    id\n    title\n    category\n    description",
            "  lot(id: $id) {\n    id\n    tagline\n    title\n    category\n    description"
        ),
        (
            "connector/mutations.gql", "mutation WithdrawLot(",
            """
            mutation Retitle($id: UUID!, $title: String!, $tagline: String)
              @auth(level: PUBLIC, insecureReason: "demo") {
              lot_update(id: $id, data: {title: $title, tagline: $tagline})
            }

            mutation WithdrawLot(
            """
        ),
    ]

    static func aLot(_ address: ServerAddress) async throws -> String {
        let list = try JSONParser.parse(try await API.get(address, "ListLots", ["category": "Hi-Fi"]).body)
        return try #require(list["data"]?["lots"]?[0]?["id"]?.stringValue)
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
            let lot = try await Self.aLot(addresses[0])
            let old = try await Subscriber.connect(addresses[0])
            old.subscribe("GetLot", ["id": .string(lot)])
            #expect(try await old.data()["lot"]?["tagline"] == nil)

            let writer = Writer(addresses, lot: lot)
            async let written = writer.run()
            let all = addresses
            let followers = (0..<10).map { _ in
                Task { await Self.follow(all, lot: lot) { writer.last } }
            }

            // The second version, while the writer writes.
            let deployed = try await Self.deploy(cluster, [try Self.project(cluster, "second", Self.second)])
            #expect(deployed.code == 0, "\(deployed.output)")
            #expect(deployed.output.contains("deployed; 4 nodes serve it"), "\(deployed.output)")
            #expect(deployed.output.contains("tagline"), "\(deployed.output)")
            let fresh = try await Subscriber.connect(addresses[1])
            fresh.subscribe("GetLot", ["id": .string(lot)])
            #expect(try await fresh.data()["lot"]?["tagline"] == .null)

            // Both get later changes, each in its own shape.
            let mark = writer.acknowledged
            _ = try await fresh.data { Self.number($0) > mark && $0["lot"]?["tagline"] != nil }
            _ = try await old.data { Self.number($0) > mark && $0["lot"]?["tagline"] == nil }

            // A mutation that only the second version has refreshes queries of the first.
            let renamed = try await API.mutate(
                addresses[0], "Retitle", ["id": .string(lot), "title": "Renamed", "tagline": "New"])
            #expect(renamed.status == 200, "\(renamed.body)")
            _ = try await fresh.data { $0["lot"]?["tagline"]?.stringValue == "New" }
            let shown = try await old.data { $0["lot"]?["title"]?.stringValue == "Renamed" }
            #expect(shown["lot"]?["tagline"] == nil)

            // Every node is restarted with the first version's folder; the deployed version takes precedence.
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
                try await API.get(addresses[0], "GetLot", ["id": .string(lot)]).body)
            #expect(read["data"]?["lot"]?["tagline"]?.stringValue == "New")

            // The verdict: every follower ends with the last acknowledged number.
            writer.stop()
            let final = await written
            var connects = 0
            for follower in followers { connects += await follower.value }
            #expect(connects >= followers.count * 2, "the restarts moved nobody")
            print("rollout: \(final) mutations, \(followers.count) followers with \(connects) connects, nothing missed")
        }
    }

    @Test func breakingDeploymentsAreRefused() async throws {
        try await Cluster.with { cluster in
            let quick = ["deploy.pollMs=100ms"]
            let node = try await cluster.start(roles: "api,worker,gateway", settings: quick)
            // Before the first deployment, the folder that nodes were started with is compared with.
            let less = try Self.project(
                cluster, "less",
                [
                    (
                        "connector/queries.gql", "    title\n    category\n    description\n    startPrice\n",
                        "    category\n    description\n    startPrice\n"
                    )
                ])
            let refused = try await Self.deploy(cluster, [less])
            #expect(refused.code == 1)
            #expect(refused.output.contains("result-field-removed"), "\(refused.output)")
            #expect(refused.output.contains("queries.gql:2:7"), "\(refused.output)")
            #expect(refused.output.contains("nothing was changed"), "\(refused.output)")

            let lossy = try Self.project(
                cluster, "lossy", [("schema/schema.gql", "imageUrl: String", "imageUrl: Int")])
            let unmade = try await Self.deploy(cluster, [lossy, "--allow-breaking"])
            #expect(unmade.code == 1)
            #expect(unmade.output.contains("lot.image_url"), "\(unmade.output)")

            let broken = try Self.project(
                cluster, "broken", [("connector/mutations.gql", "lot_delete(id: $id)", "lot_delette(id: $id)")])
            let notCompiled = try await Self.deploy(cluster, [broken, "--allow-breaking"])
            #expect(notCompiled.code == 1)
            #expect(notCompiled.output.contains("lot_delette"), "\(notCompiled.output)")
            #expect(!(try await Self.deploy(cluster, ["--list"])).output.contains("  deploy  "))

            let dry = try await Self.deploy(
                cluster, [try Self.project(cluster, "second", Self.second), "--dry-run"])
            #expect(dry.code == 0, "\(dry.output)")
            #expect(dry.output.contains("could be deployed"), "\(dry.output)")
            #expect(!(try await Self.deploy(cluster, ["--list"])).output.contains("  deploy  "))

            // With --allow-breaking it is deployed, and so is the way back.
            let insisted = try await Self.deploy(cluster, [less, "--allow-breaking"])
            #expect(insisted.code == 0, "\(insisted.output)")
            let lot = try await Self.aLot(node.address)
            func title() async throws -> JSONValue? {
                let body = try await API.get(node.address, "GetLot", ["id": .string(lot)]).body
                return try JSONParser.parse(body)["data"]?["lot"]?["title"]
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

    @Test func sessionsOfAFormerVersionAreAskedToReconnect() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway",
                settings: ["deploy.pollMs=100ms", "deploy.keepMs=0ms", "deploy.moveMs=200ms"])
            let lot = try await Self.aLot(node.address)
            let old = try await Subscriber.connect(node.address)
            old.subscribe("GetLot", ["id": .string(lot)])
            _ = try await old.data()
            let deployed = try await Self.deploy(cluster, [try Self.project(cluster, "second", Self.second)])
            #expect(deployed.code == 0, "\(deployed.output)")
            #expect(await old.closeCode() == 1001)
            let fresh = try await Subscriber.connect(node.address)
            fresh.subscribe("GetLot", ["id": .string(lot)])
            #expect(try await fresh.data()["lot"]?["tagline"] == .null)
        }
    }

    /// Apps send the texts, or their digests, that they were built with. A new version of an operation does not shut
    /// them out before its time.
    @Test func textsOfAFormerVersionAreTakenWhileItIsInService() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway",
                settings: ["deploy.pollMs=100ms", "deploy.keepMs=15s", "deploy.moveMs=200ms"])
            let lot = try await Self.aLot(node.address)
            let checked = try FreshetProcess(["check", SampleProject.path, "--documents"])
            #expect(await checked.waitForExit() == 0)
            let line = try #require(checked.output.split(separator: "\n").first { $0.contains("\"GetLot\"") })
            let document = try JSONParser.parse(Array(line.utf8))
            let text = try #require(document["text"]?.stringValue)
            let digest = try #require(document["documentId"]?.stringValue)

            let deployed = try await Self.deploy(cluster, [try Self.project(cluster, "second", Self.second)])
            #expect(deployed.code == 0, "\(deployed.output)")
            func ask(_ request: JSONObject) async throws -> JSONValue {
                var request = request
                request["variables"] = ["id": .string(lot)]
                let answer = try await HTTPCall.send(
                    .POST, node.address, path: "/graphql", headers: ["content-type": "application/json"],
                    body: JSONWriter.compact(.object(request)))
                return try JSONParser.parse(answer.body)
            }
            let named: JSONObject = ["operationName": "GetLot"]
            let (byText, byDigest): (JSONObject, JSONObject) = (
                ["query": .string(text)], ["documentId": .string(digest)]
            )
            // A client that sends only a name gets the current version; one that sends its text gets the version it
            // was built for.
            #expect(try await ask(named)["data"]?["lot"]?["tagline"] == .null)
            for request in [byText, byDigest] {
                let lot = try #require(try await ask(request)["data"]?["lot"])
                #expect(lot["title"] != nil && lot["tagline"] == nil)
            }
            let subscriber = try await Subscriber.connect(node.address)
            let followed = try #require(text.firstRange(of: "query"))
            subscriber.subscribe(
                "GetLot", ["id": .string(lot)],
                query: text.replacingCharacters(in: followed, with: "subscription"))
            #expect(try await subscriber.data()["lot"]?["tagline"] == nil)
            let renamed = try await API.mutate(
                node.address, "Retitle", ["id": .string(lot), "title": "Renamed", "tagline": "New"])
            #expect(renamed.status == 200, "\(renamed.body)")
            let shown = try await subscriber.data { $0["lot"]?["title"]?.stringValue == "Renamed" }
            #expect(shown["lot"]?["tagline"] == nil)

            // Its time is over: its sessions are asked to reconnect and then get the reason.
            #expect(await subscriber.closeCode() == 1001)
            for request in [byText, byDigest] {
                let refused = try await ask(request)
                #expect(refused["data"] == nil && refused["errors"]?[0]?["message"]?.stringValue != nil)
            }
            #expect(try await ask(named)["data"]?["lot"]?["tagline"]?.stringValue == "New")
        }
    }
}
