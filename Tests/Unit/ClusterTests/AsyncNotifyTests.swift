import Testing

@testable import Cluster

@Suite(.timeLimit(.minutes(1))) struct AsyncNotifyTests {
    private static let longMs = 3_600_000

    @Test func itEndsAWait() async {
        let bell = AsyncNotify()
        let waiting = Task { await bell.wait(ms: Self.longMs) }
        bell.ring()
        #expect(await waiting.value)
    }

    @Test func severalRingsBeforeAWaitAreOne() async {
        let bell = AsyncNotify()
        bell.ring()
        bell.ring()
        #expect(await bell.wait(ms: Self.longMs))
        #expect(await !bell.wait(ms: 1))
    }

    @Test func aCancelledTaskWaitsNoLonger() async {
        let bell = AsyncNotify()
        let waiting = Task { await bell.wait(ms: Self.longMs) }
        waiting.cancel()
        #expect(await !waiting.value)
    }

    @Test func timeEndsIt() async {
        #expect(await !AsyncNotify().wait(ms: 0))
    }
}
