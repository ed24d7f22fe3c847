import AuctionsClient
import FreshetClient
import FreshetTesting
import FreshetTransport
import TestSupport
import Testing

/// `isSynced` and `hasPendingMutations` between the answer to a queued mutation and the result that shows it.
@Suite(.timeLimit(.minutes(1)))
struct SyncedTests {
    private static func served() -> ScriptedServer {
        let server = ScriptedServer()
        server.setLots([1: 50])
        server.answer(PlaceBid.self) { _ in .success(MutationTests.bid) }
        return server
    }

    private func bid(_ auctions: AuctionsConnector) -> Mutation<PlaceBid> {
        auctions.placeBid(lotId: lotID(1), category: "Clocks", amount: 100)
    }

    /// The price after each state that was confirmed and had nothing pending.
    private func synced(_ auctions: AuctionsConnector) async throws -> (Recorder<Int?>, Task<Void, any Error>) {
        let prices = Recorder<Int?>()
        let task = Task {
            for try await snapshot in auctions.observeQuery(auctions.listLots(), \.lots) where snapshot.isSynced {
                prices.add(snapshot.items.first?.highestBid)
            }
        }
        try await waitUntil("the list") { prices.values == [50] }
        return (prices, task)
    }

    /// Seed row 29: `isSynced` is never said of items that lack what the server has applied.
    @Test func anAppliedMutationIsPendingUntilTheResultsShowIt() async throws {
        let server = Self.served()
        let auctions = server.auctions()
        let (prices, following) = try await synced(auctions)
        defer { following.cancel() }
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        server.holdWaits()
        let position = try await bid(auctions).enqueue().value.position
        #expect(position != nil)
        try await waitUntil("the wait") { server.waits == [position] }
        let answered = try await state(&states) { $0.hasPendingMutations }
        #expect(answered.data?.lots.first?.highestBid == 50 && answered.isConfirmed)
        #expect(try await auctions.pendingMutations.isEmpty)
        server.setLots([1: 100])
        let shown = try await state(&states) { $0.data?.lots.first?.highestBid == 100 }
        #expect(shown.hasPendingMutations, "other queries may not show it yet")
        server.releaseWaits()
        _ = try await state(&states) { !$0.hasPendingMutations }
        try await waitUntil("a synced snapshot") { prices.values.count > 1 }
        #expect(prices.values == [50, 100])
    }

    /// A wait that fails ends it, too: there is nothing more to wait for.
    @Test func afterAFailedWaitNothingIsPending() async throws {
        let server = Self.served()
        let time = ManualTime()
        let auctions = server.auctions(time: time)
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        server.failWaits(ResponseError(message: "late", code: "TIMEOUT"))
        _ = try await bid(auctions).enqueue().value
        _ = try await state(&states) { !$0.hasPendingMutations }
        #expect(server.waits.count == 1)
        // The server does not answer the wait at all.
        server.failWaits(nil)
        server.holdWaits()
        _ = try await bid(auctions).enqueue().value
        _ = try await state(&states) { $0.hasPendingMutations }
        try await waitUntil("the wait") { server.waits.count == 2 }
        time.advance(15_000)
        _ = try await state(&states) { !$0.hasPendingMutations }
    }

    /// The server is not asked about a mutation without a position, nor without a live query.
    @Test func withoutAPositionOrALiveQueryNothingIsAsked() async throws {
        let server = Self.served()
        let auctions = server.auctions()
        let queued = try await bid(auctions).enqueue().value
        #expect(queued.position != nil)
        let engine = try auctions.link.engine()
        try await waitUntil("nothing to be pending") { await engine.heldCounts["mutations"] == 0 }
        #expect(server.waits == [] && server.connections == 0)
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        server.respondNext(with: [
            .success(TransportResponse(status: 200, headers: [:], body: Array(Self.bare.utf8)))
        ])
        #expect(try await bid(auctions).enqueue().value.position == nil)
        try await waitUntil("nothing to be pending") { await engine.heldCounts["mutations"] == 0 }
        #expect(server.waits == [])
        withExtendedLifetime(states) {}
    }

    /// The server does not send a result that is as it was: what was expected is undone, and not synced until then.
    @Test(arguments: [true, false])
    func changesThatTheServerDidNotAdoptAreUndone(hasPosition: Bool) async throws {
        let server = Self.served()
        let auctions = server.auctions()
        let (prices, following) = try await synced(auctions)
        defer { following.cancel() }
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        if !hasPosition {
            server.respondNext(with: [
                .success(TransportResponse(status: 200, headers: [:], body: Array(Self.bare.utf8)))
            ])
        }
        let queued = try await bid(auctions).enqueue { $0[LotKey(id: lotID(1))].highestBid = 100 }
        _ = try await queued.value
        let undone = try await state(&states) { $0.data?.lots.first?.highestBid == 50 && !$0.hasPendingMutations }
        #expect(undone.isConfirmed)
        try await waitUntil("a synced snapshot") { prices.values.count > 1 }
        #expect(prices.values == [50, 50])
        #expect(server.waits.count == (hasPosition ? 1 : 0))
    }

    /// The server did not keep the answer, and so no position.
    @Test func anEarlierAttemptIsWaitedFor() async throws {
        let server = Self.served()
        let auctions = server.auctions()
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        server.holdWaits()
        server.respondNext(with: [MutationTests.refusal(409, "ALREADY_APPLIED")])
        _ = try await bid(auctions).enqueue()
        try await waitUntil("the wait") { server.waits == [nil] }
        _ = try await state(&states) { $0.hasPendingMutations }
        #expect(try await auctions.pendingMutations.isEmpty)
        server.releaseWaits()
        _ = try await state(&states) { !$0.hasPendingMutations }
    }

    /// Subscribers that come after a stop see what is not confirmed, too.
    @Test func aNewSubscriberLearnsOfTheStop() async throws {
        let server = Self.served()
        let auctions = server.auctions()
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        try await auctions.stop()
        var others = auctions.listLots().live().makeAsyncIterator()
        let first = try await others.next()
        #expect(first?.isConfirmed == false && first?.data?.lots.count == 1)
        withExtendedLifetime(states) {}
    }

    private static let bare = #"{"data":{"bid_insert":{"id":"000000000000000000000000000000aa"},"lot_update":null}}"#

    /// Neither `stop` nor `clear` nor another user leaves a wait behind, and the next synced snapshot is the server's.
    @Test(arguments: ["stop", "clear", "another user"])
    func waitsAreForgotten(how: String) async throws {
        let server = Self.served()
        let user = TestUser("ada")
        let auctions = server.auctions(auth: user.auth)
        let engine = try auctions.link.engine()
        let (prices, following) = try await synced(auctions)
        defer { following.cancel() }
        server.holdWaits()
        _ = try await bid(auctions).enqueue().value
        try await waitUntil("the wait") { server.waits.count == 1 }
        #expect(await engine.heldCounts["waits"] == 1)
        switch how {
        case "stop": try await auctions.stop()
        case "clear": try await auctions.clear()
        default:
            user.become("ben")
            try await auctions.authChanged()
        }
        #expect(await engine.heldCounts["waits"] == 0)
        #expect(await engine.heldCounts["mutations"] == 0)
        #expect(prices.values == [50])
        guard how != "another user" else { return }
        server.setLots([1: 100])
        try await auctions.start()
        try await waitUntil("the next synced snapshot") { prices.values.count > 1 }
        #expect(prices.values == [50, 100])
    }
}
