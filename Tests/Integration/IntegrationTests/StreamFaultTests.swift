import Foundation
import JSON
import LocalServers
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// Redis answers, but a node cannot write or read its own streams: it is as unready as if Redis were away, subscribers
/// get an error that they can try again after, and everything goes on when the fault ends.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct StreamFaultTests {
    enum Fault: String, CaseIterable, Sendable {
        case memory, type, permission, readPermission, readOnly, snapshots

        /// Commands that cause it and end it. `INBOX` is the node's inbox.
        var commands: (begin: [String], end: [String]) {
            switch self {
            case .memory:
                (
                    ["CONFIG SET maxmemory-policy noeviction", "CONFIG SET maxmemory 1"],
                    ["CONFIG SET maxmemory 0"]
                )
            case .type: (["SET INBOX text"], ["DEL INBOX"])
            case .permission: (["ACL SETUSER default -xadd"], ["ACL SETUSER default +xadd"])
            case .readPermission: (["ACL SETUSER default -xread"], ["ACL SETUSER default +xread"])
            case .readOnly: (["REPLICAOF 127.0.0.1 1"], ["REPLICAOF NO ONE"])
            // Redis stops writes when it cannot write its snapshot.
            case .snapshots:
                (
                    ["CONFIG SET stop-writes-on-bgsave-error yes", "CONFIG SET save '3600 1'", "BGSAVE"],
                    ["CONFIG SET stop-writes-on-bgsave-error no"]
                )
            }
        }
    }

    private static func readiness(_ address: ServerAddress) async throws -> (status: Int, reason: String?) {
        let answer = try await HTTPCall.send(.GET, address, path: "/readyz")
        return (answer.status, try JSONParser.parse(answer.body)["reason"]?.stringValue)
    }

    @Test(arguments: Fault.allCases)
    func aNodeThatCannotUseItsStreamsIsNotReady(_ fault: Fault) async throws {
        try await Cluster.with { cluster in
            let redis = cluster.servers.redis
            let node = try await cluster.start(
                roles: "api,worker,gateway", settings: ["cluster.unreadyAfterMs=3000", "cluster.nodeId=one"])
            let worker = try await cluster.start(
                roles: "worker", settings: ["cluster.unreadyAfterMs=3000", "cluster.nodeId=two"])
            let id = try await SplitTests.lots(node.address, count: 1)[0]
            let before = try await Subscriber.connect(node.address)
            before.subscribe("GetLot", ["id": .string(id)])
            _ = try await before.data()

            let (begin, end) = fault.commands
            if fault == .snapshots {
                try FileManager.default.createDirectory(
                    atPath: redis.dataDirectory + "/data/dump.rdb", withIntermediateDirectories: true)
            }
            for command in begin { try await Self.send(command, redis) }
            try await waitUntil("both unready") {
                let one = try await Self.readiness(node.address)
                let two = try await Self.readiness(worker.address)
                return one.status == 503 && one.reason?.hasPrefix("Redis has ") == true
                    // The other node has no inbox that could be broken.
                    && (two.status == 503 || fault == .type)
            }
            let started = ContinuousClock.now
            let during = try await Subscriber.connect(node.address)
            during.subscribe("ClosingSoon", ["limit": 7])
            async let poll = API.get(
                node.address, "ClosingSoon", ["limit": 8],
                headers: ["prefer": "wait=25", "if-none-match": "\"none\""])
            async let stream = Self.firstEvent(node.address)
            let message = try await during.message { $0["type"] == "next" }
            #expect(message["payload"]?["errors"] != nil && message.description.contains("UNAVAILABLE"), "\(message)")
            #expect(ContinuousClock.now - started < .seconds(10), "within the time after which the node is unready")
            let polled = try await poll
            #expect(polled.status == 503 && polled.headers.contains(name: "retry-after"), "\(polled.status)")
            #expect(try await stream.contains("UNAVAILABLE"))

            for command in end { try await Self.send(command, redis) }
            try await waitUntil("both ready") {
                let answers = [try await Self.readiness(node.address), try await Self.readiness(worker.address)]
                return answers.allSatisfy { $0.status == 200 }
            }
            // The same subscriptions go on.
            _ = try await during.data()
            try await SplitTests.write(node.address, id, 42)
            _ = try await before.data { SplitTests.number($0) == 42 }
        }
    }

    private static func send(_ command: String, _ redis: LocalRedis) async throws {
        let command = command.replacing("INBOX", with: "{fr:gateway:one}:inbox")
        let answer = try #require(await redis.command(command))
        #expect(!answer.hasPrefix("-"), "\(command): \(answer)")
    }

    /// The first event of an event stream that says anything.
    private static func firstEvent(_ address: ServerAddress) async throws -> String {
        let client = try await PythonClients.start("first_event_client.py", ["http://\(address.host):\(address.port)"])
        return try await client.line(containing: "event ")
    }
}
