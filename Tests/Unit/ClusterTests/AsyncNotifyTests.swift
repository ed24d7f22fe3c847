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
    @Test func theTimerOfAnEarlierWaitDoesNotEndALaterOne() {
        var slot = WaitSlot<String>()
        let former = slot.makeTicket()
        #expect(slot.wait("former", ticket: former, isCancelled: false) == nil)
        #expect(slot.notify() == "former")
        let later = slot.makeTicket()
        #expect(slot.wait("later", ticket: later, isCancelled: false) == nil)
        #expect(slot.giveUp(former) == nil)
        #expect(slot.giveUp(later) == "later")
        #expect(slot.giveUp(later) == nil)
    }

    @Test func waitsEndWhenTheTimeIsOver() async {
        #expect(await !AsyncNotify().wait(ms: 0))
    }
}
