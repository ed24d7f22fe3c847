import Glibc
import LiveModel
import Logging
import TestSupport
import Testing

@testable import Broker
import Streams

/// Behaviour that only a Redis Cluster shows: each test has one of its own.
@Suite("Redis Cluster", .timeLimit(.minutes(2)))
struct RedisClusterTests {
    /// Appends until acknowledged, as a publisher does.
    private func publish(_ numbers: ClosedRange<Int>, _ broker: any Broker, _ stream: String) async throws {
        while true {
            do throws(BrokerError) {
                _ = try await broker.append(
                    numbers.map { StreamAppend(stream: stream, fields: [("n", Array(String($0).utf8))]) })
                return
            } catch {
                guard error.code == .outcomeUnknown || error.code == .unavailable else { throw error }
            }
        }
    }

    @Test("a slot moves there and back under writing and reading: nothing lost, doubled or out of order")
    func slotMoves() async throws {
        let cluster = try TestCluster()
        let broker = try cluster.broker("moves")
        let stream = broker.keys.events(shard: 0)
        let reader = broker.makeReader(name: "r")
        reader.follow(stream, after: .zero)
        try await publish(1...3, broker, stream)
        let lease = broker.keys.lease(shard: 0)
        var grant = try #require(try await broker.acquireLease(lease, owner: "a", ttlMs: 60_000))
        let publisher = Task {
            for step in 0..<300 { try await publish((4 + 3 * step)...(6 + 3 * step), broker, stream) }
        }
        let home = try cluster.owner(of: stream)
        let other = try #require(cluster.nodes.first { $0 !== home })
        for target in [other, home] {
            try await cluster.moveSlot(of: stream, to: target) {
                // Half-way, a lease on its own is served by whichever side has it. One that this side did not grant its
                // holder acquires again; no other worker can.
                #expect(try await broker.acquireLease(lease, owner: "b", ttlMs: 60_000) == nil)
                if try await !broker.renewLease(lease, owner: "a", epoch: grant.epoch, ttlMs: 60_000) {
                    let regrant = try #require(try await broker.acquireLease(lease, owner: "a", ttlMs: 60_000))
                    #expect(regrant.epoch > grant.epoch && regrant.server != grant.server)
                    grant = regrant
                }
                #expect(try await broker.renewLease(lease, owner: "a", epoch: grant.epoch, ttlMs: 60_000))
            }
            #expect(try cluster.owner(of: stream) === target)
        }
        try await publisher.value
        var numbers: [Int] = []
        while numbers.last != 903 {
            for batch in try await reader.next(maxEntries: 1000) {
                #expect(batch.signal == nil || batch.signal == .serverChanged)
                numbers += batch.numbers
            }
        }
        #expect(numbers == Array(1...903))
        // Another server grants: what the former one granted is doubted.
        grant = try #require(try await broker.acquireLease(lease, owner: "a", ttlMs: 60_000))
        #expect(try await broker.releaseLease(lease, owner: "a", epoch: grant.epoch))
        try await cluster.moveSlot(of: stream, to: other)
        let next = try #require(try await broker.acquireLease(lease, owner: "a", ttlMs: 60_000))
        #expect(next.epoch > grant.epoch && next.trustedEpoch == next.epoch && next.server != grant.server)
        await broker.close()
    }

    @Test("each stream is read where it is while its slot moves", arguments: [false, true])
    func readingOfAMovingSlot(hasMovedWhole: Bool) async throws {
        let cluster = try TestCluster()
        let broker = try cluster.broker("asking")
        let (events, control) = (broker.keys.events(shard: 0), broker.keys.control(shard: 0))
        let reader = broker.makeReader(name: "r")
        var seen: [String: [Int]] = [:]
        func read(until count: Int) async throws {
            while seen.values.map(\.count).reduce(0, +) < count {
                for batch in try await reader.next(maxEntries: 100) {
                    #expect(batch.signal == nil || batch.signal == .serverChanged)
                    seen[batch.stream, default: []] += batch.numbers
                }
            }
        }
        for stream in [events, control] {
            reader.follow(stream, after: .zero)
            try await publish(1...2, broker, stream)
        }
        try await read(until: 4)
        let home = try cluster.owner(of: events)
        let other = try #require(cluster.nodes.first { $0 !== home })
        try await cluster.moveSlot(of: events, to: other, first: hasMovedWhole ? [events, control] : [events]) {
            for stream in [events, control] { try await publish(3...5, broker, stream) }
            try await read(until: 10)
            for stream in [events, control] { try await publish(6...6, broker, stream) }
            try await read(until: 12)
        }
        for stream in [events, control] { try await publish(7...9, broker, stream) }
        try await read(until: 18)
        #expect(seen == [events: Array(1...9), control: Array(1...9)])
        await broker.close()
    }

