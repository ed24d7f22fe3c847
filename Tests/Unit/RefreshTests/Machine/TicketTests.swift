import LiveModel
import Refresh
import Testing

/// A ticket goes back to its gateway when no live query owes a result that an event before it changed.
@Suite struct TicketTests {
    private static func ticket(_ number: UInt64, of gateway: String = "g") -> MutationEvent {
        MutationEvent(WaitTicket(gateway: NodeID(gateway), number: number), appendedAtMs: 5)
    }

    private static func bench() throws -> Bench {
        var bench = try Bench.settled(RefreshFixture.rules([RefreshFixture.trigger(nil)]))
        bench.machine.gatewaysListed([NodeID("g"), NodeID("h")])
        return bench
    }

    private func passed(_ bench: inout Bench) -> [String] {
        Asked(bench.machine.markersDue(nowMs: bench.nowMs)).summary
    }

    @Test func aTicketGoesBackToItsGatewayOnly() throws {
        var bench = try Self.bench()
        _ = bench.announce(from: "h")
        _ = bench.event(Self.ticket(7))
        #expect(passed(&bench) == ["g:ticket 7"])
        #expect(passed(&bench) == [])
    }

    @Test func aTicketDoesNotOvertakeAResult() throws {
        var bench = try Self.bench()
        let caused = bench.event()
        _ = bench.event(Self.ticket(7))
        #expect(passed(&bench) == [])
        let finished = bench.finish(caused.runs[0], RefreshFixture.result(2))
        #expect(finished.summary.count == 1)
        #expect(passed(&bench) == ["g:ticket 7"])
    }

    /// No ticket may be lost: what finds no room waits for a little more.
    @Test func ticketsBeyondTheBoundJoinTheLastOnes() throws {
        var bench = try Self.bench()
        let caused = bench.event()
        for number in 1...40 { _ = bench.event(Self.ticket(UInt64(number), of: number % 2 == 0 ? "g" : "h")) }
        _ = bench.announce(from: "h")
        let second = bench.event()
        _ = bench.event(Self.ticket(41))
        #expect(second.runs.isEmpty, "it is dirty")
        _ = bench.finish(caused.runs[0], RefreshFixture.result(2))
        let early = passed(&bench)
        #expect(early.contains("g:ticket 14") && !early.contains("g:ticket 41") && !early.contains("h:ticket 39"))
        for batch in bench.advance(1_000).runs { _ = bench.finish(batch, RefreshFixture.result(3)) }
        #expect(passed(&bench) == ["g:ticket 41", "h:ticket 39"])
    }

    /// A gateway that this worker may have forgotten is asked for its interest when it is listed again.
    @Test func aGatewayThatIsNotListedGetsNoTicket() throws {
        var bench = try Self.bench()
        bench.machine.gatewaysListed([NodeID("h")])
        _ = bench.event(Self.ticket(7))
        #expect(passed(&bench) == [])
        bench.machine.gatewaysListed([NodeID("g")])
        _ = bench.event(Self.ticket(8))
        #expect(passed(&bench) == ["g:ticket 8"])
        _ = bench.event(Self.ticket(9, of: "h"))
        #expect(passed(&bench) == [], "nor does one without interest")
    }

    @Test func aTicketIsNoMarkerAndConcernsNothing() throws {
        var bench = try Self.bench()
        let event = Self.ticket(7)
        #expect(event.isMarker && event.markerDueMs == nil)
        #expect(try MutationEvent(encoded: event.encoded).ticket == WaitTicket(gateway: NodeID("g"), number: 7))
        #expect(bench.event(event).runs.isEmpty)
        #expect(MutationEvent(markerDueAtMs: 10_000, id: "m", committedAtMs: 1).ticket == nil)
    }
}
