import LiveModel
import Synchronization
import Testing

@testable import Broker
import Streams

/// Guarantees of every broker for readers.
@Suite("Broker contract: readers", .timeLimit(.minutes(1)))
struct ReaderContractTests {
    @Test("reads each stream from its cursor, at most maxEntries at a time", arguments: BrokerKind.allCases)
    func cursors(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let reader = fixture.broker.makeReader(name: "r")
        let ids = try await fixture.append(1...10, to: fixture.events)
        try await fixture.append(100...103, to: fixture.control)
        reader.follow(fixture.events, after: ids[2])
        let first = try await fixture.readSome(reader, maxEntries: 3)
        #expect(first.map(\.stream) == [fixture.events] && first[0].numbers == [4, 5, 6])
        reader.follow(fixture.control, after: .zero)
        var seen: [String: [Int]] = [:]
        while seen.values.map(\.count).reduce(0, +) < 8 {
            for batch in try await reader.next(maxEntries: 3) {
                #expect(batch.signal == nil && batch.entries.count <= 3)
                seen[batch.stream, default: []] += batch.numbers
            }
        }
        #expect(seen == [fixture.events: [7, 8, 9, 10], fixture.control: [100, 101, 102, 103]])
        await fixture.broker.close()
    }

    @Test("a waiting read ends with the next append", arguments: BrokerKind.allCases)
    func waits(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let reader = fixture.broker.makeReader(name: "r")
        reader.follow(fixture.events, after: .zero)
        for number in 1...50 {
            async let next = fixture.read(1, reader)
            await Task.yield()
            try await fixture.append([number], to: fixture.events)
            #expect(try await next == [number])
        }
        await fixture.broker.close()
    }

    @Test("follow, new cursor and unfollow take effect while a read waits", arguments: BrokerKind.allCases)
    func changesWhileWaiting(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let reader = fixture.broker.makeReader(name: "r")
        let ids = try await fixture.append(1...3, to: fixture.events)
        try await fixture.append(100...101, to: fixture.control)
        // The reader follows no stream at first, then an empty one, then one that has entries.
        async let first = fixture.read(2, reader)
        await Task.yield()
        reader.follow(fixture.keys.events(shard: 9), after: .zero)
        await Task.yield()
        reader.follow(fixture.control, after: .zero)
        #expect(try await first == [100, 101])
        reader.follow(fixture.events, after: ids[2])
        async let second = fixture.read(2, reader)
        await Task.yield()
        reader.follow(fixture.events, after: ids[0])
        #expect(try await second == [2, 3])
        reader.unfollow(fixture.events)
        async let third = fixture.read(1, reader)
        await Task.yield()
        try await fixture.append([4], to: fixture.events)
        try await fixture.append([102], to: fixture.control)
        #expect(try await third == [102])
        await fixture.broker.close()
    }

    @Test("a read ends on close and on cancellation; one at a time", arguments: BrokerKind.allCases)
    func ends(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let reader = fixture.broker.makeReader(name: "r")
        reader.follow(fixture.events, after: .zero)
        let cancelled = Task { await errorCode { _ = try await fixture.readSome(reader) } }
        await Task.yield()
        cancelled.cancel()
        #expect(await cancelled.value == .cancelled)

        let two = (0..<2).map { _ in Task { await errorCode { _ = try await fixture.readSome(reader) } } }
        let refused = await withTaskGroup(of: BrokerError.Code?.self) { group in
            for task in two { group.addTask { await task.value } }
            let first = await group.next() ?? nil
            reader.close()
            let second = await group.next() ?? nil
            return [first, second]
        }
        #expect(refused == [.concurrentRead, .closed])
        #expect(await errorCode { _ = try await reader.next(maxEntries: 1) } == .closed)
        await fixture.broker.close()
    }

    @Test("a cancelled read loses nothing", arguments: BrokerKind.allCases)
    func cancelKeeps(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let reader = fixture.broker.makeReader(name: "r")
        reader.follow(fixture.events, after: .zero)
        var seen: [Int] = []
        for number in 1...100 {
            let read = Task { try await reader.next(maxEntries: 10) }
            try await fixture.append([number], to: fixture.events)
            read.cancel()
            if let batches = try? await read.value { seen += batches.flatMap(\.numbers) }
        }
        seen += try await fixture.read(100 - seen.count, reader)
        #expect(seen == Array(1...100))
        await fixture.broker.close()
    }