    @Test("a stale first map is mended by the first redirection; one reader follows streams of all nodes")
    func manyShards() async throws {
        let cluster = try TestCluster.shared.get()
        let broker = try cluster.broker("many")
        let streams = (0..<40).map { broker.keys.events(shard: $0) }
        #expect(Set(try streams.map { try cluster.owner(of: $0).port }).count == 3)
        let reader = broker.makeReader(name: "r")
        for stream in streams { reader.follow(stream, after: .zero) }
        let ids = try await broker.append(
            (0..<200).map { StreamAppend(stream: streams[$0 % 40], fields: [("n", Array(String($0).utf8))]) })
        #expect(ids.count == 200 && !ids.contains(.zero))
        var seen: [String: [Int]] = [:]
        while seen.values.map(\.count).reduce(0, +) < 200 {
            for batch in try await reader.next(maxEntries: 2) {
                #expect(batch.signal == nil && batch.entries.count <= 2)
                seen[batch.stream, default: []] += batch.numbers
            }
        }
        for (index, stream) in streams.enumerated() {
            #expect(seen[stream] == stride(from: index, to: 200, by: 40).map { $0 })
        }
        #expect(broker.state.servers.count == 3 && broker.state.connected)
        #expect(broker.state.servers.allSatisfy { $0.connected && !$0.id.isEmpty })
        for stream in streams.dropFirst() { reader.unfollow(stream) }
        try await publish(1...1, broker, streams[0])
        #expect(try await reader.next(maxEntries: 10).map(\.numbers) == [[1]])
        await broker.close()
    }

    @Test("a primary that dies: its slots wait, the others go on, nothing acknowledged is lost when it is back")
    func primaryDies() async throws {
        let cluster = try TestCluster()
        // Others may keep working while slots are missing: that shows that the rest continues.
        for node in cluster.nodes { _ = try node.command("CONFIG", "SET", "cluster-require-full-coverage", "no") }
        let broker = try cluster.broker("dies") { $0.commandTimeoutMs = 500 }
        let streams = (0..<20).map { broker.keys.events(shard: $0) }
        let victim = try cluster.owner(of: streams[0])
        let safe = try #require(try streams.first { try cluster.owner(of: $0) !== victim })
        try await waitUntil("an append", within: 20) {
            await errorCode { try await publish(1...1, broker, streams[0]) } == nil
        }
        victim.signal(SIGSTOP)
        let stuck = await errorCode {
            _ = try await broker.append([StreamAppend(stream: streams[0], fields: [("n", [49])])])
        }
        #expect(stuck == .outcomeUnknown || stuck == .unavailable)
        // A call may outlast this short time limit on a busy machine.
        try await publish(1...1, broker, safe)
        try await waitUntil("an append on the other shard", within: 20) {
            (try? await broker.length(of: safe)).map { $0 >= 1 } ?? false
        }
        victim.signal(SIGCONT)
        try await waitUntil("an append after the pause", within: 20) {
            await errorCode { try await publish(2...2, broker, streams[0]) } == nil
        }
        await broker.close()
    }

    @Test("wrong kinds of server are recognised, with the setting to change")
    func wrongKinds() async throws {
        let cluster = try TestCluster.shared.get()
        let single = try cluster.nodes[0].broker("single") { $0.commandTimeoutMs = 300 }
        try await waitUntil("the advice", within: 20) {
            single.state.lastConnectError.contains("redis.cluster.addresses")
        }
        await single.close()
        let alone = try TestRedis.shared.get()
        let wrong = try alone.broker("wrong") {
            $0.topology = .cluster(addresses: [alone.endpoint])
            $0.commandTimeoutMs = 300
        }
        #expect(await errorCode { try await wrong.ping() } == .unavailable)
        try await waitUntil("the advice", within: 20) {
            wrong.state.lastConnectError.contains("not part of a Redis Cluster")
        }
        #expect(wrong.state.isMisconfigured)
        await wrong.close()
        #expect(
            await errorCode {
                _ = try cluster.broker("db") { $0.database = 1 }
            } == .misconfigured)
    }

    @Test("slots of keys are those of the server", arguments: ["", "foo", "{foo}bar", "{}foo", "{fr:shard:3}:events"])
    func slots(_ key: String) throws {
        let server = try TestCluster.shared.get().nodes[0]
        #expect(try server.command("CLUSTER", "KEYSLOT", key).integer == hashSlot(of: key))
    }

    @Test("a redirected reader follows the redirection without waiting for the next map")
    func refusedReader() throws {
        func endpoint(_ host: String, _ port: Int) -> RedisConfiguration.Endpoint { .tcp(host: host, port: port) }
        let asked = endpoint("10.0.0.9", 7009)
        let configuration = RedisConfiguration(endpoint: asked)
        let map = try ClusterMap(configuration, seeds: [asked], name: "test", logger: Logger(label: "test"))
        let resolver = SlotEndpoint(slot: 7, configuration: configuration, map: map)
        let (source, target) = (endpoint("a", 1), endpoint("b", 2))
        map.moved(7, to: source)
        let version = resolver.version
        for message in ["ASK 7 b:2", "TRYAGAIN Multiple keys", "no answer", "MOVED 7"] {
            resolver.refused(RedisFailure(message: message), by: source)
            #expect(resolver.isCurrent(source) && resolver.version == version, "\(message)")
        }
        resolver.refused(RedisFailure(message: "MOVED 7 b:2"), by: source)
        #expect(resolver.isCurrent(target) && resolver.version > version)
    }
}
