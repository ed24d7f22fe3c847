import AuctionsClient
import Foundation
import FreshetClient
import FreshetTesting
import FreshetTransport
import JSON
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct MutationTests {
    static let bid: AnyValue = ["bid_insert": ["id": "000000000000000000000000000000aa"], "lot_update": nil]

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

    /// An answer that came too late is asked for with the same key, at most `retriesMax` times.
    @Test func aTimeoutIsTriedAgainWithItsKey() async throws {
        let server = ScriptedServer()
        server.answer(PlaceBid.self) { _ in .success(Self.bid) }
        let late = Result<TransportResponse, TransportFailure>.failure(TransportFailure(.timeout, "late"))
        server.respondNext(with: [late, late])
        var options = ConnectorOptions()
        options.retriesMax = 2
        let auctions = server.auctions(options: options)
        let bid = auctions.placeBid(lotId: lotID(1), category: "Clocks", amount: 7)
        _ = try await bid.run()
        #expect(server.requests.count == 3 && Set(server.requests.map(\.idempotencyKey)).count == 1)
        server.respondNext(with: [late, late, late])
        let error = await #expect(throws: FreshetError.self) { try await bid.run() }
        #expect(error?.code == .timeout && server.requests.count == 6)
        // Queries can be asked again by the app, without any risk.
        server.respondNext(with: [late])
        let query = await #expect(throws: FreshetError.self) { try await auctions.listLots().get() }
        #expect(query?.code == .timeout && server.requests.count == 7)
    }

    /// The app can try again itself: the error has the key, and the app may make one before.
    @Test func theAppRunsAMutationAgainUnderItsKey() async throws {
        let server = ScriptedServer()
        let calls = Counter()
        server.answer(PlaceBid.self) { _ in
            calls.add()
            return .success(Self.bid)
        }
        var options = ConnectorOptions()
        options.retriesMax = 0
        let bid = server.auctions(options: options).placeBid(lotId: lotID(1), category: "Clocks", amount: 7)
        server.loseAnswers(2)
        let error = try #require(await #expect(throws: FreshetError.self) { try await bid.run() })
        let key = try #require(error.idempotencyKey)
        let stored = try #require(IdempotencyKey(key.description))
        let again = await #expect(throws: FreshetError.self) { try await bid.run(key: stored) }
        #expect(again?.idempotencyKey == key)
        _ = try await bid.run(key: stored)
        #expect(calls.value == 1)
        #expect(server.requests.map(\.idempotencyKey) == Array(repeating: key.description, count: 3))
    }

    static func refusal(
        _ status: Int, _ code: String, of field: String = "bid_insert"
    ) -> Result<TransportResponse, TransportFailure> {
        let body = #"{"data":{"\#(field)":null},"errors":[{"message":"m","extensions":{"code":"\#(code)"}}]}"#
        return .success(TransportResponse(status: status, headers: [:], body: Array(body.utf8)))
    }

    /// The server answers a mutation of which nothing was committed with `data`, errors, and the error's status.
    @Test func aMutationThatWasRolledBackIsRefused() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5, 2: 6])
        server.answer(WithdrawLot.self) { _ in .success(["lot_delete": nil]) }
        let auctions = server.auctions()
        _ = try await auctions.listLots().get()
        let withdrawal = auctions.withdrawLot(id: lotID(1))
        server.respondNext(with: [Self.refusal(409, "CONSTRAINT_VIOLATION", of: "lot_delete")])
        let error = await #expect(throws: FreshetError.self) { try await withdrawal.run() }
        #expect(error?.code == .refused && error?.serverCode == "CONSTRAINT_VIOLATION")
        server.respondNext(with: [Self.refusal(409, "CONSTRAINT_VIOLATION", of: "lot_delete")])
        let queued = try await withdrawal.enqueue { $0.delete(LotKey(id: lotID(1))) }
        let other = await #expect(throws: FreshetError.self) { try await queued.value }
        #expect(other?.serverCode == "CONSTRAINT_VIOLATION")
        #expect(try await auctions.listLots().get(.cacheOnly).data.lots.count == 2)
        // A statement that took too long is tried again.
        server.respondNext(with: [Self.refusal(504, "TIMEOUT", of: "lot_delete")])
        let requests = server.requests.count
        _ = try await withdrawal.run()
        #expect(server.requests.count == requests + 2)
    }

    /// docs/reference/idempotency.md: codes of the key itself.
    @Test func answersAboutTheKeyAreUnderstood() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        server.answer(PlaceBid.self) { _ in .success(Self.bid) }
        let auctions = server.auctions()
        let bid = auctions.placeBid(lotId: lotID(1), category: "Clocks", amount: 7)
        server.respondNext(with: [Self.refusal(409, "IDEMPOTENCY_KEY_IN_USE"), Self.refusal(503, "OUTCOME_UNKNOWN")])
        _ = try await bid.run()
        #expect(server.requests.count == 3 && Set(server.requests.map(\.idempotencyKey)).count == 1)
        server.respondNext(with: [Self.refusal(409, "ALREADY_APPLIED")])
        let error = await #expect(throws: FreshetError.self) { try await bid.run() }
        #expect(error?.code == .alreadyApplied && server.requests.count == 4)
        // In the queue it is a success without data, and what it changed stays.
        _ = try await auctions.listLots().get()
        server.respondNext(with: [Self.refusal(409, "ALREADY_APPLIED")])
        var events = try await auctions.queueEvents.makeAsyncIterator()
        let queued = try await bid.enqueue { $0[LotKey(id: lotID(1))].highestBid = 7 }
        let event = try #require(await events.next())
        #expect(try event.outcome.get() == MutationData(data: .null, errors: []))
        let other = await #expect(throws: FreshetError.self) { try await queued.value }
        #expect(other?.code == .alreadyApplied)
        #expect(try await auctions.listLots().get(.cacheOnly).data.lots.first?.highestBid == 7)
    }

    /// The page of a proxy, or of a network that wants a login, is no answer of the server.
    @Test(arguments: [
        (200, "<html>Log in</html>"), (302, ""), (403, "<html>Blocked</html>"), (404, #"{"message":"no route"}"#),
        (407, ""), (502, "<html>Bad gateway</html>"), (502, #"{"errors":[{"message":"no upstream"}]}"#),
        (408, #"{"errors":[{"message":"slow","extensions":{"code":"BAD_REQUEST"}}]}"#),
    ])
    func aPageInBetweenRefusesNothing(status: Int, page: String) async throws {
        let server = ScriptedServer()
        server.answer(PlaceBid.self) { _ in .success(Self.bid) }
        var options = ConnectorOptions()
        options.retriesMax = 0
        let auctions = server.auctions(options: options)
        let bid = auctions.placeBid(lotId: lotID(1), category: "Clocks", amount: 7)
        let response = TransportResponse(status: status, headers: [:], body: Array(page.utf8))
        server.respondNext(with: [.success(response)])
        let error = await #expect(throws: FreshetError.self) { try await bid.run() }
        #expect(error?.code == .unavailable)
        server.respondNext(with: [.success(response)])
        let queued = try await bid.enqueue()
        _ = try await queued.value
        #expect(server.requests.count == 3)
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
        server.holdAnswers()
        let queued = try await auctions.withdrawLot(id: lotID(1)).enqueue { $0.delete(LotKey(id: lotID(1))) }
        let hidden = try await state(&states) { $0.hasPendingMutations }
        #expect(hidden.data?.lots.map(\.id) == [lotID(2)])
        server.releaseAnswers()
        let error = await #expect(throws: FreshetError.self) { try await queued.value }
        #expect(error?.serverCode == "PERMISSION_DENIED")
        let undone = try await state(&states) { !$0.hasPendingMutations }
        #expect(undone.data?.lots.map(\.id) == [lotID(1), lotID(2)])
    }

    /// `clear` empties the cache, not the queue, and what waits is still shown.
    @Test func clearKeepsWhatWaitingMutationsChange() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        server.answer(PlaceBid.self) { _ in .success(Self.bid) }
        let auctions = server.auctions()
        _ = try await auctions.listLots().get()
        server.holdAnswers()
        let bid = auctions.placeBid(lotId: lotID(1), category: "Clocks", amount: 7)
        let queued = try await bid.enqueue { $0[LotKey(id: lotID(1))].highestBid = 7 }
        try await auctions.clear()
        #expect(try await auctions.pendingMutations.map(\.id) == [queued.id])
        var states = auctions.listLots().live().makeAsyncIterator()
        let shown = try await state(&states) { $0.isConfirmed }
        #expect(shown.hasPendingMutations && shown.data?.lots.first?.highestBid == 7)
        server.releaseAnswers()
        _ = try await queued.value
    }

    /// Only the last outcomes are kept; asking for another one is an error, not a wait.
    @Test func anOutcomeThatIsNoLongerKeptIsAnError() async throws {
        let server = ScriptedServer()
        server.answer(WithdrawLot.self) { _ in .success(["lot_delete": nil]) }
        let auctions = server.auctions()
        let first = try await auctions.withdrawLot(id: lotID(1)).enqueue()
        _ = try await first.value
        _ = try await first.value
        var last = first
        for number in 0..<256 {
            last = try await auctions.withdrawLot(id: lotID(1)).enqueue(group: "\(number)")
        }
        for _ in 0..<2 { _ = try await last.value }
        try await waitUntil("an empty queue") { try await auctions.pendingMutations.isEmpty }
        let error = await #expect(throws: FreshetError.self) { try await first.value }
        #expect(error?.code == .outcomeUnknown)
    }

    /// The network is back: a mutation does not wait for the end of its delay.
    @Test func aChangeOfTheNetworkWakesTheQueue() async throws {
        let server = ScriptedServer()
        server.answer(PlaceBid.self) { _ in .success(Self.bid) }
        server.goOffline()
        // Its clock stands still, so no delay ends.
        let auctions = server.auctions(time: ManualTime())
        let queued = try await auctions.placeBid(lotId: lotID(1), category: "Clocks", amount: 7).enqueue()
        try await waitUntil("a delay") { await (try auctions.link.engine()).queueRetryAtMs != nil }
        server.goOnline()
        try await auctions.networkChanged()
        _ = try await queued.value
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
