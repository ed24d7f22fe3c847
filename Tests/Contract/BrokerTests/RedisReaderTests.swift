import LiveModel
import SeededRandom
import TestSupport
import Testing

@testable import Broker
import Streams

/// Behaviour of readers and checkpoints that only Redis shows.
@Suite("Redis readers", .timeLimit(.minutes(1)))
struct RedisReaderTests {
    private func isBlocked(_ redis: TestRedis, name: String) throws -> Bool {
        let list = try redis.command("CLIENT", "LIST").text ?? ""
        return list.split(separator: "\n").contains { $0.contains("name=\(name) ") && $0.contains("flags=b") }
    }

    @Test("a blocked read is interrupted by follow")
    func followWhileBlocked() async throws {
        let redis = try TestRedis()
        let broker = try redis.broker()
        let reader = broker.makeReader(name: "blocked one")
        reader.follow("a", after: .zero)
        _ = try await broker.append([StreamAppend(stream: "b", fields: [("n", [49])])])
        for round in 0..<20 {
            async let next = reader.next(maxEntries: 10)
            try await waitUntil("a blocked read", within: 20) { try isBlocked(redis, name: "test:blocked_one") }
            reader.follow("b", after: .zero)
            #expect(try await next.map(\.numbers) == [[1]])
            if round % 2 == 0 { reader.unfollow("b") }
        }
        await broker.close()
    }

    @Test("entries of several recently active streams arrive with the first wake-up")
    func severalAtOnce() async throws {
        let redis = try TestRedis()
        let broker = try redis.broker()
        for number in 1...20 {
            let reader = broker.makeReader(name: "waiting-\(number)")
            let streams = ["a-\(number)", "b-\(number)", "c-\(number)"]
            for stream in streams { reader.follow(stream, after: .zero) }
            for stream in streams {
                async let next = reader.next(maxEntries: 10)
                try await waitUntil("a blocked read", within: 20) {
                    try isBlocked(redis, name: "test:waiting-\(number)")
                }
                // For so long that there is little to read.
                let start = ContinuousClock.now
                try await waitUntil("10 ms", within: 20) { ContinuousClock.now - start > .milliseconds(10) }
                _ = try await broker.append([StreamAppend(stream: stream, fields: [("n", [49])])])
                #expect(try await next.map(\.stream) == [stream])
            }
            async let next = reader.next(maxEntries: 10)
            try await waitUntil("a blocked read", within: 20) { try isBlocked(redis, name: "test:waiting-\(number)") }
            let value = Array(String(number).utf8)
            _ = try await broker.append([0, 2].map { StreamAppend(stream: streams[$0], fields: [("n", value)]) })
            let batches = try await next.sorted { $0.stream < $1.stream }
            #expect(batches.map(\.stream) == [streams[0], streams[2]])
            #expect(batches.allSatisfy { $0.numbers == [number] })
            reader.close()
        }
        await broker.close()
    }

    @Test("busy streams are read apart from many quiet ones, and nothing is lost, doubled or out of order")
    func manyStreams() async throws {
        let redis = try TestRedis()
        let broker = try redis.broker()
        let reader = broker.makeReader(name: "many")
        let streams = (0..<40).map { "s-\($0)" }
        for stream in streams { reader.follow(stream, after: .zero) }
        var random = SeededRandom(seed: 7)
        var wanted: [String: [Int]] = [:]
        var seen: [String: [Int]] = [:]
        func readAll() async throws {
            while seen != wanted {
                for batch in try await reader.next(maxEntries: 3) {
                    #expect(batch.signal == nil)
                    #expect(batch.entries.count <= 3)
                    seen[batch.stream, default: []] += batch.numbers
                }
            }
        }
        for number in 1...200 {
            // Mostly the same few.
            let chosen = Set((0..<3).map { _ in Int.random(in: 0..<(number % 10 == 0 ? 40 : 5), using: &random) })
            let value = Array(String(number).utf8)
            _ = try await broker.append(chosen.map { StreamAppend(stream: streams[$0], fields: [("n", value)]) })
            for index in chosen { wanted[streams[index], default: []].append(number) }
            if number % 3 == 0 { try await readAll() }
            if number % 20 == 0 {
                // The stream is in neither read now, and then in the first that is sent.
                let index = Int.random(in: 0..<40, using: &random)
                try await readAll()
                reader.unfollow(streams[index])
                seen[streams[index]] = nil
                if wanted[streams[index]] == [] { wanted[streams[index]] = nil }
                reader.follow(streams[index], after: .zero)
                try await readAll()
            }
        }
        try await readAll()
        let list = try redis.command("CLIENT", "LIST").text ?? ""
        #expect(list.split(separator: "\n").count { $0.contains("name=test:many ") } == 2)
        // Both lose their connection.
        for line in list.split(separator: "\n") where line.contains("name=test:many ") {
            let id = line.split(separator: " ").first?.dropFirst(3) ?? ""
            _ = try redis.command("CLIENT", "KILL", "ID", String(id))
        }
        for stream in [streams[0], streams[39]] {
            _ = try await broker.append([StreamAppend(stream: stream, fields: [("n", [57])])])
            wanted[stream, default: []].append(9)
        }
        try await readAll()
        await broker.close()
    }

