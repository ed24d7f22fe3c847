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
