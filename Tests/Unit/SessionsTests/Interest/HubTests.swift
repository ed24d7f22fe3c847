import LiveModel
import Sessions
import Testing

@Suite struct HubTests {
    private let query = SessionFixture.query()

    private static func machine() -> InterestMachine {
        InterestMachine(gateway: NodeID("g"), settings: .init())
    }

    private func subscribe(
        _ hub: inout Hub, _ machine: inout InterestMachine
    ) throws -> (handle: Hub.Handle, immediate: Hub.Update?) {
        let start = try machine.subscribed(hub: 0, query, known: nil, reportsTimerRuns: false, nowMs: 0)
        return hub.subscribed(query.key, known: nil, reportsTimerRuns: false, start: start)
    }

    private func body(_ update: Hub.Update?) -> [UInt8]? {
        guard case .result(let result)? = update else { return nil }
        return result.answer.body
    }

    @Test func aHeldResultIsSentToANewSessionAtOnceAndOnce() throws {
        var (hub, machine) = (Hub(), Self.machine())
        let first = try subscribe(&hub, &machine)
        #expect(first.immediate == nil)
        _ = machine.inboxArrived(SessionFixture.result(1, 1), nowMs: 1)
        let held = SessionFixture.live(1, 1)
        #expect(body(try subscribe(&hub, &machine).immediate) == held.answer.body)
        let taken = hub.take(.result(held), key: query.key, answers: .max)
        #expect(taken?.due == [first.handle] && body(taken?.update) == held.answer.body)
        #expect(hub.subscriptionCount == 2)
    }

    @Test func unchangedOrKnownResultsAreNotSent() throws {
        var (hub, machine) = (Hub(), Self.machine())
        _ = try subscribe(&hub, &machine)
        let result = SessionFixture.live(1, 1)
        #expect(hub.take(.result(result), key: query.key, answers: .max) != nil)
        #expect(hub.take(.result(result), key: query.key, answers: .max) == nil)
        let unchanged = InterestMachine.Delivery.unchanged(digest: result.digest, position: result.position)
        #expect(hub.take(unchanged, key: query.key, answers: .max) == nil)
    }

    /// A client that resumes gets one confirmation of its result, if it requested that.
    @Test func aResumedClientIsToldOnceThatNothingChanged() throws {
        for isConfirmed in [true, false] {
            var (hub, machine) = (Hub(), Self.machine())
            let known = SessionFixture.known(1, SessionFixture.position(1))
            let start = try machine.subscribed(hub: 0, query, known: known, nowMs: 0)
            let (handle, immediate) = hub.subscribed(
                query.key, known: known, reportsTimerRuns: false, confirmsKnown: true, start: start)
            #expect(immediate == nil)
            let result = SessionFixture.live(1, 2)
            let delivery =
                isConfirmed
                ? InterestMachine.Delivery.unchanged(digest: result.digest, position: result.position)
                : .result(result)
            let answer = hub.take(delivery, key: query.key, answers: .max)
            let taken = try #require(answer)
            #expect(taken.due == [handle])
            switch taken.update {
            case .unchanged(let confirmed):
                #expect(isConfirmed && confirmed == KnownResult(digest: result.digest, position: result.position))
            case .result(let same): #expect(!isConfirmed && same.digest == known.digest)
            case .failed: Issue.record("nothing failed")
            }
            #expect(hub.take(delivery, key: query.key, answers: .max) == nil, "once")
        }
    }

    @Test func aResumedClientIsToldAtOnceIfTheGatewayKnows() throws {
        var (hub, machine) = (Hub(), Self.machine())
        _ = try subscribe(&hub, &machine)
        _ = machine.inboxArrived(SessionFixture.result(1, 1), nowMs: 1)
        for (digest, isKnown) in [(1, true), (2, false)] {
            let known = SessionFixture.known(digest, SessionFixture.position(1))
            let start = try machine.subscribed(hub: 0, query, known: known, nowMs: 2)
            let (_, immediate) = hub.subscribed(
                query.key, known: known, reportsTimerRuns: false, confirmsKnown: true, start: start)
            switch immediate {
            case .unchanged(let confirmed): #expect(isKnown && confirmed.digest == known.digest)
            case .result(let result): #expect(!isKnown && result.digest == SessionFixture.digest(1))
            case .failed, nil: Issue.record("told nothing")
            }
            let unasked = hub.subscribed(query.key, known: known, reportsTimerRuns: false, start: start)
            #expect((unasked.immediate == nil) == isKnown)
        }
    }

    @Test func aRerunIsAcceptedOnceThereIsAResultAndItsAnswerIsSentUnchanged() throws {
        var (hub, machine) = (Hub(), Self.machine())
        let handle = try subscribe(&hub, &machine).handle
        #expect(!hub.acceptsRerun(handle))
        let result = SessionFixture.live(1, 1)
        _ = hub.take(.result(result), key: query.key, answers: 1)
        #expect(hub.acceptsRerun(handle))
        hub.rerunRequested(handle, announcement: 2)
        #expect(hub.take(.unchangedTick(result), key: query.key, answers: 1) == nil)
        #expect(body(hub.take(.unchangedTick(result), key: query.key, answers: 2)?.update) == result.answer.body)
    }

    @Test func anEndedSubscriptionGetsNothing() throws {
        var (hub, machine) = (Hub(), Self.machine())
        let handle = try subscribe(&hub, &machine).handle
        let ends = [hub.unsubscribed(handle), hub.unsubscribed(handle)]
        #expect(ends == [true, false] && !hub.contains(handle) && hub.subscriptionCount == 0)
        #expect(hub.take(.failed(RequestError(.timeout, "slow")), key: query.key, answers: .max) == nil)
    }
}
