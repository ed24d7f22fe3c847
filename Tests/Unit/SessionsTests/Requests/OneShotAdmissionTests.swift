import LiveModel
import Sessions
import TestSupport
import Testing

@Suite struct OneShotAdmissionTests {
    private typealias Admission = OneShotAdmission<Int, String>

    private static let full = RequestError(.limitExceeded, "the quota is exhausted")
    private static let expired = RequestError(.unauthenticated, "the token has expired")

    private func admission(runningMax: Int = 2, waitingMax: Int = 2) -> Admission {
        Admission(runningMax: runningMax, waitingMax: waitingMax, waitingBytesMax: 1_000)
    }

    /// Whether a new operation waits; nil if it is refused.
    private func arrived(_ admission: inout Admission, _ id: String) -> Bool? {
        var waits: Bool?
        let refusal = failure { () throws(RequestError) in waits = try admission.arrived(id, 0, bytes: 1) }
        #expect((refusal == nil) == (waits != nil) && (refusal == nil || refusal?.code == .limitExceeded))
        return waits
    }

    private func quotaRefused(_ admission: inout Admission, _ refusal: RequestError, _ id: String) -> RequestError? {
        failure { () throws(RequestError) in try admission.quotaRefused(refusal, id, 0, bytes: 1) }
    }

    private func turn(
        _ admission: inout Admission, refusal: RequestError? = nil, quotaRefusal: RequestError? = nil
    ) -> Admission.Turn {
        admission.turn(refusal: refusal, quotaRefusal: quotaRefusal)
    }

    @Test func operationsBeyondTheMaximumWaitAndFurtherOnesAreRefused() {
        var admission = admission()
        var runs: [OneShotOperations<String>.Run] = []
        for id in ["1", "2"] {
            #expect(arrived(&admission, id) == false)
            runs.append(admission.running.begin(id))
        }
        #expect([arrived(&admission, "3"), arrived(&admission, "4"), arrived(&admission, "5")] == [true, true, nil])
        #expect(admission.next == nil)
        _ = admission.running.finished(runs[0])
        #expect(admission.next?.id == "3")
        // Nothing overtakes what waits.
        #expect(turn(&admission) == .runs)
        runs.append(admission.running.begin("3"))
        _ = admission.running.finished(runs[1])
        #expect(arrived(&admission, "6") == true && admission.next?.id == "4")
    }

    @Test func exhaustedQuotaLetsAnOperationWaitForThoseOfItsSession() {
        var admission = admission()
        #expect(quotaRefused(&admission, Self.full, "1") == Self.full, "nothing of the session runs")
        _ = admission.running.begin("1")
        #expect(quotaRefused(&admission, Self.full, "2") == nil)
        #expect(admission.next?.id == "2")
        let other = RequestError(.unavailable, "the node is full")
        #expect(quotaRefused(&admission, other, "3") == other)
        #expect(quotaRefused(&admission, Self.full, "3") == nil)
        #expect(quotaRefused(&admission, Self.full, "4") == Self.full, "no more may wait")
    }

    @Test func turnIsRepeatedWhileOthersUseUpTheQuota() {
        var admission = admission()
        let run = admission.running.begin("1")
        #expect(quotaRefused(&admission, Self.full, "2") == nil)
        #expect(turn(&admission, quotaRefusal: Self.full) == .waits)
        #expect(admission.next?.id == "2")
        _ = admission.running.finished(run)
        #expect(turn(&admission, quotaRefusal: Self.full) == .fails(Self.full), "nothing runs any more")
        #expect(admission.next == nil)
    }

    @Test func turnOfAnOperationThatMayNoLongerRunFails() {
        var admission = admission()
        _ = admission.running.begin("1")
        #expect(quotaRefused(&admission, Self.full, "2") == nil)
        #expect(turn(&admission, refusal: Self.expired) == .fails(Self.expired))
        #expect(admission.next == nil)
    }

    @Test func operationThatIsGivenUpNeitherWaitsNorIsAwaited() {
        var admission = admission()
        let run = admission.running.begin("1")
        admission.running.attach("work", to: run)
        #expect(quotaRefused(&admission, Self.full, "2") == nil)
        admission.giveUp("2")
        #expect(admission.next == nil)
        #expect(quotaRefused(&admission, Self.full, "3") == nil)
        let work = admission.giveUpAll()
        let isAwaited = admission.running.finished(run)
        #expect(work == ["work"] && admission.next == nil && !isAwaited)
    }
}
