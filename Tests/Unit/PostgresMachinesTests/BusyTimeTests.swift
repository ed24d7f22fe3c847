import Testing

@testable import Postgres

/// Times are microseconds; the round trip takes 15 ms.
@Suite struct BusyTimeTests {
    private static let roundTripUs = 15_000

    private func busyUs(_ time: inout BusyTime, syncs: Int, atUs: Int) -> Int? {
        time.answered(syncs: syncs, atUs: atUs, roundTripUs: Self.roundTripUs)?.busyUs
    }

    @Test func theFirstAnswerIncludesTheNetwork() {
        var time = BusyTime()
        time.sent(atUs: 1_000)
        #expect(busyUs(&time, syncs: 1, atUs: 16_200) == 200)
    }

    /// Groups that are under way together cost one round trip together; in between the server is busy all the time.
    @Test func answersOfAFullPipelineFollowEachOther() {
        var time = BusyTime()
        for sentUs in [0, 100, 200, 300] { time.sent(atUs: sentUs) }
        #expect(busyUs(&time, syncs: 1, atUs: 19_000) == 4_000)
        time.sent(atUs: 19_000)
        #expect(busyUs(&time, syncs: 1, atUs: 23_000) == 4_000)
        #expect(busyUs(&time, syncs: 1, atUs: 27_000) == 4_000)
        #expect(busyUs(&time, syncs: 1, atUs: 31_000) == 4_000)
        // The server has waited for this one: it arrived 3 ms after the one before was done.
        #expect(busyUs(&time, syncs: 1, atUs: 38_000) == 4_000)
    }

    /// A group's statements may be answered in several reads; the sync comes last.
    @Test func aGroupIsAnsweredInParts() {
        var time = BusyTime()
        time.sent(atUs: 0)
        #expect(busyUs(&time, syncs: 0, atUs: 17_000) == 2_000)
        #expect(busyUs(&time, syncs: 1, atUs: 18_000) == 1_000)
    }

    @Test func theOldestGroupBoundsTheRoundTrip() {
        var time = BusyTime()
        time.sent(atUs: 1_000)
        time.sent(atUs: 2_000)
        #expect(time.answered(syncs: 2, atUs: 9_000, roundTripUs: 15_000)?.underWayUs == 8_000)
        // It was overestimated: nothing takes less than no time.
        time.sent(atUs: 10_000)
        #expect(busyUs(&time, syncs: 1, atUs: 18_000) == 0)
    }

    @Test func answersToNothingThatWasSentSayNothing() {
        var time = BusyTime()
        #expect(busyUs(&time, syncs: 1, atUs: 5_000) == nil)
        time.sent(atUs: 6_000)
        time.connectionLost()
        #expect(busyUs(&time, syncs: 1, atUs: 50_000) == nil)
    }
}
