import LiveModel
import Streams
import Testing

@testable import Broker

/// When a slot has a reader, when it reads, and what `next` returns.
@Suite struct SlotReadersTests {
    private static let start = ReadPlan.Start(cursor: .zero)

    private static func batch(_ stream: String, _ ids: ClosedRange<UInt64>) -> StreamBatch {
        StreamBatch(stream: stream, entries: ids.map { StreamEntry(id: StreamID(ms: $0, sequence: 0), fields: []) })
    }

    private static func text(_ answer: Result<[StreamBatch], BrokerError>?) -> String? {
        switch answer {
        case nil: nil
        case .failure(let error): error.code.rawValue
        case .success(let batches):
            batches.map { "\($0.signal == nil ? "" : "!")\($0.stream)\($0.entries.map { "\($0.id.ms)" }.joined())" }
                .joined(separator: " ")
        }
    }

    /// A consumer that has called `next`, with readers of some slots: slot 1 has the stream `a`, slot 2 `b`.
    private struct Consumer {
        var slots = SlotReaders()
        var ids: [String: SlotReaders.ID] = [:]
        private var changes = 0

        init(following streams: String..., maxEntries: Int? = 10) {
            for stream in streams { follow(stream) }
            if let maxEntries { #expect(slots.next(maxEntries: maxEntries) == nil) }
        }

        static func slot(_ stream: String) -> Int { stream.hasPrefix("a") ? 1 : 2 }

        /// - Returns: the number of the change.
        @discardableResult
        mutating func follow(_ stream: String) -> Int? {
            let id: SlotReaders.ID
            switch slots.follow(stream, slot: Self.slot(stream)) {
            case nil: return nil
            case .existing(let found), .new(let found): id = found
            }
            ids[stream] = id
            changes += 1
            slots.followed(stream, by: id, change: changes)
            return changes
        }

        mutating func turn(_ stream: String) throws -> SlotReaders.Turn { slots.turn(of: try #require(ids[stream])) }

        mutating func arrives(_ stream: String, _ ids: ClosedRange<UInt64>, change: Int) throws {
            slots.arrived([(SlotReadersTests.batch(stream, ids), change)], from: try #require(self.ids[stream]))
        }

        mutating func answer() -> String? { SlotReadersTests.text(slots.handOut().answer) }
    }

    @Test func aSlotHasOneReaderFromItsFirstStreamToItsLast() throws {
        var slots = SlotReaders()
        guard case .new(let first) = slots.follow("a", slot: 1) else {
            Issue.record("slot 1 has a reader")
            return
        }
        slots.followed("a", by: first, change: 1)
        #expect(slots.follow("a2", slot: 1) == .existing(first))
        slots.followed("a2", by: first, change: 2)
        guard case .new(let other) = slots.follow("b", slot: 2) else {
            Issue.record("slot 2 has a reader")
            return
        }
        slots.followed("b", by: other, change: 1)
        #expect(slots.unfollow("c", slot: 1) == nil && slots.unfollow("c", slot: 3) == nil)
        #expect(slots.unfollow("a", slot: 1) == .shrink(first))
        #expect(slots.unfollow("a", slot: 1) == nil)
        #expect(slots.unfollow("a2", slot: 1) == .retire(first))
        #expect(slots.turn(of: first) == .end && slots.turn(of: other) == .wait)
        guard case .new(let later) = slots.follow("a", slot: 1) else {
            Issue.record("the retired reader is used again")
            return
        }
        #expect(later != first)
    }

    @Test func aReaderReadsOnceNextIsCalledAndItsBatchesAreHandedOut() throws {
        var consumer = Consumer(following: "a", "b", maxEntries: nil)
        for stream in ["a", "b"] { #expect(try consumer.turn(stream) == .wait) }
        #expect(consumer.slots.handOut().resumed.isEmpty)
        #expect(consumer.slots.next(maxEntries: 7) == nil)
        let resumed = consumer.slots.handOut().resumed
        #expect(Set(resumed) == Set(consumer.ids.values))
        #expect(consumer.slots.handOut().resumed.isEmpty, "each is resumed once")
        #expect(try consumer.turn("a") == .read(maxEntries: 7))
        try consumer.arrives("a", 1...1, change: 1)
        #expect(try consumer.turn("a") == .wait && consumer.turn("b") == .read(maxEntries: 7))
        let (answer, next) = consumer.slots.handOut()
        #expect(Self.text(answer) == "a1" && next == [consumer.ids["a"]].compactMap(\.self))
        // Reading goes on ahead of the next `next`, by one batch.
        #expect(try consumer.turn("a") == .read(maxEntries: 7))
        try consumer.arrives("a", 2...2, change: 1)
        #expect(consumer.answer() == nil)
    }

    @Test func batchesOfSeveralSlotsAreHandedOutTogetherWithinTheLimit() throws {
        var consumer = Consumer(following: "a", "b", maxEntries: 2)
        var signalled = Self.batch("a", 1...5)
        signalled.signal = .serverChanged
        consumer.slots.arrived([(signalled, 1)], from: try #require(consumer.ids["a"]))
        try consumer.arrives("b", 1...2, change: 2)
        var answers: [String?] = []
        for _ in 0..<4 {
            answers.append(consumer.answer())
            _ = consumer.slots.next(maxEntries: 2)
        }
        #expect(answers == ["!a12 b12", "a34", "a5", nil])
    }

    @Test func batchesFromBeforeAChangeAreDropped() throws {
        var consumer = Consumer(following: "a")
        try consumer.arrives("a", 1...1, change: 0)
        #expect(consumer.answer() == nil)
        try consumer.arrives("a", 2...2, change: 1)
        #expect(consumer.follow("a") == 2)
        #expect(consumer.answer() == nil, "what was ready is read again")
        try consumer.arrives("a", 3...3, change: 1)
        #expect(consumer.answer() == nil)
        try consumer.arrives("a", 4...4, change: 2)
        #expect(consumer.answer() == "a4")
        _ = consumer.slots.next(maxEntries: 1)
        try consumer.arrives("a", 5...5, change: 2)
        #expect(consumer.slots.unfollow("a", slot: 1) != nil)
        #expect(consumer.answer() == nil)
    }

    /// Readers number their changes separately, so the numbers of a slot's former reader mean nothing.
    @Test func aRetiredReaderReadsForNobody() throws {
        var consumer = Consumer(following: "a")
        let retired = try #require(consumer.ids["a"])
        #expect(consumer.slots.unfollow("a", slot: 1) == .retire(retired))
        let followed = consumer.follow("a")
        let change = try #require(followed)
        consumer.slots.arrived([(Self.batch("a", 1...1), change)], from: retired)
        consumer.slots.failed(BrokerError(.rejected), from: retired)
        #expect(consumer.answer() == nil)
        try consumer.arrives("a", 2...2, change: change)
        #expect(consumer.answer() == "a2")
    }

    @Test func aFailureEndsOneNextAndNobodyReadsBefore() throws {
        var consumer = Consumer(following: "a", "b", maxEntries: nil)
        try consumer.arrives("b", 1...1, change: 2)
        consumer.slots.failed(BrokerError(.rejected), from: try #require(consumer.ids["a"]))
        #expect(try consumer.turn("a") == .wait && consumer.answer() == nil)
        #expect(consumer.slots.next(maxEntries: 1) == nil)
        let (answer, resumed) = consumer.slots.handOut()
        #expect(Self.text(answer) == "rejected" && resumed == [consumer.ids["a"]].compactMap(\.self))
        #expect(consumer.slots.next(maxEntries: 1) == nil && consumer.answer() == "b1")
    }

    @Test func aReaderThatCannotBeCreatedFailsOneNextAndIsTriedAgain() {
        var slots = SlotReaders()
        _ = slots.follow("a", slot: 1)
        slots.notCreated("a", Self.start, BrokerError(.unavailable))
        #expect(slots.withoutReader.isEmpty, "the failure is reported first")
        #expect(slots.next(maxEntries: 1) == nil)
        #expect(Self.text(slots.handOut().answer) == "unavailable")
        #expect(slots.withoutReader == ["a": Self.start])
        _ = slots.follow("a", slot: 1)
        #expect(slots.withoutReader.isEmpty)
        slots.notCreated("a", Self.start, BrokerError(.unavailable))
        #expect(slots.unfollow("a", slot: 1) == nil)
        _ = slots.next(maxEntries: 1)
        _ = slots.handOut()
        #expect(slots.withoutReader.isEmpty, "nobody follows it any more")
    }

    @Test func onlyOneNextWaits() throws {
        var consumer = Consumer(following: "a", maxEntries: 0)
        #expect(try consumer.turn("a") == .read(maxEntries: 1))
        #expect(consumer.slots.next(maxEntries: 1)?.code == .concurrentRead)
        consumer.slots.cancelled()
        try consumer.arrives("a", 1...1, change: 1)
        #expect(consumer.answer() == nil)
        #expect(consumer.slots.next(maxEntries: 1) == nil && consumer.answer() == "a1")
    }

    @Test func nothingFollowsTheEnd() throws {
        var consumer = Consumer(following: "a")
        try consumer.arrives("a", 1...1, change: 1)
        consumer.slots.close()
        #expect(try consumer.turn("a") == .end && consumer.answer() == nil)
        #expect(consumer.follow("b") == nil && consumer.slots.next(maxEntries: 1)?.code == .closed)
        try consumer.arrives("a", 2...2, change: 1)
        #expect(consumer.answer() == nil)
    }
}
