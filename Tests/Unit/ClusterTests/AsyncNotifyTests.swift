import Testing

@testable import Cluster

@Suite(.timeLimit(.minutes(1))) struct AsyncNotifyTests {
    private static let longMs = 3_600_000

    @Test func aNotificationEndsAWait() async {
        let notify = AsyncNotify()
        let waiting = Task { await notify.wait(ms: Self.longMs) }
        notify.notify()
        #expect(await waiting.value)
    }

    @Test func severalNotificationsBeforeAWaitAreOne() async {
        let notify = AsyncNotify()
        notify.notify()
        notify.notify()
        #expect(await notify.wait(ms: Self.longMs))
        #expect(await !notify.wait(ms: 1))
    }

    @Test func aCancelledTaskWaitsNoLonger() async {
        let notify = AsyncNotify()
        let waiting = Task { await notify.wait(ms: Self.longMs) }
        waiting.cancel()
        #expect(await !waiting.value)
    }

    /// The time of an earlier wait may be over while its notification ends it.
    @Test func theTimerOfAnEarlierWaitDoesNotEndALaterOne() async {
        let notify = AsyncNotify()
        notify.notify()
        #expect(await notify.wait(ms: Self.longMs))
        let former = notify.lastTicket
        let waiting = Task { await notify.wait(ms: Self.longMs) }
        while !notify.isWaiting { await Task.yield() }
        notify.giveUp(former)
        #expect(notify.isWaiting)
        notify.notify()
        #expect(await waiting.value)
    }

    @Test func waitsEndWhenTheTimeIsOver() async {
        #expect(await !AsyncNotify().wait(ms: 0))
    }
}
