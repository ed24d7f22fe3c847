import InMemoryBroker
import LiveModel
import RedisModel
import Testing

@testable import Broker
import Streams

/// The faults a simulation plays on the in-memory broker.
@Suite("Memory broker faults", .timeLimit(.minutes(1)))
struct MemoryFaultTests {
    private func make(entriesMax: Int = 1000) throws -> (MemoryBroker, TestClock) {
        let clock = TestClock()
        return (MemoryBroker(keys: try Keys(namespace: "m"), entriesMax: entriesMax, now: { clock.nowMs }), clock)
    }

    private func append(_ number: UInt8) -> [StreamAppend] {
        [StreamAppend(stream: "s", fields: [("n", [48 + number])])]
    }

    @Test("a restart is reported; without data as a regress")
    func restart() async throws {
        let (broker, _) = try make()
        let reader = broker.makeReader(name: "r")
        reader.follow("s", after: .zero)
        _ = try await broker.append(append(1))
        #expect(try await reader.next(maxEntries: 9).map(\.numbers) == [[1]])
        broker.restart(losingData: false)
        #expect(
            try await reader.next(maxEntries: 9) == [StreamBatch(stream: "s", signal: .serverChanged, entries: [])])
        #expect(try await broker.acquireLease("l", owner: "a", ttlMs: 1000) != nil)
        async let waiting = reader.next(maxEntries: 9)
        broker.restart(losingData: true)
        #expect(try await waiting == [StreamBatch(stream: "s", signal: .regressed(lastID: .zero), entries: [])])
        #expect(try await broker.lease("l") == nil)
        #expect(try await broker.acquireLease("l", owner: "b", ttlMs: 1000) != nil)
        #expect(broker.state.serverID == "memory-2" && broker.state.reconnects == 2)
    }

    @Test("a replica that takes over has what had come to it, under another server")
    func failOver() {
        var store = MemoryStore(entriesMax: 100)
        let reader = store.makeReader()
        store.append(append(1)[0], nowMs: 1_000)
        let replica = store
        let granted = store.acquire("l", owner: "a", ttlMs: 1_000, epoch: 1, nowMs: 1_000).grant
        store.append(append(2)[0], nowMs: 1_001)
        store.follow(reader, "s", after: .zero)
        #expect(store.read(reader, maxEntries: 9, nowMs: 1_001).map(\.numbers) == [[1, 2]])
        store.failOver(to: replica)
        let batches = store.read(reader, maxEntries: 9, nowMs: 1_002)
        #expect(batches.map(\.signal) == [.regressed(lastID: StreamID(ms: 1_000, sequence: 0))])
        #expect(store.renew("l", owner: "a", epoch: granted?.epoch ?? 0, ttlMs: 1_000, nowMs: 1_002) == false)
        #expect(store.acquire("l", owner: "b", ttlMs: 1_000, epoch: 2, nowMs: 1_500).grant?.knownForMs == 0)
        #expect(store.acquire("l", owner: "b", ttlMs: 1_000, epoch: 3, nowMs: 1_700).grant?.knownForMs == 200)
    }

    @Test("leases and nodes from a clock that was ahead end no later than new ones")
    func clockGoesBack() {
        var store = MemoryStore(entriesMax: 100)
        _ = store.acquire("l", owner: "a", ttlMs: 1_000, epoch: 1, nowMs: 90_000)
        _ = store.announceNode("a", payload: [], ttlMs: 1_000, nowMs: 90_000)
        _ = store.announceNode("b", payload: [], ttlMs: 1_000, nowMs: 90_000)
        // The lease is shortened to its own lifetime, not to the one that another owner requests.
        #expect(store.acquire("l", owner: "b", ttlMs: 400, epoch: 2, nowMs: 5_000).heldForMs == 1_000)
        #expect(store.acquire("l", owner: "b", ttlMs: 1_000, epoch: 2, nowMs: 5_600).heldForMs == 400)
        #expect(store.acquire("l", owner: "b", ttlMs: 1_000, epoch: 2, nowMs: 6_000).grant?.epoch == 2)
        #expect(store.listNodes(nowMs: 5_000).map(\.id) == ["a", "b"])
        #expect(store.listNodes(livingAtMost: 1_000, nowMs: 5_000).map(\.remainingMs) == [1_000, 1_000])
        #expect(store.listNodes(nowMs: 5_999).map(\.id) == ["a", "b"])
        _ = store.announceNode("c", payload: [], ttlMs: 1_000, nowMs: 5_999)
        #expect(store.listNodes(nowMs: 6_000).map(\.id) == ["c"])
    }

    @Test("calls fail and readers wait during an outage")
    func outage() async throws {
        let (broker, _) = try make()
        let reader = broker.makeReader(name: "r")
        reader.follow("s", after: .zero)
        _ = try await broker.append(append(1))
        broker.setAvailable(false)
        #expect(await errorCode { _ = try await broker.append(append(2)) } == .unavailable)
        async let waiting = reader.next(maxEntries: 9)
        await Task.yield()
        broker.setAvailable(true)
        #expect(try await waiting.map(\.numbers) == [[1]])
    }

    @Test("an unknown outcome may or may not have been executed")
    func unknown() async throws {
        let (broker, _) = try make()
        broker.failNextAppend(executed: true)
        #expect(await errorCode { _ = try await broker.append(append(1)) } == .outcomeUnknown)
        broker.failNextAppend(executed: false)
        #expect(await errorCode { _ = try await broker.append(append(2)) } == .outcomeUnknown)
        _ = try await broker.append(append(3))
        let entries = Array(try await broker.newest("s", before: .max, limit: 9).reversed())
        #expect(StreamBatch(stream: "s", entries: entries).numbers == [1, 3])
    }

    @Test("a stream is bounded whatever its appends say")
    func bounded() async throws {
        let (broker, _) = try make(entriesMax: 100)
        for _ in 0..<30 { _ = try await broker.append((0..<10).flatMap { append($0) }) }
        #expect(try await broker.length(of: "s") == 100)
        #expect(try await broker.info(of: "s")?.entriesAdded == 300)
    }
}