    @Test("a reader whose connection is cut continues without a signal")
    func cut() async throws {
        let redis = try TestRedis()
        let broker = try redis.broker()
        let reader = broker.makeReader(name: "r")
        reader.follow("s", after: .zero)
        var numbers: [Int] = []
        for number in 1...20 {
            async let next = reader.next(maxEntries: 10)
            try await waitUntil("a blocked read", within: 20) { try isBlocked(redis, name: "test:r") }
            #expect(try redis.command("CLIENT", "KILL", "TYPE", "normal") != .null)
            while true {
                let append = StreamAppend(stream: "s", fields: [("n", Array(String(number).utf8))])
                if await errorCode({ _ = try await broker.append([append]) }) == nil { break }
            }
            for batch in try await next {
                #expect(batch.signal == nil)
                numbers += batch.numbers
            }
            while numbers.last != number {
                for batch in try await reader.next(maxEntries: 10) { numbers += batch.numbers }
            }
        }
        #expect(Set(numbers) == Set(1...20))
        await broker.close()
    }

    @Test("trimming by length past a disconnected reader is reported, also right after a read")
    func overrun() async throws {
        let redis = try TestRedis(options: ["--stream-node-max-entries", "10"])
        let broker = try redis.broker()
        let reader = broker.makeReader(name: "r")
        reader.follow("s", after: .zero)
        func append(_ numbers: Range<Int>) async throws {
            _ = try await broker.append(
                numbers.map {
                    StreamAppend(stream: "s", fields: [("n", Array(String($0).utf8))], lengthMax: 64)
                })
        }
        try await append(0..<10)
        #expect(try await reader.next(maxEntries: 1000).flatMap(\.numbers) == Array(0..<10))
        try await append(10..<500)
        var signals = 0
        var numbers: [Int] = []
        while numbers.last != 499 {
            for batch in try await reader.next(maxEntries: 1000) {
                if case .trimmed = batch.signal {
                    signals += 1
                    #expect(numbers.isEmpty)
                }
                numbers += batch.numbers
            }
        }
        #expect(signals == 1 && (64...80).contains(numbers.count))
        #expect(numbers == Array(numbers[0]...499))
        await broker.close()
    }

    @Test("trimming is reported for many streams, busy and quiet ones", arguments: [0, 30])
    func overrunOfOneOfMany(stream: Int) async throws {
        let redis = try TestRedis(options: ["--stream-node-max-entries", "10"])
        let broker = try redis.broker()
        let reader = broker.makeReader(name: "r")
        for number in 0..<40 { reader.follow("s\(number)", after: .zero) }
        func append(_ numbers: Range<Int>, to stream: Int) async throws {
            _ = try await broker.append(
                numbers.map {
                    StreamAppend(stream: "s\(stream)", fields: [("n", Array(String($0).utf8))], lengthMax: 64)
                })
        }
        // The first few become hot.
        for number in 0..<3 {
            try await append(0..<1, to: number)
            #expect(try await reader.next(maxEntries: 1000).map(\.numbers) == [[0]])
        }
        for round in 1...3 {
            // Nobody reads meanwhile; what a read under way brings is older than the trimming.
            try await append((round * 1_000)..<(round * 1_000 + 500), to: stream)
            // Elapsed time is the subject: this consumer is away for longer than `ReadPlan.awayMs`.
            if round == 2 { try await Task.sleep(for: .milliseconds(300)) }
            var signals = 0
            var numbers: [Int] = []
            while numbers.last != round * 1_000 + 499 {
                for batch in try await reader.next(maxEntries: 1000) {
                    #expect(batch.stream == "s\(stream)")
                    if case .trimmed = batch.signal { signals += 1 }
                    numbers += batch.numbers
                }
            }
            #expect(signals == 1, "round \(round)")
            #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
        }
        await broker.close()
    }

    @Test("a user without permission to ask for the server's name reads all streams together; no loss is reported")
    func anonymous() async throws {
        let redis = try TestRedis(options: ["--user", "app", "on", ">secret", "~*", "+@all", "-info"])
        let broker = try redis.broker {
            $0.user = "app"
            $0.password = "secret"
        }
        let reader = broker.makeReader(name: "many")
        for number in 0..<40 { reader.follow("s\(number)", after: .zero) }
        for round in 1...5 {
            for number in [0, 1, 39] {
                let value = Array(String(round).utf8)
                _ = try await broker.append([StreamAppend(stream: "s\(number)", fields: [("n", value)])])
                let batches = try await reader.next(maxEntries: 10)
                #expect(batches.map(\.stream) == ["s\(number)"])
                #expect(batches.map(\.numbers) == [[round]] && batches.allSatisfy { $0.signal == nil })
            }
        }
        let list = try redis.command("CLIENT", "LIST").text ?? ""
        #expect(list.split(separator: "\n").count { $0.contains("name=test:many ") } == 1)
        await broker.close()
    }

    @Test("checkpoints show the lag to standard tools")
    func lag() async throws {
        let redis = try TestRedis()
        let broker = try redis.broker()
        let keys = broker.keys
        let stream = keys.events(shard: 0)
        let epoch = try #require(try await broker.acquireLease(keys.lease(shard: 0), owner: "a", ttlMs: 60_000)).epoch
        func lag(after id: StreamID) async throws -> Int? {
            #expect(
                try await broker.checkpoint(
                    stream: stream, group: Keys.workersGroup, id: id, lease: keys.lease(shard: 0), epoch: epoch))
            return try redis.command("XINFO", "GROUPS", stream).array?.first?["lag"]?.integer
        }
        #expect(try await lag(after: .zero) == 0)
        let appends = (0..<1500).map { _ in StreamAppend(stream: stream, fields: [("n", [49])]) }
        let ids = try await broker.append(appends)
        #expect(try await lag(after: ids[1499]) == 0)
        #expect(try await lag(after: ids[1000]) == 499)
        #expect(try await lag(after: ids[9]) == 1000)
        _ = try await broker.trim(stream, minimumID: ids[1400])
        #expect(try await lag(after: ids[1489]) == 10)
        await broker.close()
    }
}
