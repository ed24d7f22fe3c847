import Glibc
import LiveModel
import TestSupport
import Testing

@testable import Broker
import Streams

/// Redis killed, stopped, emptied, refusing: each test has a server of its own.
@Suite("Redis failures", .timeLimit(.minutes(2)))
struct RedisFailureTests {
    private func append(_ number: Int, to stream: String) -> [StreamAppend] {
        [StreamAppend(stream: stream, fields: [("n", Array(String(number).utf8))])]
    }

    /// Appends until acknowledged, as a publisher does.
    private func publish(_ number: Int, _ broker: any Broker, _ stream: String) async throws {
        while true {
            do throws(BrokerError) {
                _ = try await broker.append(append(number, to: stream))
                return
            } catch {
                guard error.code == .outcomeUnknown || error.code == .unavailable else { throw error }
            }
        }
    }

    @Test("kill -9 and restart with data: everything acknowledged is read, in order, with a signal")
    func restartWithData() async throws {
        // Acknowledged writes survive only with fsync.
        let redis = try TestRedis(options: ["--appendonly", "yes", "--appendfsync", "always"])
        let broker = try redis.broker()
        let stream = broker.keys.events(shard: 0)
        let reader = broker.makeReader(name: "r")
        reader.follow(stream, after: .zero)
        let lease = broker.keys.lease(shard: 0)
        let before = try #require(try await broker.acquireLease(lease, owner: "a", ttlMs: 60_000))
        let publisher = Task {
            for number in 0..<400 { try await publish(number, broker, stream) }
        }
        var numbers: [Int] = []
        var ids: [StreamID] = []
        var signals: [StreamSignal] = []
        var kills = 0
        while Set(numbers).count < 400 {
            for batch in try await reader.next(maxEntries: 7) {
                if let signal = batch.signal { signals.append(signal) }
                numbers += batch.numbers
                ids += batch.entries.map(\.id)
            }
            if numbers.count >= 100 * (kills + 1), kills < 3 {
                redis.kill()
                try redis.start()
                kills += 1
            }
        }
        try await publisher.value
        #expect(ids == ids.sorted() && Set(ids).count == ids.count)
        // The restarts kept the lease, but the process that granted it is gone.
        #expect(broker.state.serverChanges == 3)
        let after = try #require(try await broker.acquireLease(lease, owner: "a", ttlMs: 60_000))
        #expect(before.trustedEpoch == before.epoch && after.epoch > before.epoch && after.trustedEpoch == after.epoch)
        var firsts: [Int] = []
        for number in numbers where !firsts.contains(number) { firsts.append(number) }
        #expect(firsts == Array(0..<400))
        #expect(!signals.isEmpty && signals.allSatisfy { $0 == .serverChanged })
        try await waitUntil("four reconnects", within: 20) { broker.state.connected && broker.state.reconnects >= 4 }
        await broker.close()
    }

    @Test("callers write directly to an idle connection")
    func idle() async throws {
        let redis = try TestRedis()
        let broker = try redis.broker()
        var calls = 0
        // The thread may still be on its way back from the call before.
        while broker.state.sentByCallers < 10 {
            _ = try await broker.append(append(calls, to: "s"))
            calls += 1
        }
        #expect(try await broker.length(of: "s") == calls)
        #expect(broker.state.queuedRequests == 0 && broker.state.inFlightRequests == 0)
        await broker.close()
    }

    @Test("an idle connection whose server is gone is not sent on: the append waits and is made once")
    func idleAndGone() async throws {
        let redis = try TestRedis(options: ["--appendonly", "yes", "--appendfsync", "always"])
        let broker = try redis.broker()
        for number in 0..<8 {
            while broker.state.sentByCallers <= number { try await broker.ping() }
            redis.kill()
            async let appended = broker.append(append(number, to: "s"))
            try redis.start()
            #expect(try await appended.count == 1)
        }
        #expect(broker.state.requestsUnknown == 0)
        #expect(try await broker.length(of: "s") == 8)
        await broker.close()
    }

    @Test("a restarted server does not renew what its predecessor granted, and knows since when it grants")
    func leasesOverARestart() async throws {
        let redis = try TestRedis(options: ["--appendonly", "yes", "--appendfsync", "always"])
        let broker = try redis.broker()
        let key = broker.keys.lease(shard: 0)
        let old = try #require(try await broker.acquireLease(key, owner: "a", ttlMs: 60_000))
        #expect(old.knownForMs == 0 && old.trustedEpoch == old.epoch)
        #expect(try await broker.renewLease(key, owner: "a", epoch: old.epoch, ttlMs: 60_000))
        redis.kill()
        try redis.start()
        #expect(try await !broker.renewLease(key, owner: "a", epoch: old.epoch, ttlMs: 60_000))
        #expect(try await broker.acquireLease(key, owner: "b", ttlMs: 60_000) == nil, "it is still a's")
        let new = try #require(try await broker.acquireLease(key, owner: "a", ttlMs: 60_000))
        #expect(new.epoch > old.epoch && new.trustedEpoch == new.epoch && new.server != old.server)
        #expect(try await broker.renewLease(key, owner: "a", epoch: new.epoch, ttlMs: 60_000))
        let again = try #require(try await broker.acquireLease(key, owner: "a", ttlMs: 60_000))
        #expect(again.trustedEpoch == new.epoch && again.epoch > new.epoch && again.server == new.server)
        await broker.close()
    }