    @Test(
        "one read after the other, each when the one before is done, until it is cancelled",
        arguments: BrokerKind.allCases)
    func oneAfterTheOther(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let reader = fixture.broker.makeReader(name: "r")
        reader.follow(fixture.events, after: .zero)
        let (reads, observer) = AsyncStream.makeStream(of: [Int].self)
        let atOnce = Atomic(0)
        let reading = Task {
            await errorCode {
                try await reader.forEach(maxEntries: 2) { batches, readOn in
                    #expect(atOnce.add(1, ordering: .relaxed).newValue == 1)
                    await Task.yield()
                    atOnce.subtract(1, ordering: .relaxed)
                    observer.yield(batches.flatMap(\.numbers))
                    // Asking for the next one before the end is the same as ending.
                    if batches.flatMap(\.numbers).contains(4) { readOn() }
                }
            }
        }
        try await fixture.append(1...3, to: fixture.events)
        try await fixture.append(4...7, to: fixture.events)
        var numbers: [Int] = []
        for await read in reads {
            #expect(read.count <= 2)
            numbers += read
            if numbers.count == 7 { break }
        }
        #expect(numbers == Array(1...7))
        reading.cancel()
        #expect(await reading.value == .cancelled)
        try await fixture.append([8], to: fixture.events)
        #expect(try await fixture.read(1, reader) == [8])
        reader.close()
        #expect(await errorCode { try await reader.forEach(maxEntries: 1) { _, _ in } } == .closed)
        await fixture.broker.close()
    }

    @Test("trimming past the cursor is reported once, then reading continues", arguments: BrokerKind.allCases)
    func trimmed(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let reader = fixture.broker.makeReader(name: "r")
        let ids = try await fixture.append(1...10, to: fixture.events)
        _ = try await fixture.broker.trim(fixture.events, minimumID: ids[5])
        reader.follow(fixture.events, after: ids[1])
        var signals: [StreamSignal] = []
        var numbers: [Int] = []
        while numbers.count < 6 {
            for batch in try await reader.next(maxEntries: 2) {
                if let signal = batch.signal {
                    #expect(numbers.isEmpty)
                    signals.append(signal)
                }
                numbers += batch.numbers
                if numbers.count == 5 { try await fixture.append([11], to: fixture.events) }
            }
        }
        #expect(signals == [.trimmed(firstID: ids[5])] && numbers == [6, 7, 8, 9, 10, 11])
        await fixture.broker.close()
    }

    @Test("trimming what was read is no gap", arguments: BrokerKind.allCases)
    func trimmedBehind(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let reader = fixture.broker.makeReader(name: "r")
        reader.follow(fixture.events, after: .zero)
        let ids = try await fixture.append(1...10, to: fixture.events)
        #expect(try await fixture.readSome(reader, maxEntries: 5).map(\.numbers) == [[1, 2, 3, 4, 5]])
        _ = try await fixture.broker.trim(fixture.events, minimumID: ids[5])
        try await fixture.pass(ms: 250)  // such that the Redis reader compares
        let rest = try await fixture.readSome(reader)
        #expect(rest.map(\.numbers) == [[6, 7, 8, 9, 10]] && rest[0].signal == nil)
        // All gone, the cursor at the end, then more.
        _ = try await fixture.broker.trim(fixture.events, minimumID: .max)
        try await fixture.pass(ms: 250)
        try await fixture.append([11], to: fixture.events)
        let last = try await fixture.readSome(reader)
        #expect(last.map(\.numbers) == [[11]] && last[0].signal == nil)
        await fixture.broker.close()
    }

    @Test("a replaced stream is reported, with greater ids too", arguments: BrokerKind.allCases)
    func regressed(_ kind: BrokerKind) async throws {
        let fixture = try kind.make()
        let reader = fixture.broker.makeReader(name: "r")
        let ids = try await fixture.append(1...3, to: fixture.events)
        _ = try await fixture.broker.delete(fixture.events)
        reader.follow(fixture.events, after: ids[2])
        #expect(
            try await fixture.readSome(reader)
                == [StreamBatch(stream: fixture.events, signal: .regressed(lastID: .zero), entries: [])])
        try await fixture.pass(ms: 10)
        let new = try await fixture.append(4...5, to: fixture.events)
        #expect(try await fixture.read(2, reader) == [4, 5])
        // The same with entries already there when it is noticed.
        reader.follow(fixture.events, after: ids[1])
        var signals: [StreamSignal] = []
        var numbers: [Int] = []
        while numbers.count < 2 {
            for batch in try await reader.next(maxEntries: 100) {
                if let signal = batch.signal { signals.append(signal) }
                numbers += batch.numbers
            }
        }
        #expect(signals == [.regressed(lastID: new[1])] && numbers == [4, 5])
        await fixture.broker.close()
    }
}
