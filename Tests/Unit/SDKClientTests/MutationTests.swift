import AuctionsClient
import Foundation
import FreshetClient
import FreshetTesting
import JSON
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct MutationTests {
    private static let bid: AnyValue = ["bid_insert": ["id": "000000000000000000000000000000aa"], "lot_update": nil]

    /// Seed row 5.
    @Test func aMutationReturnsItsTypedKey() async throws {
        let server = ScriptedServer()
        server.answer(PlaceBid.self) { _ in .success(Self.bid) }
        let result = try await server.auctions().placeBid(lotId: lotID(1), category: "Clocks", amount: 7).run()
        #expect(result.data.bid_insert.id.uuidString.hasSuffix("00AA"))
        #expect(server.requests.first?.variables["amount"] == 7)
        #expect(server.requests.first?.idempotencyKey != nil)
    }

    /// SDK specification §4 (8): a lost answer is asked for again with the same key.
    @Test func aLostAnswerIsAskedForAgainWithItsKey() async throws {
        let server = ScriptedServer()
        let calls = Counter()
        server.answer(PlaceBid.self) { _ in
            calls.add()
            return .success(Self.bid)
        }
        server.loseAnswers(2)
        _ = try await server.auctions().placeBid(lotId: lotID(1), category: "Clocks", amount: 7).run()
        #expect(server.requests.count == 3)
        #expect(Set(server.requests.map(\.idempotencyKey)).count == 1)
        #expect(calls.value == 1)
    }

    @Test func aRefusalHasTheServersCodeAndMessage() async throws {
        let server = ScriptedServer()
        server.answer(PlaceBid.self) { _ in
            .failure(ResponseError(message: "The lot is closed.", code: "PERMISSION_DENIED"))
        }
        let error = await #expect(throws: FreshetError.self) {
            try await server.auctions().placeBid(lotId: lotID(1), category: "Clocks", amount: 7).run()
        }
        #expect(error?.serverCode == "PERMISSION_DENIED" && error?.message == "The lot is closed.")
        #expect(server.requests.count == 1)
    }

    @Test func offlineARunFailsAtOnce() async throws {
        let server = ScriptedServer()
        server.goOffline()
        let error = await #expect(throws: FreshetError.self) {
            try await server.auctions().withdrawLot(id: lotID(1)).run()
        }
        #expect(error?.code == .offline)
    }

    @Test func aQueuedMutationIsShownAtOnceAndSentLater() async throws {
        let server = ScriptedServer()
        let time = ManualTime()
        server.setLots([1: 5])
        server.answer(PlaceBid.self) { _ in .success(Self.bid) }
        let auctions = server.auctions(time: time)
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        server.goOffline()
        let queued = try await auctions.placeBid(lotId: lotID(1), category: "Clocks", amount: 7).enqueue { expected in
            expected[LotKey(id: lotID(1))].highestBid = 7
        }
        let shown = try await state(&states) { $0.data?.lots.first?.highestBid == 7 }
        #expect(shown.hasPendingMutations)
        #expect(try await auctions.pendingMutations.map(\.operation) == ["PlaceBid"])
        server.setLots([1: 7])
        server.goOnline()
        try await auctions.networkChanged()
        let result = try await queued.value
        #expect(result.data.lot_update == nil)
        let settled = try await state(&states) { $0.isConfirmed && !$0.hasPendingMutations }
        #expect(settled.data?.lots.first?.highestBid == 7)
    }

    @Test func aRefusedQueuedMutationIsUndone() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5, 2: 6])
        server.answer(WithdrawLot.self) { _ in
            .failure(ResponseError(message: "no", code: "PERMISSION_DENIED"))
        }
        let auctions = server.auctions()
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        try await auctions.stop()
        // Stopped, so that the effect is seen before the answer.
        let observed = auctions.listLots()
        let queued = try await auctions.withdrawLot(id: lotID(1)).enqueue { $0.delete(LotKey(id: lotID(1))) }
        let error = await #expect(throws: FreshetError.self) { try await queued.value }
        #expect(error?.serverCode == "PERMISSION_DENIED")
        let undone = try await observed.get(.cacheOnly)
        #expect(undone.data.lots.count == 2)
    }

    /// The queue survives a restart; order and keys with it.
    @Test func queuedMutationsSurviveARestartAndAreAppliedOnce() async throws {
        try await withFolder { folder in
            let server = ScriptedServer()
            let applied = Counter()
            server.answer(PlaceBid.self) { _ in
                applied.add()
                return .success(Self.bid)
            }
            server.setLots([1: 5])
            let cache = CacheSettings.persistent(directory: folder)
            var keys: [String] = []
            do {
                let auctions = server.auctions(cache: cache)
                _ = try await auctions.listLots().get()
                server.goOffline()
                for amount in [7, 8, 9] {
                    let bid = auctions.placeBid(lotId: lotID(1), category: "Clocks", amount: amount)
                    keys.append(
                        try await bid.enqueue { $0[LotKey(id: lotID(1))].highestBid = amount }.id)
                }
            }
            let auctions = server.auctions(cache: cache)
            // What they are expected to change is shown again.
            let shown = try await auctions.listLots().get(.cacheOnly)
            #expect(shown.data.lots.first?.highestBid == 9)
            #expect(try await auctions.pendingMutations.map(\.id) == keys)
            var events = try await auctions.queueEvents.makeAsyncIterator()
            server.goOnline()
            // The first answer is lost.
            server.loseAnswers(1)
            try await auctions.start()
            for key in keys { #expect(await events.next()?.id == key) }
            #expect(applied.value == 3)
            let bids = server.requests.filter { $0.operation == "PlaceBid" && $0.idempotencyKey != nil }
            #expect(bids.compactMap { $0.variables["amount"]?.intValue } == [7, 7, 8, 9])
            #expect(try await auctions.pendingMutations == [])
        }
    }

    /// Edits start from what results show, the edits of other queued mutations included.
    @Test func anEditReadsWhatIsShown() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5, 2: nil])
        let auctions = server.auctions()
        let lots = auctions.listLots()
        _ = try await lots.get()
        server.goOffline()
        let (first, second, unknown) = (LotKey(id: lotID(1)), LotKey(id: lotID(2)), LotKey(id: lotID(3)))
        for _ in 1...2 {
            _ = try await auctions.placeBid(lotId: first.id, category: "Clocks", amount: 7).enqueue { expected in
                for key in [first, second, unknown] { expected[key].highestBid? += 1 }
            }
        }
        #expect(try await lots.get(.cacheOnly).data.lots.map(\.highestBid) == [7, nil])
    }

    /// Nil is null where a field may be null, and otherwise takes back what was set.
    @Test func anEditIsTakenBackByNil() {
        var expected = OptimisticEdits { _ in ["title": "A clock", "description": "Old", "category": ["no text"]] }
        let key = LotKey(id: lotID(1))
        #expect(expected[key].title == "A clock" && expected[key].highestBid == nil)
        #expect(expected[key].category == nil)
        expected[key].title = "A watch"
        expected[key].description = nil
        #expect(expected[key].title == "A watch" && expected[key].description == nil)
        expected[key].title = nil
        #expect(expected[key].title == "A clock")
        #expect(expected.changes.map(\.fields) == [["description": nil]])
        expected.delete(key)
        // Nothing is known to be counted up, so the row stays deleted.
        expected[key].highestBid? += 1
        #expect(expected.changes.map(\.fields) == [nil])
        expected[key].title = "A clock"
        expected[key].title = nil
        #expect(expected.changes.isEmpty)
    }

    @Test func aFullQueueRefuses() async throws {
        let server = ScriptedServer()
        server.goOffline()
        var options = ConnectorOptions()
        options.queuedMutationsMax = 1
        let auctions = server.auctions(options: options)
        _ = try await auctions.withdrawLot(id: lotID(1)).enqueue()
        let error = await #expect(throws: FreshetError.self) {
            try await auctions.withdrawLot(id: lotID(2)).enqueue()
        }
        #expect(error?.code == .queueFull)
    }
}

/// Counts calls from any thread.
final class Counter: @unchecked Sendable {
    // Every access to `count` holds `lock`.
    private let lock = NSLock()
    private var count = 0

    func add() { lock.withLock { count += 1 } }
    var value: Int { lock.withLock { count } }
}