    @Test("a restart without data is reported although the new ids are greater")
    func restartWithoutData() async throws {
        let redis = try TestRedis()
        let broker = try redis.broker()
        let stream = broker.keys.events(shard: 0)
        let reader = broker.makeReader(name: "r")
        reader.follow(stream, after: .zero)
        let old = try await broker.append(append(1, to: stream) + append(2, to: stream))
        #expect(try await reader.next(maxEntries: 10).map(\.numbers) == [[1, 2]])
        let oldLease = try #require(
            try await broker.acquireLease(broker.keys.lease(shard: 0), owner: "a", ttlMs: 60_000))
        redis.kill()
        redis.removeData()
        try redis.start()
        try await publish(3, broker, stream)
        var signals: [StreamSignal] = []
        var numbers: [Int] = []
        while numbers.isEmpty {
            for batch in try await reader.next(maxEntries: 10) {
                if let signal = batch.signal { signals.append(signal) }
                numbers += batch.numbers
            }
        }
        #expect(numbers == [3])
        guard case .regressed(let lastID) = signals.first, signals.count == 1 else {
            Issue.record("expected one regressed, got \(signals)")
            return
        }
        #expect(lastID > old[1])
        let newLease = try #require(
            try await broker.acquireLease(broker.keys.lease(shard: 0), owner: "b", ttlMs: 60_000))
        #expect(newLease.epoch > oldLease.epoch && newLease.trustedEpoch == newLease.epoch)
        await broker.close()
    }

    @Test("an append in flight when the server dies has an unknown outcome; reads wait for the next connection")
    func inFlight() async throws {
        let redis = try TestRedis()
        let broker = try redis.broker()
        try await broker.ping()
        redis.signal(SIGSTOP)
        let stream = broker.keys.events(shard: 0)
        let appending = Task { await errorCode { _ = try await broker.append(append(1, to: stream)) } }
        try await waitUntil("the request on its way", within: 20) { broker.state.inFlightRequests == 1 }
        let reading = Task { try await broker.length(of: stream) }
        redis.kill()
        #expect(await appending.value == .outcomeUnknown)
        #expect(broker.state.requestsUnknown == 1)
        try redis.start()
        #expect(try await reading.value == 0)
        await broker.close()
    }

    @Test("a silent server is given up after the command timeout")
    func silent() async throws {
        let redis = try TestRedis()
        let broker = try redis.broker {
            $0.commandTimeoutMs = 300
            $0.connectTimeoutMs = 300
        }
        try await waitUntil("an answer", within: 20) { await errorCode { try await broker.ping() } == nil }
        redis.signal(SIGSTOP)
        #expect(await errorCode { _ = try await broker.append(append(1, to: "s")) } == .outcomeUnknown)
        #expect(await errorCode { try await broker.ping() } == .unavailable)
        redis.signal(SIGCONT)
        try await waitUntil("an answer", within: 20) { await errorCode { try await broker.ping() } == nil }
        await broker.close()
    }

    @Test("a full queue refuses at once, and empties again")
    func overload() async throws {
        let redis = try TestRedis()
        let broker = try redis.broker {
            $0.queueRequestsMax = 8
            $0.queueBytesMax = 10_000
        }
        try await broker.ping()
        redis.signal(SIGSTOP)
        let stream = broker.keys.events(shard: 0)
        let accepted = (0..<8).map { number in Task { try await broker.append(append(number, to: stream)) } }
        try await waitUntil("eight queued requests", within: 20) { broker.state.queuedRequests == 8 }
        #expect(await errorCode { try await broker.ping() } == .overloaded)
        #expect(broker.state.requestsOverloaded == 1)
        redis.signal(SIGCONT)
        for task in accepted { #expect(try await task.value.count == 1) }
        #expect(try await broker.length(of: stream) == 8)
        // By bytes: one that is larger than the bound passes alone, a second one does not fit beside it.
        redis.signal(SIGSTOP)
        let large = [StreamAppend(stream: stream, fields: [("n", [UInt8](repeating: 7, count: 20_000))])]
        let alone = Task { try await broker.append(large) }
        try await waitUntil("a queued request", within: 20) { broker.state.queuedRequests == 1 }
        #expect(await errorCode { _ = try await broker.append(large) } == .overloaded)
        redis.signal(SIGCONT)
        #expect(try await alone.value.count == 1)
        #expect(broker.state.queuedBytes == 0)
        await broker.close()
    }

    @Test("calls without a server fail at their deadline, and succeed once there is one")
    func absent() async throws {
        let redis = try TestRedis(isStarted: false)
        let impatient = try redis.broker { $0.commandTimeoutMs = 100 }
        #expect(await errorCode { _ = try await impatient.append(append(1, to: "s")) } == .unavailable)
        #expect(!impatient.state.connected && !impatient.state.lastConnectError.isEmpty)
        await impatient.close()
        let patient = try redis.broker()
        let reader = patient.makeReader(name: "r")
        reader.follow("s", after: .zero)
        let waiting = Task { try await patient.append(append(1, to: "s")) }
        try redis.start()
        #expect(try await waiting.value.count == 1)
        #expect(try await reader.next(maxEntries: 1).map(\.numbers) == [[1]])
        await patient.close()
    }

    @Test("close ends waiting calls and reads while there is no server")
    func closeWithoutServer() async throws {
        let redis = try TestRedis(isStarted: false)
        let broker = try redis.broker()
        let reader = broker.makeReader(name: "r")
        reader.follow("s", after: .zero)
        let reading = Task { await errorCode { _ = try await reader.next(maxEntries: 1) } }
        let calling = Task { await errorCode { try await broker.ping() } }
        try await waitUntil("a queued request", within: 20) { broker.state.queuedRequests == 1 }
        await broker.close()
        #expect(await calling.value == .closed)
        #expect(await reading.value == .closed)
    }

    @Test("a replica is not written to; calls wait until it is a primary again")
    func replica() async throws {
        let redis = try TestRedis()
        let broker = try redis.broker()
        let stream = broker.keys.events(shard: 0)
        _ = try await broker.append(append(1, to: stream))
        _ = try redis.command("REPLICAOF", "127.0.0.1", "1")
        let waiting = Task { try await broker.append(append(2, to: stream)) }
        try await waitUntil("the refusal of a replica", within: 20) {
            broker.state.lastConnectError == "server is a replica"
        }
        try redis.commandOnReplica("REPLICAOF", "NO", "ONE")
        #expect(try await waiting.value.count == 1)
        #expect(try await broker.length(of: stream) == 2)
        await broker.close()
    }

    @Test("no memory, a wrong type, forgotten scripts")
    func refusals() async throws {
        let redis = try TestRedis()
        let broker = try redis.broker()
        let key = broker.keys.lease(shard: 0)
        _ = try redis.command("SET", "text", "1")
        #expect(await errorCode { _ = try await broker.append(append(1, to: "text")) } == .rejected)
        #expect(await errorCode { _ = try await broker.info(of: "text") } == .rejected)
        let reader = broker.makeReader(name: "r")
        reader.follow("text", after: .zero)
        #expect(await errorCode { _ = try await reader.next(maxEntries: 1) } == .rejected)
        reader.unfollow("text")
        reader.follow("good", after: .zero)
        _ = try await broker.append(append(1, to: "good"))
        #expect(try await reader.next(maxEntries: 1).map(\.numbers) == [[1]])

        let grant = try #require(try await broker.acquireLease(key, owner: "a", ttlMs: 60_000))
        _ = try redis.command("SCRIPT", "FLUSH")
        #expect(try await broker.renewLease(key, owner: "a", epoch: grant.epoch, ttlMs: 60_000))
        #expect(try await broker.renewLease(key, owner: "a", epoch: grant.epoch, ttlMs: 60_000))

        _ = try redis.command("CONFIG", "SET", "maxmemory", "1")
        #expect(await errorCode { _ = try await broker.append(append(1, to: "s")) } == .outOfMemory)
        let fenced = append(1, to: broker.keys.events(shard: 0))
        #expect(
            await errorCode { _ = try await broker.appendFenced(lease: key, epoch: grant.epoch, fenced) }
                == .outOfMemory)
        _ = try redis.command("CONFIG", "SET", "maxmemory", "0")
        #expect(try await broker.append(append(1, to: "s")).count == 1)
        await broker.close()
    }

    @Test("passwords, ACL users and databases")
    func login() async throws {
        let redis = try TestRedis(options: ["--user", "app", "on", ">s3:cret@", "~*", "+@all", "--requirepass", "root"])
        let wrong = try redis.broker {
            $0.password = "wrong"
            $0.commandTimeoutMs = 500
        }
        try await waitUntil("the refusal of the password", within: 20) { wrong.state.lastConnectError == "WRONGPASS" }
        #expect(await errorCode { try await wrong.ping() } == .unavailable)
        await wrong.close()
        let url = "unix://app:s3%3Acret%40@\(redis.socketPath)?db=3"
        let user = try redis.broker { $0 = try! RedisConfiguration(url: url) }
        try await user.ping()
        _ = try await user.append(append(1, to: "s"))
        await user.close()
        let root = try redis.broker { $0.password = "root" }
        #expect(try await root.info(of: "s") == nil)
        await root.close()
    }
}
