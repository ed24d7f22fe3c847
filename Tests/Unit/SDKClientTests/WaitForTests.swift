import AuctionsClient
import Foundation
import FreshetClient
import FreshetTesting
import TestSupport
import Testing

/// `wait(for:)` of a connector.
@Suite(.timeLimit(.minutes(1)))
struct WaitForTests {
    private static func served() -> ScriptedServer {
        let server = ScriptedServer()
        server.setLots([1: 50])
        server.answer(PlaceBid.self) { _ in
            server.setLots([1: 100])
            return .success(["bid_insert": ["id": AnyValue(lotID(9))], "lot_update": nil])
        }
        return server
    }

    private func bid(_ auctions: AuctionsConnector) -> Mutation<PlaceBid> {
        auctions.placeBid(lotId: lotID(1), category: "Clocks", amount: 100)
    }

    @Test func theLoopHasTheResultWhenTheWaitReturns() async throws {
        let server = Self.served()
        let auctions = server.auctions()
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        let result = try await bid(auctions).run()
        try await auctions.wait(for: result.position)
        let next = try await states.next()
        #expect(next?.data?.lots.first?.highestBid == 100, "not a state of before")
        try await auctions.wait(for: nil)
        #expect(server.waits == [result.position, nil])
    }

    @Test func aRetryAndTheQueueHaveThePosition() async throws {
        let server = Self.served()
        let auctions = server.auctions()
        server.loseAnswers(1)
        let run = try await bid(auctions).run()
        let queued = try await bid(auctions).enqueue().value
        #expect(run.position != nil && queued.position != nil && run.position != queued.position)
        #expect(server.requests.count == 3)
        // Nothing is followed, so nobody is asked.
        try await auctions.wait(for: run.position)
        #expect(server.waits == [] && server.connections == 0)
    }

    @Test func theServersErrorIsThrown() async throws {
        let server = Self.served()
        let auctions = server.auctions()
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        server.failWaits(ResponseError(message: "late", code: "TIMEOUT"))
        let error = await #expect(throws: FreshetError.self) { try await auctions.wait(for: nil) }
        #expect(error?.code == .timeout && error?.serverCode == "TIMEOUT")
        server.failWaits(nil)
        try await auctions.wait(for: nil)
        withExtendedLifetime(states) {}
    }

    @Test func aCancelledWaitEnds() async throws {
        let server = Self.served()
        let auctions = server.auctions()
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        server.goOffline()
        _ = try await state(&states) { !$0.isConfirmed }
        let wait = Task { try await auctions.wait(for: nil) }
        let engine = try auctions.link.engine()
        while await engine.waiterCount == 0 { await Task.yield() }
        wait.cancel()
        let error = await #expect(throws: FreshetError.self) { try await wait.value }
        #expect(error?.code == .closed)
        #expect(await engine.waiterCount == 0)
    }

    @Test func aWaitGoesThroughALostLink() async throws {
        let server = Self.served()
        let auctions = server.auctions()
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        server.goOffline()
        _ = try await state(&states) { !$0.isConfirmed }
        let wait = Task { try await auctions.wait(for: nil) }
        let engine = try auctions.link.engine()
        while await engine.waiterCount == 0 { await Task.yield() }
        server.setLots([1: 70])
        server.goOnline()
        try await auctions.networkChanged()
        try await wait.value
        #expect(try await states.next()?.data?.lots.first?.highestBid == 70)
    }
}
