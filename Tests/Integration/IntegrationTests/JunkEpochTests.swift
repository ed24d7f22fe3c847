import Foundation
import JSON
import LocalServers
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// Entries in Redis and tags of clients with epochs that no owner of a shard ever had.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct JunkEpochTests {
    private static let shardCount = 16

    /// Appends an entry to the inboxes of all gateways, as if a new owner of every shard had written it.
    private static func forgeOwners(_ cluster: Cluster, epoch: UInt64) async throws {
        let redis = cluster.servers.redis
        let keys = try #require(await redis.command("KEYS *:inbox"))
        let inboxes = keys.split(whereSeparator: \.isNewline).filter { $0.hasSuffix(":inbox") }
        try #require(!inboxes.isEmpty)
        for inbox in inboxes {
            for shard in 0..<shardCount {
                let message = #"{"type":"announceAll","shard":\#(shard),"epoch":"\#(epoch)"}"#
                let answer = try #require(await redis.command("XADD \(inbox) * m '\(message)'"))
                #expect(answer.hasPrefix("$"), "\(answer)")
            }
        }
    }

    @Test func aForgedOwnerSilencesNobody() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway")
            let ids = try await SplitTests.lots(node.address, count: 1)
            let subscriber = try await Subscriber.connect(node.address)
            subscriber.subscribe("GetLot", ["id": .string(ids[0])])
            _ = try await subscriber.data()
            var number = 0
            func changesAreSeen() async throws {
                // One change suffices: its refused result makes the gateway ask.
                number += 1
                try await SplitTests.write(node.address, ids[0], number)
                let last = number
                _ = try await subscriber.data { SplitTests.number($0) == last }
            }
            try await changesAreSeen()
            let nowMs = UInt64(Date().timeIntervalSince1970 * 1_000)
            for epoch in [.max, 1 << 53, nowMs + 1_800_000] as [UInt64] {
                try await Self.forgeOwners(cluster, epoch: epoch)
                try await changesAreSeen()
            }
            try await Self.forgeOwners(cluster, epoch: nowMs + 1_900_000)
            try await Self.forgeOwners(cluster, epoch: .max)
            _ = await cluster.servers.redis.command("FLUSHALL")
            try await changesAreSeen()
            let logged = node.process.output
            #expect(logged.contains("from a worker that does not own the shard were ignored"))
            #expect(logged.contains("\(nowMs + 1_800_000)"))
        }
    }

    @Test func aTagAheadOfAnyResultIsAnsweredAtOnce() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway")
            let id = try await SplitTests.lots(node.address, count: 1)[0]
            func poll(_ tag: String?) async throws -> HTTPCall.Response {
                var headers: HTTPHeaders = ["prefer": "wait=25"]
                if let tag { headers.add(name: "if-none-match", value: tag) }
                return try await API.get(node.address, "GetLot", ["id": .string(id)], headers: headers)
            }
            let tag = try #require(try await poll(nil).headers.first(name: "etag"))
            let parts = tag.split(separator: "@")
            try #require(parts.count == 3)
            try await SplitTests.write(node.address, id, 1)
            for position in ["\(UInt64.max).1.0-0", "\(UInt64.max).\(UInt64.max).\(UInt64.max)-0"] {
                let start = ContinuousClock.now
                let answer = try await poll("\(parts[0])@\(position)@\(parts[2])")
                #expect(answer.status == 200)
                #expect(ContinuousClock.now - start < .seconds(12), "at once, or within a slow machine's seconds")
            }
        }
    }
}
