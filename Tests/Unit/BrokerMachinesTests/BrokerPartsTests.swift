import LiveModel
import Testing

@testable import Broker
import Streams

@Suite("Broker parts")
struct BrokerPartsTests {
    @Test("addresses are read with and without their parts")
    func addresses() throws {
        func endpoint(_ url: String) throws -> RedisConfiguration.Endpoint { try RedisConfiguration(url: url).endpoint }
        #expect(try endpoint("redis://example.org:7000/2") == .tcp(host: "example.org", port: 7000))
        #expect(try endpoint("redis://") == .tcp(host: "localhost", port: 6379))
        #expect(try endpoint("REDIS://[::1]:7000") == .tcp(host: "::1", port: 7000))
        #expect(try endpoint("redis://[::1]") == .tcp(host: "::1", port: 6379))
        #expect(try endpoint("unix:///run/re%20dis.sock") == .unixSocket(path: "/run/re dis.sock"))
        let full = try RedisConfiguration(url: "redis://us%65r:p%40ss%3a@h/7")
        #expect(full.user == "user" && full.password == "p@ss:" && full.database == 7)
        #expect(!"\(full)".contains("p@ss"))
        let only = try RedisConfiguration(url: "redis://:secret@h:1?db=4")
        #expect(only.user == nil && only.password == "secret" && only.database == 4)
        let socket = try RedisConfiguration(url: "unix://u:p@/s?db=1")
        #expect(socket == RedisConfiguration(endpoint: .unixSocket(path: "/s"), user: "u", password: "p", database: 1))
    }

    @Test(
        "addresses that cannot work",
        arguments: [
            "", "localhost", "http://h", "rediss:/h", "redis://h:0", "redis://h:70000", "redis://h:x", "redis://h/x",
            "redis://h/-1", "redis://u@h", "redis://:%zz@h", "redis://h?x=1", "unix://", "unix://host/path",
            "redis://[::1", "redis://[::1]x", "redis://h/99999999999999999999", "unix:///a%00b",
        ])
    func badAddresses(_ url: String) {
        #expect(throws: BrokerError.self) { try RedisConfiguration(url: url) }
    }

    @Test("rediss:// is TLS, with the server's identity checked")
    func tls() throws {
        let configuration = try RedisConfiguration(url: "rediss://u:p@h:6380")
        #expect(configuration.endpoint == .tcp(host: "h", port: 6380) && configuration.tls?.isVerified == true)
        #expect(try RedisConfiguration(url: "redis://h").tls == nil)
        #expect("\(configuration)" == "rediss://h:6380/0")
    }

    @Test("keys share the shard's hash tag")
    func keys() throws {
        let keys = try Keys(namespace: "app-1")
        #expect(keys.events(shard: 3) == "{app-1:shard:3}:events")
        #expect(keys.control(shard: 3) == "{app-1:shard:3}:control")
        #expect(keys.lease(shard: 3) == "{app-1:shard:3}:lease")
        #expect(keys.inbox(gateway: "g") == "{app-1:gateway:g}:inbox")
        #expect(keys.nodes == "app-1:nodes" && keys.meta == "app-1:meta")
        try requireOneSlot(keys.lease(shard: 3), [keys.events(shard: 3), keys.control(shard: 3)])
        #expect(throws: BrokerError.self) { try requireOneSlot(keys.lease(shard: 3), [keys.events(shard: 4)]) }
        #expect(String(hashTag(of: "{}a")) == "{}a" && String(hashTag(of: "x{a}{b}")) == "a")
        for bad in ["", "a b", "a{b", "a:b", "é", String(repeating: "a", count: 65)] {
            #expect(throws: BrokerError.self) { try Keys(namespace: bad) }
        }
    }

    @Test(
        "SHA-1 names",
        arguments: [
            ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"), ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (String(repeating: "a", count: 119), "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56"),
        ])
    func sha1(_ text: String, _ expected: String) {
        #expect(sha1Hex(Array(text.utf8)) == expected)
    }

    @Test("stream ids read what they write, and nothing else")
    func streamIDs() {
        for id in [StreamID.zero, .max, StreamID(ms: 1_763_740_000_000, sequence: 12)] {
            #expect(StreamID(id.description) == id)
        }
        for bad in ["", "-", "1", "1-", "-1", "1-2-3", "+1-2", "1- 2", "a-1", "18446744073709551616-0"] {
            #expect(StreamID(bad) == nil)
        }
        #expect(StreamID(ms: 1, sequence: 9) < StreamID(ms: 2, sequence: 0))
        #expect(StreamID(ms: 1, sequence: .max).successor == StreamID(ms: 2, sequence: 0))
        #expect(StreamID.max.successor == nil && StreamID.zero.successor == StreamID(ms: 0, sequence: 1))
    }
}

/// One case for each way in which a stream and a cursor can differ.
@Suite("Gap check")
struct GapCheckTests {
    private func id(_ ms: UInt64) -> StreamID { StreamID(ms: ms, sequence: 0) }

