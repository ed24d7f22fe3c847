import LiveModel
import Logging
import SeededRandom
import Streams
import Synchronization
import Testing

@testable import Broker

/// Values that no node writes, in every field that nodes read: each call answers within its range, and leases can be
/// taken again.
@Suite struct RedisJunkTests {
    private static let junk = [
        "", "x", "-1", "0", "1e308", "1e999", "inf", "-inf", "nan", "9223372036854775807", "9223372036854775808",
        "-9223372036854775808", "18446744073709551615", "9007199254740991", "9007199254740993", "4503599627370496",
        "1.5", "0x10", " 1",
        "\u{0}", "é", String(repeating: "9", count: 400),
    ]

    private let leaseFields = ["owner", "epoch", "until", "ttl", "server", "trusted", "since", "basis", "based"]

    @Test(arguments: 0..<8)
    func leaseWithJunkCanBeTakenAgain(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let redis = try TestRedis.shared.get()
        let broker = try redis.broker("junk-lease-\(seed)")
        let key = broker.keys.lease(shard: 1)
        var epoch: UInt64 = 1000
        for _ in 0..<60 {
            _ = try await broker.requestLease(key, owner: "a", ttlMs: 1000, basis: "b", epoch: epoch)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let field = leaseFields.randomElement(using: &random) ?? ""
                let value = Self.junk.randomElement(using: &random) ?? ""
                _ = try redis.command("HSET", key, field, value)
            }
            _ = try await broker.renewLease(key, owner: "a", epoch: epoch, ttlMs: 1000)
            if let state = try await broker.lease(key) {
                #expect((0...Int(StoredNumber.durationMaxMs)).contains(state.remainingMs))
            }
            if Bool.random(using: &random) { _ = try await broker.releaseLease(key, owner: "a", epoch: epoch) }
            // Behaves as a worker: waits for a lease that is held, and skips one that is outdated.
            var tries = 0
            asking: while true {
                tries += 1
                switch try await broker.requestLease(key, owner: "b", ttlMs: 1000, basis: "b", epoch: epoch) {
                case .granted(let grant):
                    #expect(grant.epoch == epoch && grant.trustedEpoch <= StoredNumber.versionMax)
                    #expect((0...StoredNumber.durationMaxMs).contains(grant.knownForMs))
                    break asking
                case .held(let forMs):
                    #expect((0...Int(StoredNumber.durationMaxMs)).contains(forMs))
                    _ = try redis.command("HSET", key, "until", "1")
                case .outdated(let newest):
                    #expect(newest <= StoredNumber.versionMax)
                    epoch = newest + 1
                }
                try #require(tries < 5, "seed \(seed)")
            }
            #expect(try await broker.renewLease(key, owner: "b", epoch: epoch, ttlMs: 1000))
            #expect(try await broker.releaseLease(key, owner: "b", epoch: epoch))
            epoch += 1
        }
        await broker.close()
    }

    @Test func farUntilIsNoLongerThanTheTimeToLive() async throws {
        let redis = try TestRedis.shared.get()
        let broker = try redis.broker("junk-until")
        let key = broker.keys.lease(shard: 1)
        _ = try await broker.requestLease(key, owner: "a", ttlMs: 1000, basis: "", epoch: 5)
        for ttl in ["1000", "1e300", "x"] {
            _ = try redis.command("HSET", key, "until", "4503599627370496", "ttl", ttl)
            let answer = try await broker.requestLease(key, owner: "b", ttlMs: 700, basis: "", epoch: 6)
            let heldForMs = try #require(answer.heldForMs)
            #expect(heldForMs <= 1000)
        }
        await broker.close()
    }

    /// A node's lease is held for ten minutes at most (`cluster.leaseTtlMs`).
    @Test(arguments: ["86400000", "9007199254740991", "600001"])
    func farTimeToLiveIsNoLongerThanTheLongestLease(ttl: String) async throws {
        let redis = try TestRedis.shared.get()
        let warnings = Warnings()
        let broker = try redis.broker("junk-ttl-\(ttl)", logger: Logger(label: "junk-ttl") { _ in warnings })
        let key = broker.keys.lease(shard: 1)
        _ = try await broker.requestLease(key, owner: "a", ttlMs: 1000, basis: "", epoch: 5)
        #expect(warnings.count == 0)
        _ = try redis.command("HSET", key, "until", "4503599627370496", "ttl", ttl)
        for _ in 0..<2 {
            let answer = try await broker.requestLease(key, owner: "b", ttlMs: 700, basis: "", epoch: 6)
            #expect(try #require(answer.heldForMs) <= 600_000)
        }
        #expect(warnings.count == 1)
        #expect(try await broker.lease(key)?.remainingMs ?? 0 <= 600_000)
        await broker.close()
    }

    @Test func nodesWithJunkAreGoneOrInRange() async throws {
        let redis = try TestRedis.shared.get()
        let broker = try redis.broker("junk-nodes")
        for (index, value) in Self.junk.enumerated() {
            for text in [value, "\(value):{}", "99999999999999999999999999:\(value)"] {
                _ = try redis.command("HSET", broker.keys.nodes, "n\(index)", text)
                _ = try await broker.announceNode("m", payload: Array("{}".utf8), ttlMs: 5000)
                for record in try await broker.nodes(livingAtMost: 60_000) {
                    #expect((0...60_000).contains(record.remainingMs))
                }
                #expect(try await broker.nodes(livingAtMost: nil).contains { $0.id == "m" })
            }
        }
        await broker.close()
    }

    @Test(arguments: OverrideTable.allCases)
    func overridesWithJunkCanBeChanged(table: OverrideTable) async throws {
        let redis = try TestRedis.shared.get()
        let broker = try redis.broker("junk-overrides-\(table)")
        for value in Self.junk {
            _ = try redis.command("HSET", broker.keys.key(of: table), "generation", value, "field", "\(value) \(value)")
            #expect(try await broker.overridesGeneration(in: table) <= StoredNumber.versionMax)
            #expect(try await broker.overrides(in: table).generation <= StoredNumber.versionMax)
            let generation = try await broker.changeOverrides([("other", "1")], in: table)
            #expect(try await broker.overrides(in: table).fields["other"]?.version == generation)
        }
        await broker.close()
    }
}

/// Counts warnings.
private struct Warnings: LogHandler {
    private final class Count: Sendable {
        let value = Atomic<Int>(0)
    }

    private let total = Count()
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.warning

    var count: Int { total.value.load(ordering: .relaxed) }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        if event.level >= .warning { total.value.wrappingAdd(1, ordering: .relaxed) }
    }
}
