import LiveModel
import Testing

@testable import Broker
import Streams

/// Guarantees of every broker for streams.
@Suite("Broker contract: streams", .timeLimit(.minutes(1)))
struct StreamContractTests {
    @Test("ids increase and entries come back as they were", arguments: BrokerKind.allCases)
    func appendAndRange(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let broker = fixture.broker
        let every = [UInt8](0...255) + [0, 0, 13, 10]
        let ids = try await broker.append([
            StreamAppend(stream: fixture.events, fields: [("a", every), ("a", []), ("", [0])]),
            StreamAppend(stream: fixture.events, fields: [("b", Array("two".utf8))]),
            StreamAppend(stream: fixture.control, fields: [("c", [1])]),
        ])
        #expect(ids.count == 3 && ids[0] < ids[1])
        let entries = Array(try await broker.newest(fixture.events, before: .max, limit: 10).reversed())
        #expect(entries.map(\.id) == [ids[0], ids[1]])
        #expect(entries[0] == StreamEntry(id: ids[0], fields: [("a", every), ("a", []), ("", [0])]))
        #expect(try await broker.newest(fixture.events, before: .max, limit: 10).map(\.id) == [ids[1], ids[0]])
        #expect(try await broker.newest(fixture.events, before: ids[1], limit: 10).map(\.id) == [ids[0]])
        #expect(try await broker.newest(fixture.events, before: .max, limit: 1).map(\.id) == [ids[1]])
        #expect(try await broker.newest(fixture.events, before: ids[0], limit: 10).isEmpty)
        #expect(try await broker.append([]).isEmpty)
        await broker.close()
    }

    @Test("info has length, first and last id and what was removed", arguments: BrokerKind.allCases)
    func info(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let broker = fixture.broker
        #expect(try await broker.info(of: fixture.events) == nil)
        #expect(try await broker.lastID(of: fixture.events) == .zero)
        let ids = try await fixture.append(1...5, to: fixture.events)
        #expect(try await broker.trim(fixture.events, minimumID: ids[2]) == 2)
        #expect(
            try await broker.info(of: fixture.events)
                == StreamInfo(length: 3, firstID: ids[2], lastID: ids[4], entriesAdded: 5))
        #expect(try await broker.firstID(of: fixture.events) == ids[2])
        #expect(try await broker.length(of: fixture.events) == 3)
        #expect(try await broker.trim(fixture.events, minimumID: .max) == 3)
        #expect(
            try await broker.info(of: fixture.events)
                == StreamInfo(length: 0, firstID: nil, lastID: ids[4], entriesAdded: 5))
        #expect(try await broker.delete(fixture.events))
        #expect(try await !broker.delete(fixture.events))
        await broker.close()
    }

    @Test("lengthMax bounds a stream and keeps at least that many", arguments: BrokerKind.allCases)
    func lengthMax(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        for start in stride(from: 0, to: 1000, by: 100) {
            _ = try await fixture.broker.append(
                (start..<start + 100).map {
                    StreamAppend(stream: fixture.events, fields: [("n", [UInt8($0 % 256)])], lengthMax: 200)
                })
        }
        let length = try await fixture.broker.length(of: fixture.events)
        #expect((200...300).contains(length))
        await fixture.broker.close()
    }

    @Test("a stream with an expiry disappears after its last append", arguments: BrokerKind.allCases)
    func expiry(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let append = StreamAppend(stream: fixture.events, fields: [("n", [1])], expireMs: fixture.shortMs)
        _ = try await fixture.broker.append([append, append])
        #expect(try await fixture.broker.length(of: fixture.events) == 2)
        try await fixture.pass(ms: fixture.shortMs)
        #expect(try await fixture.broker.info(of: fixture.events) == nil)
        await fixture.broker.close()
    }

    @Test("ten thousand concurrent appends all arrive once", arguments: BrokerKind.allCases)
    func manyAppends(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let broker = fixture.broker
        let stream = fixture.events
        let ids = try await withThrowingTaskGroup(of: StreamID.self) { group in
            for number in 0..<10_000 {
                let append = StreamAppend(stream: stream, fields: [("n", Array(String(number).utf8))])
                group.addTask { try await broker.append([append])[0] }
            }
            return try await group.reduce(into: Set<StreamID>()) { $0.insert($1) }
        }
        #expect(ids.count == 10_000)
        let entries = Array(try await broker.newest(stream, before: .max, limit: 20_000).reversed())
        #expect(Set(entries.map(\.id)) == ids)
        #expect(Set(StreamBatch(stream: stream, entries: entries).numbers) == Set(0..<10_000))
        #expect(broker.state.queuedRequests == 0 && broker.state.queuedBytes == 0)
        await broker.close()
    }

    @Test("a caller's appends keep their order among others'", arguments: BrokerKind.allCases)
    func order(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let broker = fixture.broker
        let stream = fixture.events
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<8 {
                group.addTask {
                    for step in 0..<20 {
                        let fields = [("caller", [UInt8(caller)]), ("step", [UInt8(step)])]
                        _ = try await broker.append([StreamAppend(stream: stream, fields: fields)])
                    }
                }
            }
            try await group.waitForAll()
        }
        let entries = Array(try await broker.newest(stream, before: .max, limit: 1000).reversed())
        for caller in 0..<8 {
            let steps = entries.filter { $0["caller"] == [UInt8(caller)] }.compactMap { $0["step"]?.first }
            #expect(steps == (0..<20).map { UInt8($0) })
        }
        await broker.close()
    }

    @Test("every call after close fails as closed", arguments: BrokerKind.allCases)
    func closed(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let reader = fixture.broker.makeReader(name: "r")
        try await fixture.broker.ping()
        await fixture.broker.close()
        await fixture.broker.close()
        #expect(await errorCode { try await fixture.broker.ping() } == .closed)
        #expect(await errorCode { try await fixture.append([1], to: fixture.events) } == .closed)
        #expect(await errorCode { _ = try await reader.next(maxEntries: 1) } == .closed)
    }
}