    private func info(
        _ range: ClosedRange<UInt64>?, last: UInt64, added: UInt64, deleted: UInt64 = 0
    ) -> StreamInfo {
        StreamInfo(
            length: range.map { Int($0.upperBound - $0.lowerBound + 1) } ?? 0, firstID: range.map { id($0.lowerBound) },
            lastID: id(last), maxDeletedID: id(deleted), entriesAdded: added)
    }

    @Test("no stream, or an older one, has regressed")
    func regressed() {
        var gap = GapCheck(cursor: id(5))
        #expect(gap.check(nil, cursorExists: false) == .regressed(lastID: .zero))
        #expect(gap.cursor == .zero && gap.check(nil, cursorExists: false) == nil)
        gap = GapCheck(cursor: id(5))
        #expect(gap.check(info(1...4, last: 4, added: 4), cursorExists: false) == .regressed(lastID: id(4)))
        #expect(gap.check(info(1...4, last: 4, added: 4), cursorExists: false) == nil)
        // No entry was ever removed, so the cursor cannot have been an entry of this stream.
        gap = GapCheck(cursor: id(5))
        #expect(gap.check(info(7...9, last: 9, added: 3), cursorExists: false) == .regressed(lastID: id(9)))
    }

    @Test("an existing entry of the cursor proves that nothing after it was trimmed")
    func intact() {
        var gap = GapCheck(cursor: id(5))
        #expect(gap.check(info(5...9, last: 9, added: 9), cursorExists: true) == nil)
        #expect(gap.check(info(1...9, last: 9, added: 9, deleted: 5), cursorExists: true) == nil)
        #expect(gap.check(info(1...8, last: 9, added: 9, deleted: 7), cursorExists: true) == .trimmed(firstID: id(1)))
        #expect(gap.check(info(1...8, last: 9, added: 9, deleted: 7), cursorExists: true) == nil)
    }

    @Test("a missing cursor without a rank is doubt, with one it is exact")
    func rank() {
        var gap = GapCheck(cursor: id(5))
        #expect(gap.check(info(6...9, last: 9, added: 9), cursorExists: false) == .trimmed(firstID: id(6)))
        #expect(gap.check(info(6...9, last: 9, added: 9), cursorExists: false) == nil)
        gap.advance(to: id(7), by: 2)
        #expect(gap.check(info(8...9, last: 9, added: 9), cursorExists: false) == nil)
        #expect(gap.check(info(9...9, last: 9, added: 9), cursorExists: false) == .trimmed(firstID: id(9)))

        gap = GapCheck(cursor: .zero)
        #expect(gap.check(info(1...9, last: 9, added: 9), cursorExists: false) == nil)
        gap.advance(to: id(5), by: 5)
        #expect(gap.check(info(6...9, last: 9, added: 9), cursorExists: false) == nil)
        #expect(gap.check(info(7...9, last: 9, added: 9), cursorExists: false) == .trimmed(firstID: id(7)))
        // Fewer removed than read: another stream.
        gap = GapCheck(cursor: .zero)
        gap.advance(to: id(5), by: 5)
        #expect(gap.check(info(16...19, last: 19, added: 6), cursorExists: false) == .regressed(lastID: id(19)))
    }

    @Test("a cursor at the end of an emptied stream misses nothing, until more is added and removed")
    func emptied() {
        var gap = GapCheck(cursor: id(9))
        #expect(gap.check(info(nil, last: 9, added: 9), cursorExists: false) == nil)
        #expect(gap.check(info(12...12, last: 12, added: 10), cursorExists: false) == nil)
        #expect(gap.check(info(nil, last: 12, added: 10), cursorExists: false) == .trimmed(firstID: nil))
        #expect(gap.check(info(nil, last: 12, added: 10), cursorExists: false) == nil)
    }

    @Test("a reader from the beginning notices that the stream has lost entries")
    func fromZero() {
        var gap = GapCheck(cursor: .zero)
        #expect(gap.check(info(3...9, last: 9, added: 9), cursorExists: false) == .trimmed(firstID: id(3)))
        #expect(gap.check(info(3...9, last: 9, added: 9), cursorExists: false) == nil)
    }

    @Test func theMemoryOfAServerIsReadFromItsInfo() throws {
        let info =
            "# Server\r\nrun_id:ab12\r\n# Memory\r\nused_memory:1048576\r\nused_memory_human:1.00M\r\n"
            + "maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n# Persistence\r\naof_enabled:1\r\n"
        let read = try #require(BrokerMemory.parse(info: info))
        #expect(read.runID == "ab12" && read.memory.usedBytes == 1_048_576 && read.memory.maxBytes == 0)
        #expect(read.memory.policy == "allkeys-lru" && read.memory.isLogged)
        #expect(BrokerMemory.parse(info: "# Server\r\nrun_id:ab12\r\n") == nil)
        #expect(BrokerMemory.parse(info: "") == nil)
    }
}
