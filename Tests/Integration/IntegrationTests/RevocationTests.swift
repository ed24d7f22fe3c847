import Foundation
import JSON
import LocalServers
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// Revoked users and keys, on nodes of their own.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct RevocationTests {
    private static let secret = "0123456789abcdef0123456789abcdef"
    private static let auth = ["auth.mode=hs256", "auth.hs256Secret=\(secret)"]

    private func milliseconds(since start: ContinuousClock.Instant) -> Int {
        Int((ContinuousClock.now - start) / .milliseconds(1))
    }

    private func status(_ address: ServerAddress, token: String) async throws -> Int {
        try await API.get(
            address, "MyAccount", [:], headers: ["authorization": "Bearer \(token)"]
        ).status
    }

    @Test func aRevokedUserIsOutEverywhereWithinASecond() async throws {
        try await Cluster.with { cluster in
            let first = try await cluster.start(roles: "api,worker,gateway,admin", settings: Self.auth)
            let second = try await cluster.start(roles: "api,gateway,admin", settings: Self.auth)
            let admin = try await AdminClient(first.process)
            let ann = TestTokens.signed(uid: "ann", secret: Self.secret)
            let bob = TestTokens.signed(uid: "bob", secret: Self.secret)
            func follow(_ token: String) async throws -> Subscriber {
                let one = try await Subscriber.connect(
                    second.address, payload: ["Authorization": .string("Bearer \(token)")])
                one.subscribe("MyAccount", [:])
                _ = try await one.data()
                return one
            }
            let annFollows = try await follow(ann)
            let bobFollows = try await follow(bob)
            // A stream ends with its last event, a poll with a status: both are answers to one call.
            async let stream = API.get(
                second.address, "MyAccount", [:],
                headers: ["authorization": "Bearer \(ann)", "accept": "text/event-stream"])
            let tag =
                try await API.get(
                    second.address, "MyAccount", [:], headers: ["authorization": "Bearer \(ann)"]
                ).headers.first(name: "etag") ?? ""
            async let poll = API.get(
                second.address, "MyAccount", [:],
                headers: ["authorization": "Bearer \(ann)", "prefer": "wait=60", "if-none-match": tag])
            try await AdminClient(second.process).wait("status") { $0["sessions"]?.intValue == 4 }

            let start = ContinuousClock.now
            #expect(try await admin.post("revocations?uid=ann").status == 200)
            #expect(await annFollows.closeCode() == 4403)
            let closedMs = milliseconds(since: start)
            let streamed = try await stream
            let polled = try await poll
            let allMs = milliseconds(since: start)
            #expect(closedMs < 1_000 && allMs < 1_000, "\(closedMs) and \(allMs) ms")
            #expect(String(decoding: streamed.body, as: UTF8.self).contains("revoked"))
            #expect(polled.status == 401)
            for address in [first.address, second.address] {
                #expect(try await status(address, token: ann) == 401)
                #expect(try await status(address, token: bob) == 200)
            }
            await #expect(throws: Subscriber.Closed.self) { _ = try await follow(ann) }

            // Others continue.
            let change = try await API.mutate(
                first.address, "SaveAccount", ["name": "still here"], token: bob)
            #expect(change.status == 200)
            _ = try await bobFollows.data { $0.description.contains("still here") }

            #expect(first.process.output.contains("revoke uid:ann until cleared"), "audit")
            let listed = try await admin.command(["revocations"])
            #expect(listed.contains("uid:ann"), "\(listed)")
            #expect(try await admin.post("revocations?uid=a&jti=b").status == 400)
            #expect(try await admin.post("revocations/clear?uid=nobody").status == 404)

            // A node that starts now knows it before it serves, and Redis may forget it.
            let third = try await cluster.start(roles: "api,gateway", settings: Self.auth)
            #expect(try await status(third.address, token: ann) == 401)
            await cluster.servers.redis.crash()
            #expect(try await status(second.address, token: ann) == 401)
            try await cluster.servers.redis.restart()
            try await admin.wait("revocations") { $0["count"]?.intValue == 1 }
            _ = try await admin.command(["unrevoke", "uid", "ann"])
            try await waitUntil("the second node to let her in") {
                try await status(second.address, token: ann) == 200
            }
            #expect(try await status(first.address, token: ann) == 200)
        }
    }

    @Test func everyProtocolReportsARevocationWithinASecond() async throws {
        try await Cluster.with { cluster in
            let first = try await cluster.start(roles: "api,worker,gateway,admin", settings: Self.auth)
            let second = try await cluster.start(roles: "api,gateway", settings: Self.auth)
            let admin = try await AdminClient(first.process)
            let client = try await PythonClients.start(
                "revocation_client.py",
                [
                    "http://\(second.address.host):\(second.address.port)",
                    TestTokens.signed(uid: "ann", secret: Self.secret),
                    TestTokens.signed(uid: "bob", secret: Self.secret),
                ])
            _ = try await client.line(containing: "live")
            let start = Date().timeIntervalSince1970
            #expect(try await admin.post("revocations?uid=ann").status == 200)
            let line = try await client.line(containing: "ended at")
            let end = try #require(line.split(separator: " ").last.flatMap { Double($0) })
            #expect(end - start < 1, "\(end - start) s")
            try await PythonClients.output(of: client, "revocation_client.py")
        }
    }

    @Test func apiKeysAdmitToPublicOperationsWhileTheyAreInTheFile() async throws {
        try await Cluster.with { cluster in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let file = URL(filePath: folder.path + "/keys")
            try Data("one: 0123456789abcdef\ntwo: fedcba9876543210\n".utf8).write(to: file)
            let node = try await cluster.start(
                roles: "api,worker,gateway",
                settings: Self.auth + [
                    "auth.apiKeysFile=\(file.path)", "auth.apiKeyRequired=true", "auth.filesPollMs=100",
                ])
            func status(_ operation: String, _ headers: HTTPHeaders) async throws -> Int {
                try await API.get(node.address, operation, [:], headers: headers).status
            }
            let token = TestTokens.signed(uid: "ann", secret: Self.secret)
            #expect(try await status("ClosingSoon", [:]) == 401)
            #expect(try await status("ClosingSoon", ["x-api-key": "0123456789abcdef"]) == 200)
            #expect(try await status("ClosingSoon", ["x-goog-api-key": "fedcba9876543210"]) == 200)
            #expect(try await status("ClosingSoon", ["x-api-key": "0123456789abcdeX"]) == 401)
            #expect(try await status("ClosingSoon", ["authorization": "Bearer \(token)"]) == 200, "a token will do")
            #expect(try await status("MyAccount", ["x-api-key": "0123456789abcdef"]) != 200)
            let url = "http://\(node.address.host):\(node.address.port)"
            try await PythonClients.run("api_key_client.py", [url, "0123456789abcdef"])

            let one = try await Subscriber.connect(node.address, payload: ["x-api-key": "0123456789abcdef"])
            let two = try await Subscriber.connect(node.address, payload: ["x-api-key": "fedcba9876543210"])
            for subscriber in [one, two] {
                subscriber.subscribe("ClosingSoon", [:])
                _ = try await subscriber.data()
            }
            try Data("two: fedcba9876543210\n".utf8).write(to: file)
            #expect(await one.closeCode() == 4403, "the key is gone")
            #expect(try await status("ClosingSoon", ["x-api-key": "0123456789abcdef"]) == 401)
            #expect(try await status("ClosingSoon", ["x-api-key": "fedcba9876543210"]) == 200)
            try Data("two: short".utf8).write(to: file)
            _ = try await node.process.line(containing: "auth.apiKeysFile could not be read")
            #expect(try await status("ClosingSoon", ["x-api-key": "fedcba9876543210"]) == 200, "those known count")
            two.subscribe("ClosingSoon", [:], id: "2")
            _ = try await two.data(id: "2")
        }
    }
}
