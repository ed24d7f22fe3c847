import Broker
import Foundation
import JSON
import LiveModel
import LocalServers
import Logging
import NIOHTTP1
import ProtocolClients
import Streams
import TestSupport
import Testing

/// Extreme and meaningless values in every key and field of Redis that nodes read, while they run.
@Suite(.serialized, .timeLimit(.minutes(6)))
struct JunkValueTests {
    private static let shardCount = 16
    private static let last = "18446744073709551615-18446744073709551615"

    private static let texts = [
        "", "x", "-1", "0", "1e308", "1e999", "inf", "nan", "9223372036854775807", "9223372036854775808",
        "-9223372036854775808", "18446744073709551615", "9007199254740991", "9007199254740993", "4503599627370496",
        "1.5", " 1", "\u{0}", "é", last,
    ]

    private static let values: [JSONValue] =
        [
            .null, true, .int(.max), .int(.min), .int(-1), .int(1 << 53), .double(1e308), [], [:],
            [.int(.max), .int(.min)],
        ]
        + ["", "x", "18446744073709551615", "9223372036854775808", "-1", .string(last)].map { $0 }
        + [.string("18446744073709551615.18446744073709551615.\(last)")]

    /// Returns the value with each of its parts replaced in turn.
    private static func variants(of value: JSONValue) -> [JSONValue] {
        var found = values
        switch value {
        case .object(let object):
            for entry in object.entries {
                for variant in variants(of: entry.value) {
                    var changed = object
                    changed[entry.key] = variant
                    found.append(.object(changed))
                }
            }
        case .array(let parts):
            // Elements are alike; those of a shard's status are numbers.
            let isList = parts.first?.arrayValue != nil || parts.first?.stringValue != nil
            for (index, part) in parts.enumerated().prefix(isList ? 1 : 20) {
                for variant in variants(of: part) {
                    var changed = parts
                    changed[index] = variant
                    found.append(.array(changed))
                }
            }
        case .null, .bool, .int, .double, .string: break
        }
        return found
    }

    private struct NoGateway: Error {}

    /// Writes junk as anybody could who reaches Redis.
    private struct Vandal {
        let redis: LocalRedis
        let broker: RedisBroker
        var keys: Keys { broker.keys }

        init(_ redis: LocalRedis) throws {
            self.redis = redis
            broker = try RedisBroker(
                RedisConfiguration(url: redis.url), keys: Keys(namespace: "fr"), name: "vandal",
                logger: Logger(label: "vandal") { _ in SwiftLogNoOpLogHandler() })
        }

        func command(_ words: String..., bytes: [[UInt8]] = [], allowing error: String? = nil) async throws {
            let quoted = (words.map { Array($0.utf8) } + bytes).map { word in
                "\""
                    + word.map { byte in
                        let hex = String(byte, radix: 16)
                        return "\\x" + (hex.count < 2 ? "0" : "") + hex
                    }.joined() + "\""
            }
            let answer = try #require(await redis.command(quoted.joined(separator: " ")))
            let isAllowed = error.map { answer.hasPrefix("-\($0)") } ?? false
            #expect(isAllowed || !answer.hasPrefix("-"), "\(words): \(answer)")
        }

        func set(_ key: String, _ field: String, _ value: String) async throws {
            try await command("HSET", key, field, bytes: [Array(value.utf8)])
        }

        /// Nodes that do not exist, each like one that does, except for one value.
        func nodes() async throws {
            var number = 0
            for record in try await broker.nodes() {
                let payload = try #require(try? JSONValue(parsing: record.payload))
                for variant in JunkValueTests.variants(of: payload) {
                    number += 1
                    let untilMs = Int64(Date().timeIntervalSince1970 * 1_000) + 2_000
                    let text = Array("\(untilMs):".utf8) + variant.compactBytes
                    try await command("HSET", keys.nodes, "ghost\(number)", bytes: [text])
                }
            }
            for (index, text) in JunkValueTests.texts.enumerated() {
                try await set(keys.nodes, "ghost-\(index)", text)
                try await set(keys.nodes, "ghost-until-\(index)", "\(text):{}")
            }
            try await command("HSET", keys.nodes, bytes: [[0xff, 0xfe], Array("99999999999999:{}".utf8)])
        }

        func leases() async throws {
            for (index, text) in JunkValueTests.texts.enumerated() {
                for (other, field) in ["epoch", "until", "ttl", "trusted", "since", "based", "server", "owner"]
                    .enumerated()
                {
                    try await set(keys.lease(shard: (index * 8 + other) % shardCount), field, text)
                }
            }
            for shard in 0..<4 { try await command("HSET", keys.lease(shard: shard), "owner", bytes: [[0xff]]) }
        }

        func overrides() async throws {
            for text in JunkValueTests.texts {
                for version in [text, "1"] {
                    for field in ["splits:auctions/GetLot", "shard:3", "shard:\(text)", "drain:ghost", "x", text] {
                        for value in ["\(text)", "\(text) \(text) \(text)", "1 1 \(text)", "\(text) ghost"] {
                            try await set(keys.overrides, field, "\(version) \(value)")
                        }
                    }
                    for field in ["uid:ghost", "jti:\(text)", "key:x", "mark", "x:y", text] {
                        for value in ["\(text) - all", "1 \(text) all", "\(text) \(text) earlier", text] {
                            try await set(keys.revocations, field, "\(version) \(value)")
                        }
                    }
                }
                try await set(keys.overrides, "generation", text)
                try await set(keys.revocations, "generation", text)
            }
            try await command("HSET", keys.overrides, bytes: [[0xff], [0xfe]])
            try await command("HSET", keys.revocations, bytes: [[0xff], [0xfe]])
            for key in [keys.overrides, keys.revocations] { try await set(key, "generation", "9007199254740991") }
        }

