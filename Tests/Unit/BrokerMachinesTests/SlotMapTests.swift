import Testing

@testable import Broker
import Streams

@Suite("Redis Cluster: slots and redirections")
struct SlotMapTests {
    private let asked = RedisConfiguration.Endpoint.tcp(host: "10.0.0.9", port: 7009)

    private func node(_ host: String?, _ port: Int) -> RedisValue {
        .array([host.map { .bytes(Array($0.utf8)) } ?? .null, .integer(Int64(port)), .bytes(Array("id".utf8))])
    }

    private func range(_ first: Int, _ last: Int, _ nodes: RedisValue...) -> RedisValue {
        .array([.integer(Int64(first)), .integer(Int64(last))] + nodes)
    }

    /// Values from the cluster specification and from `CLUSTER KEYSLOT` of a server (`RedisClusterTests`).
    @Test(
        "slots of keys",
        arguments: [
            ("123456789", 0x31C3), ("foo", 12182), ("{foo}bar", 12182), ("", 0), ("{}foo", 9500),
            ("{user1000}.following", 3443), ("{fr:shard:3}:events", 15192),
        ])
    func slots(_ key: String, _ slot: Int) {
        #expect(hashSlot(of: key) == slot % SlotMap.slotCount)
    }

    @Test("a map of ranges, with the asked node's own address left out")
    func map() throws {
        let reply = RedisValue.array([
            range(0, 99, node("a", 1), node("b", 2)), range(100, 100, node("", 7009), node("b", 2)),
            range(200, 16_383, node(nil, 7)),
        ])
        let map = try #require(SlotMap(reply, asked: asked))
        #expect(map.owner(of: 0) == .tcp(host: "a", port: 1) && map.owner(of: 99) == .tcp(host: "a", port: 1))
        #expect(map.owner(of: 100) == asked && map.owner(of: 101) == nil && map.owner(of: 199) == nil)
        #expect(map.owner(of: 16_383) == .tcp(host: "10.0.0.9", port: 7))
        #expect(map.replicas == [.tcp(host: "b", port: 2)] && map.primaries.count == 3)
        var moved = map
        moved.move(5, to: .tcp(host: "c", port: 3))
        #expect(moved.owner(of: 5) == .tcp(host: "c", port: 3) && moved.owner(of: 6) == map.owner(of: 6))
        #expect(!map.isFailover(to: moved) && moved.isFailover(to: map) && !SlotMap().isFailover(to: map))
    }

    @Test("a malformed map is refused, not trapped on")
    func malformed() {
        let bad: [RedisValue] = [
            .null, .integer(1), .array([.null]), .array([range(5, 4, node("a", 1))]),
            .array([range(0, 16_384, node("a", 1))]), .array([range(-1, 4, node("a", 1))]),
            .array([range(0, 4, node("a", 0))]), .array([range(0, 4, .null)]), .array([.array([.integer(0)])]),
        ]
        for reply in bad { #expect(SlotMap(reply, asked: asked) == nil, "\(reply)") }
    }

    @Test("redirections name a slot and a node")
    func redirections() {
        func read(_ message: String) -> Redirection? { Redirection(RedisFailure(message: message), asked: asked) }
        #expect(read("MOVED 3999 127.0.0.1:6381") == .moved(slot: 3999, .tcp(host: "127.0.0.1", port: 6381)))
        #expect(read("MOVED 3999 ::1:6381") == .moved(slot: 3999, .tcp(host: "::1", port: 6381)))
        #expect(read("MOVED 3999 :6381") == .moved(slot: 3999, .tcp(host: "10.0.0.9", port: 6381)))
        #expect(read("ASK 1 h:2") == .ask(.tcp(host: "h", port: 2)))
        #expect(read("TRYAGAIN Multiple keys request during rehashing of slot") == .later)
        #expect(read("CLUSTERDOWN The cluster is down") == .later)
        for other in ["MOVED", "MOVED x h:1", "MOVED 99999 h:1", "MOVED 1 h", "MOVED 1 h:0", "ERR no", ""] {
            #expect(read(other) == nil, "\(other)")
        }
    }

    @Test("a sentinel's answer names the master")
    func sentinel() {
        func answer(_ pairs: [(String, String)]) -> RedisValue {
            .array(pairs.flatMap { [RedisValue.bytes(Array($0.0.utf8)), .bytes(Array($0.1.utf8))] })
        }
        let good = [("name", "m"), ("ip", "10.0.0.1"), ("port", "6379"), ("config-epoch", "4")]
        let found = SentinelRound.decode(answer(good))
        #expect(found?.epoch == 4 && found?.master == .tcp(host: "10.0.0.1", port: 6379))
        for index in 1..<good.count {
            var bad = good
            bad[index].1 = ""
            #expect(SentinelRound.decode(answer(bad)) == nil)
        }
        #expect(SentinelRound.decode(.error(RedisFailure(message: "ERR No such master with that name"))) == nil)
    }
}
