import Foundation
import JSON
import LocalServers
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// Limits of one user and one address, over real sockets.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct QuotaLimitTests {
    private static let secret = "0123456789abcdef0123456789abcdef"

    private func connect(_ address: ServerAddress, _ uid: String) async throws -> Subscriber {
        let token = TestTokens.signed(uid: uid, secret: Self.secret)
        return try await Subscriber.connect(address, payload: ["Authorization": .string("Bearer \(token)")])
    }

    @Test func oneUserDoesNotTakeWhatIsOthers() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway,admin",
                settings: [
                    "auth.mode=hs256", "auth.hs256Secret=\(Self.secret)", "gateway.sessionsPerUserMax=3",
                    "gateway.subscriptionsPerUserMax=4",
                ])
            let ann = [try await connect(node.address, "ann"), try await connect(node.address, "ann")]
            for (index, session) in ann.enumerated() {
                session.subscribe("ClosingSoon", [:], id: "a\(index)")
                _ = try await session.data(id: "a\(index)")
            }
            // A stream is a session too.
            let token = TestTokens.signed(uid: "ann", secret: Self.secret)
            async let stream = API.get(
                node.address, "ClosingSoon", [:],
                headers: ["authorization": "Bearer \(token)", "accept": "text/event-stream"])
            let admin = try await AdminClient(node.process)
            try await admin.wait("status") { $0["sessions"]?.intValue == 3 }
            await #expect(throws: Subscriber.Closed.self, "the fourth session") {
                _ = try await connect(node.address, "ann")
            }
            let poll = try await API.get(
                node.address, "ClosingSoon", [:], headers: ["authorization": "Bearer \(token)", "prefer": "wait=1"])
            #expect(poll.status == 429, "\(poll.status)")
            ann[0].subscribe("ClosingSoon", ["limit": 3], id: "more")
            _ = try await ann[0].data(id: "more")
            ann[0].subscribe("ClosingSoon", ["limit": 4], id: "too many")
            let refused = try await ann[0].message { $0["id"]?.stringValue == "too many" }
            #expect(
                refused["type"]?.stringValue == "error" && refused.description.contains("maximum of 4"), "\(refused)")
            let bob = try await connect(node.address, "bob")
            bob.subscribe("ClosingSoon", ["limit": 5])
            _ = try await bob.data()
            // A subscription that ends makes room.
            ann[0].send(["id": "more", "type": "complete"])
            ann[0].subscribe("ClosingSoon", ["limit": 4], id: "fits")
            _ = try await ann[0].data(id: "fits")
            try await admin.post("sessions/\(try await streamSession(admin))/end")
            _ = try await stream
            let third = try await connect(node.address, "ann")
            third.subscribe("ClosingSoon", ["limit": 6])
            _ = try await third.data()
        }
    }

    /// Also over sessions, where an operation may be given up by its client while it runs.
    @Test func requestsInFlightAreCountedWhateverTheyComeBy() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway",
                settings: [
                    "auth.mode=hs256", "auth.hs256Secret=\(Self.secret)", "api.requestsPerUserMax=2",
                    "gateway.executesPerSessionMax=3", "gateway.executesWaitingMax=0",
                ])
            let lots = try JSONParser.parse(try await API.get(node.address, "ClosingSoon", [:]).body)
            let lot = try #require(lots["data"]?["lots"]?[0]?["id"])
            let change: JSONObject = ["id": lot, "category": "Books", "description": "in flight"]
            let locker = try await lockLots(cluster)

            // Nobody is signed in: as many as one session may have, however often it gives them up.
            let signedOut = try await Subscriber.connect(node.address)
            for id in ["1", "2", "3"] {
                signedOut.subscribe("EditLot", change, id: id)
                signedOut.send(["id": .string(id), "type": "complete"])
            }
            signedOut.subscribe("EditLot", change, id: "4")
            let fourth = try await signedOut.message { $0["id"] == "4" }
            #expect(fourth["type"] == "error" && fourth.description.contains("too many operations wait"), "\(fourth)")

            let ann = try await connect(node.address, "ann")
            func refusal(_ id: String) async throws -> Bool {
                ann.subscribe("EditLot", change, id: id)
                let answer = try await ann.message { $0["id"]?.stringValue == id }
                return answer["type"]?.stringValue == "error" && answer.description.contains("maximum of 2 requests")
            }
            for id in ["1", "2"] { ann.subscribe("EditLot", change, id: id) }
            #expect(try await refusal("3"))
            ann.send(["id": "1", "type": "complete"])
            #expect(try await refusal("4"), "the client gave the first one up, but it runs")
            let token = TestTokens.signed(uid: "ann", secret: Self.secret)
            #expect(try await API.mutate(node.address, "EditLot", change, token: token).status == 429)

            // graphql-sse's single connection: the request is answered at once, its operation runs on.
            let other = "Bearer " + TestTokens.signed(uid: "bob", secret: Self.secret)
            let reserved = try await HTTPCall.send(
                .PUT, node.address, path: "/graphql", headers: ["authorization": other])
            func start(_ id: String) async throws -> Int {
                let body: JSONObject = [
                    "query": "", "operationName": "EditLot", "variables": .object(change),
                    "extensions": ["operationId": .string(id)],
                ]
                return try await HTTPCall.send(
                    .POST, node.address, path: "/graphql",
                    headers: [
                        "authorization": other, "content-type": "application/json",
                        "x-graphql-event-stream-token": String(decoding: reserved.body, as: UTF8.self),
                    ], body: JSONWriter.compact(.object(body))
                ).status
            }
            #expect(try await [start("1"), start("2"), start("3")] == [202, 202, 429])

            locker.signal(SIGINT)
            _ = await locker.waitForExit()
            _ = try await ann.message { $0["id"] == "2" && $0["type"] == "complete" }
            // One of two has room now.
            #expect(try await API.mutate(node.address, "EditLot", change, token: token).status == 200)
        }
    }

    /// The operations of a lost session run to their end and are counted for as long, by each of the counts.
    @Test(arguments: [
        ("api.requestsPerUserMax", 429), ("api.requestsPerAddressMax", 429), ("api.requestsInFlightMax", 503),
    ])
    func requestsOfALostSessionAreCountedUntilTheyEnd(_ setting: String, _ status: Int) async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway,admin",
                settings: [
                    "auth.mode=hs256", "auth.hs256Secret=\(Self.secret)", "\(setting)=2", "http.uncountedAddresses=",
                    // A request that finds no room is refused at once.
                    "gateway.executesWaitingMax=0",
                    // Only the end of the lock ends a mutation, however slow the machine is.
                    "postgres.statementTimeoutMs=120000",
                ])
            let lots = try JSONParser.parse(try await API.get(node.address, "ClosingSoon", [:]).body)
            let change: JSONObject = [
                "id": try #require(lots["data"]?["lots"]?[0]?["id"]), "category": "Books", "description": "lost",
            ]
            let locker = try await lockLots(cluster)
            let session = try await connect(node.address, "ann")
            for id in ["1", "2", "3"] { session.subscribe("EditLot", change, id: id) }
            let third = try await session.message { $0["id"] == "3" }
            #expect(third["type"] == "error", "\(third)")
            // One that is given up before it was sent is no request in flight any more.
            try await waitForLock(cluster, mutations: 2)
            session.socket.abort()
            try await AdminClient(node.process).wait("status") { $0["sessions"]?.intValue == 0 }

            let token = TestTokens.signed(uid: "ann", secret: Self.secret)
            func asked() async throws -> Int {
                try await API.get(
                    node.address, "ClosingSoon", [:], headers: ["authorization": "Bearer \(token)"]
                ).status
            }
            #expect(try await asked() == status)
            locker.signal(SIGINT)
            _ = await locker.waitForExit()
            let last = try await waitFor("the end of both") {
                let answer = try await asked()
                return answer == status ? nil : answer
            }
            #expect(last == 200)
        }
    }

    /// Its client is killed without ending the call; nothing remains of the call once its mutation has run.
    @Test func aLostStreamOfGRPCLeavesNothingBehind() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway,admin",
                settings: [
                    "auth.mode=hs256", "auth.hs256Secret=\(Self.secret)", "gateway.sessionsPerUserMax=1",
                    "gateway.sessionsPerAddressMax=1", "gateway.subscriptionsPerUserMax=1",
                    "gateway.subscriptionsPerAddressMax=1", "api.requestsPerUserMax=1", "api.requestsPerAddressMax=1",
                    "api.requestsInFlightMax=1", "http.uncountedAddresses=",
                ])
            let lots = try JSONParser.parse(try await API.get(node.address, "ClosingSoon", [:]).body)
            let lot = try #require(lots["data"]?["lots"]?[0]?["id"]?.stringValue)
            let token = TestTokens.signed(uid: "ann", secret: Self.secret)
            let client = try await PythonClients.start(
                "lost_stream_client.py", ["\(node.address.host):\(node.address.port)", token, lot])
            _ = try await client.line(containing: "live")
            let locker = try await lockLots(cluster)
            client.signal(SIGUSR1)
            _ = try await client.line(containing: "full")
            for uid in ["ann", "bob"] {
                await #expect(throws: (any Error).self, "the user's, and the address's") {
                    _ = try await connect(node.address, uid)
                }
            }
            try await waitForLock(cluster, mutations: 1)
            await client.crash()
            let admin = try await AdminClient(node.process)
            try await admin.wait("status") { $0["sessions"]?.intValue == 0 }

            func asked() async throws -> Int {
                try await API.get(
                    node.address, "ClosingSoon", [:], headers: ["authorization": "Bearer \(token)"]
                ).status
            }
            #expect(try await asked() == 503, "its mutation runs on")
            locker.signal(SIGINT)
            _ = await locker.waitForExit()
            try await waitUntil("the end of the mutation") { try await asked() == 200 }
            let session = try await connect(node.address, "ann")
            session.subscribe("ClosingSoon", ["limit": 3])
            _ = try await session.data()
            #expect(try await asked() == 200)
        }
    }

    /// - Returns: who holds the lock, until it is interrupted.
    private func lockLots(_ cluster: Cluster) async throws -> FreshetProcess {
        let lock = ["BEGIN", "LOCK TABLE lot IN ACCESS EXCLUSIVE MODE", "\\warn locked", "SELECT pg_sleep(120)"]
        let locker = try FreshetProcess(
            lock.flatMap { ["-c", $0] } + [cluster.servers.postgres.connectionString], executable: "/usr/bin/psql")
        _ = try await locker.line(containing: "locked")
        return locker
    }

    /// Waits until this many mutations wait for the lock.
    private func waitForLock(_ cluster: Cluster, mutations: Int) async throws {
        let query = "SELECT 'waiting ' || count(*) FROM pg_locks WHERE NOT granted"
        #expect(
            try await eventually {
                let psql = try FreshetProcess(
                    ["-Atc", query, cluster.servers.postgres.connectionString], executable: "/usr/bin/psql")
                let line = try await psql.line(containing: "waiting")
                _ = await psql.waitForExit()
                return line.hasSuffix("waiting \(mutations)")
            })
    }

    private func streamSession(_ admin: AdminClient) async throws -> Int64 {
        let rows = try await admin.get("sessions?limit=10").rows("sessions")
        return try #require(rows.first { $0["protocol"]?.stringValue == "event-stream" }?["id"]?.intValue)
    }

    @Test func anAddressIsThatOfTheClientBehindATrustedProxy() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway",
                settings: [
                    "gateway.sessionsPerAddressMax=1", "http.trustedProxies=127.0.0.0/8", "http.uncountedAddresses=",
                ])
            func poll(_ forwarded: String) async throws -> Int {
                try await API.get(
                    node.address, "ClosingSoon", [:],
                    headers: ["prefer": "wait=1", "if-none-match": "\"none\"", "x-forwarded-for": forwarded]
                ).status
            }
            let one = try await Subscriber.connect(node.address)
            one.subscribe("ClosingSoon", [:])
            _ = try await one.data()
            await #expect(throws: (any Error).self) { _ = try await Subscriber.connect(node.address) }
            #expect(try await poll("203.0.113.5") == 200)
            #expect(try await poll("6.6.6.6, 127.0.0.1") == 200, "another address")
            #expect(try await poll("203.0.113.9, not an address") == 429, "the proxy's own")
            one.subscribe("ClosingSoon", ["limit": 2], id: "2")
            _ = try await one.data(id: "2")
        }
    }

    @Test func anUntrustedProxyOnTheMachineIsReported() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api")
            let answer = try await API.get(
                node.address, "ClosingSoon", [:], headers: ["x-forwarded-for": "203.0.113.5"])
            #expect(answer.status == 200)
            _ = try await node.process.line(containing: "not in http.trustedProxies")
        }
    }

    @Test func anIdleSessionIsClosed() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway", settings: ["gateway.idleTimeoutMs=700"])
            let idle = try await Subscriber.connect(node.address)
            let busy = try await Subscriber.connect(node.address)
            busy.subscribe("ClosingSoon", [:])
            _ = try await busy.data()
            #expect(await idle.closeCode() == 1001)
            busy.subscribe("ClosingSoon", ["limit": 2], id: "2")
            _ = try await busy.data(id: "2")
            for id in ["1", "2"] { busy.send(["id": .string(id), "type": "complete"]) }
            #expect(await busy.closeCode() == 1001)
        }
    }
}