        /// Entries like those in the stream, except for one value.
        /// - Returns: how many.
        func entries(_ stream: String) async throws -> Int {
            let end = StreamID(ms: .max, sequence: .max)
            var appends: [StreamAppend] = [
                StreamAppend(stream: stream, fields: [(name: "x", value: [0xff])])
            ]
            for entry in try await broker.newest(stream, before: end, limit: 6) where !entry.isProbe {
                for (index, field) in entry.fields.enumerated() {
                    let json = try? JSONValue(parsing: field.value)
                    let parts = json.map(JunkValueTests.variants) ?? JunkValueTests.values
                    for part in parts {
                        var fields = entry.fields
                        fields[index].value = part.compactBytes
                        appends.append(StreamAppend(stream: stream, fields: fields))
                    }
                }
            }
            for start in stride(from: 0, to: appends.count, by: 100) {
                _ = try await broker.append(Array(appends[start..<min(start + 100, appends.count)]))
            }
            return appends.count
        }

        func inboxOfTheGateway() async throws -> String {
            for record in try await broker.nodes() {
                let node = NodeRecordPayload(payload: record.payload)
                if node?.roles == [.gateway], record.id == node?.id.name { return keys.inbox(gateway: record.id) }
            }
            throw NoGateway()
        }

        func checkpoints() async throws {
            for shard in 0..<shardCount {
                // A worker creates the group with its first checkpoint, which may be still to come.
                try await command(
                    "XGROUP", "CREATE", keys.events(shard: shard), Keys.workersGroup, "0-0", "MKSTREAM",
                    allowing: "BUSYGROUP")
                for id in ["0-0", JunkValueTests.last] {
                    try await command(
                        "XGROUP", "SETID", keys.events(shard: shard), Keys.workersGroup, id, "ENTRIESREAD",
                        "9223372036854775807")
                }
            }
        }
    }

    @Test func nodesOutliveJunkInEveryKeyThatTheyRead() async throws {
        try await Cluster.with { cluster in
            let api = try await cluster.start(roles: "api")
            let worker = try await cluster.start(roles: "worker")
            let gateway = try await cluster.start(roles: "gateway")
            let operating = try await cluster.start(roles: "admin")
            let admin = try await AdminClient(operating.process)
            let nodes = [api, worker, gateway, operating]
            let vandal = try Vandal(cluster.servers.redis)
            let ids = try await SplitTests.lots(api.address, count: 2)
            let subscriber = try await Subscriber.connect(gateway.address)
            for id in ids { subscriber.subscribe("GetLot", ["id": .string(id)], id: id) }
            for id in ids { _ = try await subscriber.data(id: id) }
            var number = 0
            func changesAreSeen(_ after: String) async throws {
                for id in ids {
                    number += 1
                    let last = number
                    try await SplitTests.write(api.address, id, last)
                    _ = try await subscriber.data(id: id) { SplitTests.number($0) == last }
                }
                for node in nodes {
                    #expect(try await HTTPCall.send(.GET, node.address, path: "/healthz").status == 200, "\(after)")
                }
            }
            func operatorsLook() async throws {
                let pages = [
                    "status", "nodes", "shards", "overrides", "orders", "sessions", "revocations", "live-queries",
                    "rules",
                ]
                for page in pages {
                    let answer = try await HTTPCall.send(.GET, admin.address, path: "/admin/\(page)")
                    #expect([200, 503].contains(answer.status), "\(page): \(answer.status)")
                }
                for command in [["nodes"], ["shards"], ["overrides"], ["revocations"]] {
                    let output = try await admin.command(command)
                    #expect(!output.isEmpty && !output.contains("Fatal error"), "\(command): \(output)")
                }
            }
            try await changesAreSeen("the start")

            try await vandal.nodes()
            try await operatorsLook()
            try await changesAreSeen("junk in the node list")

            try await vandal.overrides()
            try await operatorsLook()
            // There is no later generation than the stored one.
            let split = try await admin.post("operations/\(SplitTests.hot)/splits?count=2")
            #expect(split.status == 200, "\(split.body)")
            try await changesAreSeen("junk in overrides and revocations")

            var control = 0
            for shard in 0..<Self.shardCount {
                control += try await vandal.entries(vandal.keys.control(shard: shard))
                _ = try await vandal.entries(vandal.keys.events(shard: shard))
            }
            let inbox = try await vandal.inboxOfTheGateway()
            #expect(try await vandal.entries(inbox) > 100 && control > 100)
            _ = try await vandal.entries(vandal.keys.wakeUps)
            try await operatorsLook()
            try await changesAreSeen("junk in streams")

            try await vandal.checkpoints()
            for _ in 0..<3 {
                try await vandal.leases()
                try await operatorsLook()
                for node in nodes {
                    #expect(try await HTTPCall.send(.GET, node.address, path: "/healthz").status == 200)
                }
            }
            try await changesAreSeen("junk in leases and checkpoints")

            for text in Self.texts {
                for field in ["shardCount", "formatVersion", "incarnation"] {
                    try await vandal.set(vandal.keys.meta, field, text)
                }
            }
            try await operatorsLook()
            try await changesAreSeen("junk in the cluster's parameters")
            await vandal.broker.close()

            // Operators learn of it, at a bounded rate.
            for node in nodes {
                let lines = node.process.output.split(separator: "\n").filter {
                    $0.contains("invalid values in Redis") || $0.contains("unreadable control messages")
                }
                #expect((1...200).contains(lines.count), "\(lines.count) lines")
            }
            #expect(worker.process.output.contains("unreadable control messages"))
        }
    }
}
