import LiveModel
import Sessions
import Testing

@testable import PublicAPI

@Suite struct PollRulesTests {
    @Test func sessionsBeginWithStreamsAndWithPollsWithoutATag() {
        let cases: [(isStream: Bool, isPoll: Bool, hasTag: Bool, counts: Bool)] = [
            (true, false, false, true), (true, true, true, true), (false, true, false, true),
            (false, true, true, false), (false, false, false, false), (false, false, true, false),
        ]
        for one in cases {
            let counts = PollRules.countsAsSession(isStream: one.isStream, isPoll: one.isPoll, hasTag: one.hasTag)
            #expect(counts == one.counts, "\(one)")
        }
    }

    @Test func theWaitEndsWithTheToken() {
        let cases: [(requestedMs: Int64, expiresAtMs: Int64?, waitMs: Int64)] = [
            (30_000, nil, 30_000), (30_000, 50_000, 30_000), (30_000, 10_500, 500), (30_000, 10_000, 0),
            (30_000, 9_000, 0),
        ]
        for one in cases {
            let waitMs = PollRules.waitMs(
                requestedMs: one.requestedMs, expiresAtMs: one.expiresAtMs, nowMs: 10_000)
            #expect(waitMs == one.waitMs, "\(one)")
        }
    }

    @Test func theFinalReadTakesAsLongAsTheWaitWithinBounds() {
        for (requestedMs, readMs) in [(0, 1_000), (999, 1_000), (3_000, 3_000), (60_000, 5_000)] as [(Int64, Int64)] {
            #expect(PollRules.finalReadMs(requestedMs: requestedMs) == readMs)
        }
    }

    @Test func authorizationThatChangedDuringTheWaitIsRefused() {
        let denied = RequestError(.permissionDenied, "no")
        let cases: [(refusal: RequestError?, isResult: Bool, isExpired: Bool, expected: RequestError?)] = [
            (nil, true, false, nil), (nil, false, false, nil), (nil, true, true, .tokenExpired),
            (nil, false, true, nil),
            (denied, true, true, denied), (denied, false, false, denied),
        ]
        for one in cases {
            let refusal = PollRules.refusal(one.refusal, isResult: one.isResult, isExpired: one.isExpired)
            #expect(refusal == one.expected, "\(one)")
        }
    }

    @Test func aReadWithTheSameResultKeepsThePosition() {
        let (same, other) = (Digest(of: [1]), Digest(of: [2]))
        let known = KnownResult(digest: same, position: Position(epoch: 1, run: 2, id: StreamID(ms: 3, sequence: 4)))
        #expect(PollRules.read(same, known: known) == known)
        #expect(PollRules.read(other, known: known) == KnownResult(digest: other, position: nil))
        #expect(PollRules.read(same, known: nil) == KnownResult(digest: same, position: nil))
    }
}
