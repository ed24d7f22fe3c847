import LiveModel
import Testing

@testable import Broker
import Streams

/// Guarantees of every broker for leases, nodes and the cluster's facts.
@Suite("Broker contract: leases, nodes, meta", .timeLimit(.minutes(1)))
struct LeaseContractTests {
    @Test("one owner at a time; renewal and release need owner and epoch", arguments: BrokerKind.allCases)
    func exclusive(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let broker = fixture.broker
        let key = fixture.lease
        #expect(try await broker.lease(key) == nil)
        let grant = try #require(try await broker.acquireLease(key, owner: "a", ttlMs: 60_000))
        #expect(try await broker.acquireLease(key, owner: "b", ttlMs: 60_000) == nil)
        let heldForMs = try #require(
            try await broker.requestLease(key, owner: "b", ttlMs: 60_000, basis: "", epoch: 1).heldForMs)
        #expect((1...60_000).contains(heldForMs))
        let state = try #require(try await broker.lease(key))
        #expect(state.owner == "a" && state.epoch == grant.epoch && (1...60_000).contains(state.remainingMs))
        #expect(try await broker.renewLease(key, owner: "a", epoch: grant.epoch, ttlMs: 90_000))
        #expect(try await !broker.renewLease(key, owner: "b", epoch: grant.epoch, ttlMs: 1))
        #expect(try await !broker.renewLease(key, owner: "a", epoch: grant.epoch - 1, ttlMs: 1))
        #expect(try await (broker.lease(key)?.remainingMs ?? 0) > 60_000)
        #expect(try await !broker.releaseLease(key, owner: "b", epoch: grant.epoch))
        #expect(try await !broker.releaseLease(key, owner: "a", epoch: grant.epoch + 1))
        #expect(try await broker.releaseLease(key, owner: "a", epoch: grant.epoch))
        #expect(try await !broker.releaseLease(key, owner: "a", epoch: grant.epoch))
        #expect(try await broker.lease(key) == nil)
        #expect(try await !broker.renewLease(key, owner: "a", epoch: grant.epoch, ttlMs: 1000))
        let next = try #require(try await broker.acquireLease(key, owner: "b", ttlMs: 60_000))
        #expect(next.epoch > grant.epoch)
        #expect(await errorCode { _ = try await broker.acquireLease(key, owner: "", ttlMs: 1) } == .misconfigured)
        await broker.close()
    }

    @Test("the epoch increases over expiry and for the same owner", arguments: BrokerKind.allCases)
    func epochs(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let broker = fixture.broker
        var last: UInt64 = 0
        for round in 0..<6 {
            let owner = round % 2 == 0 ? "a" : "b"
            let grant = try #require(try await broker.acquireLease(fixture.lease, owner: owner, ttlMs: 20))
            #expect(grant.epoch > last)
            last = grant.epoch
            try await fixture.pass(ms: 20)
            #expect(try await broker.lease(fixture.lease) == nil)
            #expect(try await !broker.renewLease(fixture.lease, owner: owner, epoch: last, ttlMs: 20))
        }
        for _ in 0..<5 {
            let grant = try #require(try await broker.acquireLease(fixture.lease, owner: "a", ttlMs: 60_000))
            #expect(grant.epoch > last)
            last = grant.epoch
        }
        #expect(try await !broker.renewLease(fixture.lease, owner: "a", epoch: last - 1, ttlMs: 1000))
        await broker.close()
    }

    @Test("an epoch that is not above the newest is refused, and nothing changes", arguments: BrokerKind.allCases)
    func outdated(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let broker = fixture.broker
        // As large as they may be.
        for newest in [7, 1 << 53 - 2] as [UInt64] {
            let grant = try #require(
                try await broker.requestLease(fixture.lease, owner: "a", ttlMs: 60_000, basis: "", epoch: newest).grant)
            #expect(grant.epoch == newest)
            let repeated = try await broker.requestLease(
                fixture.lease, owner: "a", ttlMs: 60_000, basis: "", epoch: newest)
            #expect(repeated.grant?.epoch == newest, "the answer was lost, and it is requested again")
            for epoch in [newest - 1, 1] {
                let answer = try await broker.requestLease(
                    fixture.lease, owner: "a", ttlMs: 60_000, basis: "", epoch: epoch)
                #expect(answer == .outdated(newest: newest))
            }
            let held = try await broker.requestLease(fixture.lease, owner: "b", ttlMs: 60_000, basis: "", epoch: 1)
            #expect(held.heldForMs != nil, "that another holds it is what counts")
            #expect(try await broker.renewLease(fixture.lease, owner: "a", epoch: newest, ttlMs: 60_000))
            #expect(try await broker.releaseLease(fixture.lease, owner: "a", epoch: newest))
            let over = try await broker.requestLease(fixture.lease, owner: "a", ttlMs: 60_000, basis: "", epoch: newest)
            #expect(over == .outdated(newest: newest), "it was given back")
        }
        await broker.close()
    }

    @Test("a grant on another basis than the last one's trusts no former epoch", arguments: BrokerKind.allCases)
    func basis(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let broker = fixture.broker
        func grant(_ owner: String, _ basis: String) async throws -> LeaseGrant {
            let grant = try #require(
                try await broker.acquireLease(fixture.lease, owner: owner, ttlMs: 60_000, basis: basis))
            #expect(try await broker.releaseLease(fixture.lease, owner: owner, epoch: grant.epoch))
            return grant
        }
        let first = try await grant("a", "timeline 1")
        #expect(first.trustedEpoch == first.epoch)
        try await fixture.pass(ms: 20)
        #expect(try await grant("b", "timeline 1").trustedEpoch == first.epoch)
        // The former owner died without knowing of it.
        let other = try await grant("a", "timeline 2")
        #expect(other.trustedEpoch == other.epoch)
        #expect(first.knownForMs == 0 && other.knownForMs >= 20, "the server has known the lease all the time")
        #expect(try await grant("b", "timeline 2").trustedEpoch == other.epoch)
        let back = try await grant("b", "timeline 1")
        #expect(back.trustedEpoch == back.epoch)
        await broker.close()
    }

    @Test("wake-ups reach a reader that follows them", arguments: BrokerKind.allCases)
    func wakeUps(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let reader = fixture.broker.makeReader(name: "r")
        reader.follow(fixture.keys.wakeUps, after: .zero)
        for node in ["a", "b"] {
            await fixture.broker.wakeWorkers(of: node)
            let batches = try await fixture.readSome(reader)
            #expect(batches.flatMap(\.entries).map { $0["node"] } == [Array(node.utf8)])
        }
        await fixture.broker.close()
    }

    @Test("grants of one server trust each other", arguments: BrokerKind.allCases)
    func trusted(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let broker = fixture.broker
        let first = try #require(try await broker.acquireLease(fixture.lease, owner: "a", ttlMs: 60_000))
        let second = try #require(try await broker.acquireLease(fixture.lease, owner: "a", ttlMs: 60_000))
        #expect(first.trustedEpoch == first.epoch && second.trustedEpoch == first.epoch)
        #expect(!first.server.isEmpty && first.server == second.server)
        // A cursor of that server is no reason for doubt; one of another server is.
        let ids = try await fixture.append(1...2, to: fixture.events)
        let reader = broker.makeReader(name: "r")
        reader.follow(fixture.events, after: ids[0], server: first.server)
        #expect(
            try await fixture.readSome(reader).map { BatchShape($0) }
                == [BatchShape(signal: nil, numbers: [2])])
        reader.follow(fixture.events, after: ids[1], server: "another")
        #expect(try await fixture.readSome(reader).map(\.signal) == [.serverChanged])
        #expect(
            try await broker.trimFenced(
                fixture.events, minimumID: ids[1], lease: fixture.lease, epoch: first.epoch) == nil)
        #expect(
            try await broker.trimFenced(
                fixture.events, minimumID: ids[1], lease: fixture.lease, epoch: second.epoch) == 1)
        await broker.close()
    }

    private struct BatchShape: Equatable {
        var signal: StreamSignal?
        var numbers: [Int]

        init(signal: StreamSignal?, numbers: [Int]) {
            self.signal = signal
            self.numbers = numbers
        }

        init(_ batch: StreamBatch) { self.init(signal: batch.signal, numbers: batch.numbers) }
    }

    @Test("one of several owners who race wins", arguments: BrokerKind.allCases)
    func races(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let broker = fixture.broker
        var last: UInt64 = 0
        for shard in 0..<50 {
            let key = fixture.keys.lease(shard: shard % 5)
            let winners = try await withThrowingTaskGroup(of: (String, UInt64)?.self) { group in
                for owner in ["a", "b", "c", "d"] {
                    group.addTask {
                        try await broker.acquireLease(key, owner: owner, ttlMs: 60_000).map { (owner, $0.epoch) }
                    }
                }
                return try await group.reduce(into: [(String, UInt64)]()) { if let winner = $1 { $0.append(winner) } }
            }
            #expect(winners.count == 1)
            let (owner, epoch) = try #require(winners.first)
            if shard % 5 == 0 {
                #expect(epoch > last)
                last = epoch
            }
            #expect(try await broker.releaseLease(key, owner: owner, epoch: epoch))
        }
        await broker.close()
    }

    @Test("fenced appends and checkpoints stop with the epoch", arguments: BrokerKind.allCases)
    func fencing(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let broker = fixture.broker
        let key = fixture.lease
        let value: [UInt8] = [0, 1, 0, 255]
        let appends = [
            StreamAppend(stream: fixture.events, fields: [("n", value), ("m", [])], lengthMax: 100),
            StreamAppend(stream: fixture.control, fields: [("n", [0])], expireMs: 60_000),
        ]
        #expect(try await broker.appendFenced(lease: key, epoch: 1, appends) == nil)
        let old = try #require(try await broker.acquireLease(key, owner: "a", ttlMs: fixture.shortMs)).epoch
        let ids = try #require(try await broker.appendFenced(lease: key, epoch: old, appends))
        #expect(ids.count == 2)
        #expect(
            try await broker.newest(
                fixture.events, before: .max, limit: 9)
                == [StreamEntry(id: ids[0], fields: [("n", value), ("m", [])])])
        func checkpoint(_ id: StreamID, _ epoch: UInt64) async throws -> Bool {
            try await broker.checkpoint(
                stream: fixture.events, group: Keys.workersGroup, id: id, lease: key, epoch: epoch)
        }
        #expect(try await broker.checkpoint(stream: fixture.events, group: Keys.workersGroup) == nil)
        try await fixture.pass(ms: fixture.shortMs)
        #expect(try await broker.appendFenced(lease: key, epoch: old, appends) == nil)
        #expect(try await !checkpoint(ids[0], old))
        let new = try #require(try await broker.acquireLease(key, owner: "b", ttlMs: 60_000)).epoch
        #expect(try await broker.appendFenced(lease: key, epoch: old, appends) == nil)
        #expect(try await !checkpoint(ids[0], old))
        #expect(try await broker.length(of: fixture.events) == 1)
        #expect(try await checkpoint(ids[0], new))
        #expect(try await broker.checkpoint(stream: fixture.events, group: Keys.workersGroup) == ids[0])
        let more = try #require(try await broker.appendFenced(lease: key, epoch: new, appends))
        #expect(try await checkpoint(more[0], new))
        #expect(try await broker.checkpoint(stream: fixture.events, group: Keys.workersGroup) == more[0])
        #expect(try await broker.checkpoint(stream: fixture.events, group: "others") == nil)
        let elsewhere = StreamAppend(stream: fixture.keys.inbox(gateway: "g"), fields: [("n", [1])])
        #expect(
            await errorCode { _ = try await broker.appendFenced(lease: key, epoch: new, [elsewhere]) } == .rejected)
        await broker.close()
    }

    @Test("nodes disappear when they withdraw or fall silent", arguments: BrokerKind.allCases)
    func nodes(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let broker = fixture.broker
        #expect(try await broker.nodes().isEmpty)
        #expect(try await broker.announceNode("b", payload: [0, 58, 10, 13, 255], ttlMs: 60_000))
        #expect(try await broker.announceNode("a", payload: [], ttlMs: fixture.shortMs))
        #expect(try await broker.announceNode("c", payload: [1], ttlMs: 60_000))
        #expect(try await !broker.announceNode("c", payload: [2], ttlMs: 60_000), "it was there")
        let nodes = try await broker.nodes()
        #expect(nodes.map(\.id) == ["a", "b", "c"])
        #expect(nodes.map(\.payload) == [[], [0, 58, 10, 13, 255], [2]])
        #expect(nodes.allSatisfy { (1...60_000).contains($0.remainingMs) })
        try await broker.withdrawNode("c", payload: [1])
        #expect(try await broker.nodes().map(\.id) == ["a", "b", "c"], "that was not its last announcement")
        try await broker.withdrawNode("c", payload: [2])
        try await fixture.pass(ms: fixture.shortMs)
        #expect(try await broker.announceNode("a", payload: [], ttlMs: 60_000), "it had expired")
        try await broker.withdrawNode("a")
        #expect(try await broker.nodes().map(\.id) == ["b"])
        await broker.close()
    }

    @Test("a node that is said to live for long lives no longer than is asked", arguments: BrokerKind.allCases)
    func nodesOfAClockAhead(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let broker = fixture.broker
        let hourMs = 3_600_000
        try await broker.announceNode("a", payload: [58, 49], ttlMs: hourMs)
        #expect(try await broker.nodes(livingAtMost: 2 * hourMs).allSatisfy { $0.remainingMs > fixture.shortMs })
        let nodes = try await broker.nodes(livingAtMost: fixture.shortMs)
        #expect(nodes.map(\.id) == ["a"] && nodes.map(\.payload) == [[58, 49]])
        #expect(nodes.allSatisfy { (1...fixture.shortMs).contains($0.remainingMs) })
        try await fixture.pass(ms: fixture.shortMs)
        #expect(try await broker.nodes().isEmpty)
        await broker.close()
    }

    @Test("the first meta stays", arguments: BrokerKind.allCases)
    func meta(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let broker = fixture.broker
        let stored = try await withThrowingTaskGroup(of: ClusterMeta.self) { group in
            for number in 1...8 {
                let initial = ClusterMeta(shardCount: number, formatVersion: 1, incarnation: "i\(number)")
                group.addTask { try await broker.meta(initial: initial) }
            }
            return try await group.reduce(into: Set<ClusterMeta>()) { $0.insert($1) }
        }
        let one = try #require(stored.first)
        #expect(stored.count == 1 && one.incarnation == "i\(one.shardCount)")
        await broker.close()
    }

    @Test("the format is raised from the version that was read only", arguments: BrokerKind.allCases)
    func raiseFormat(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let broker = fixture.broker
        let initial = ClusterMeta(shardCount: 3, formatVersion: 1, incarnation: "i")
        #expect(try await broker.raiseFormat(from: 1, to: 2) == false, "there is no meta yet")
        #expect(try await broker.meta(initial: initial) == initial)
        #expect(try await broker.raiseFormat(from: 1, to: 2))
        #expect(try await broker.raiseFormat(from: 1, to: 2), "another node did it")
        #expect(try await broker.raiseFormat(from: 1, to: 3) == false)
        let raised = try await broker.meta(initial: initial)
        #expect(raised == ClusterMeta(shardCount: 3, formatVersion: 2, incarnation: "i"))
        await broker.close()
    }
}
