import LiveModel
import RoleMachines
import Testing

struct EventWaitsTests {
    private static let timeout = EventWaits.Action.fail(RequestError(.timeout, "the event is not published yet"))
    private static let tooMany = EventWaits.Action.fail(
        RequestError(.limitExceeded, "too many wait for events that are not published yet"))

    @Test func anEventWithoutARowIsInTheStreams() {
        var waits = EventWaits()
        var wait = waits.began(withinMs: 1_000, nowMs: 0)
        #expect(waits.looked(&wait, hasRow: false, isFolded: false, nowMs: 1) == .appended)
    }

    @Test func aRowIsLookedForAtGrowingPausesUntilItIsGone() {
        var waits = EventWaits()
        var wait = waits.began(withinMs: 10_000, nowMs: 0)
        var (pauses, nowMs): ([Int64], Int64) = ([], 0)
        while pauses.count < 8 {
            guard case .look(let pauseMs, false) = waits.looked(&wait, hasRow: true, isFolded: nil, nowMs: nowMs)
            else { break }
            pauses.append(pauseMs)
            nowMs = min(nowMs + pauseMs, 249)
        }
        #expect(pauses == [5, 10, 20, 40, 80, 160, 250, 250])
        #expect(waits.looked(&wait, hasRow: false, isFolded: false, nowMs: 400) == .appended)
    }

    @Test func aRowThatStaysIsPublishedOnce() {
        var waits = EventWaits()
        var wait = waits.began(withinMs: 1_000, nowMs: 0)
        #expect(waits.looked(&wait, hasRow: true, isFolded: nil, nowMs: 249) == .look(afterMs: 5, isPublishing: false))
        #expect(waits.looked(&wait, hasRow: true, isFolded: nil, nowMs: 250) == .look(afterMs: 10, isPublishing: true))
        #expect(waits.looked(&wait, hasRow: true, isFolded: nil, nowMs: 300) == .look(afterMs: 20, isPublishing: false))
        #expect(waits.looked(&wait, hasRow: true, isFolded: nil, nowMs: 1_000) == Self.timeout)
    }

    @Test func anEventMayBePartOfARowInPlaceOfSeveral() {
        var waits = EventWaits()
        var wait = waits.began(withinMs: 10_000, nowMs: 0)
        #expect(waits.asksForFolded(nowMs: 0))
        #expect(waits.looked(&wait, hasRow: false, isFolded: true, nowMs: 0) == .look(afterMs: 5, isPublishing: false))
        // Assumed for half a second, for other waits as well.
        #expect(!waits.asksForFolded(nowMs: 499))
        var other = waits.began(withinMs: 10_000, nowMs: 400)
        let found = waits.looked(&other, hasRow: false, isFolded: nil, nowMs: 400)
        #expect(found == .look(afterMs: 5, isPublishing: false))
        #expect(waits.asksForFolded(nowMs: 500))
        #expect(waits.looked(&wait, hasRow: false, isFolded: false, nowMs: 500) == .appended)
        #expect(waits.asksForFolded(nowMs: 500))
    }

    @Test func anEventInTheLogIsThereOnceTheLogIsPublishedUpToAMarkBehindIt() {
        var waits = EventWaits()
        var wait = waits.began(withinMs: 1_000, nowMs: 0)
        let found = waits.looked(&wait, hasRow: false, isFolded: false, mayBeLogged: true, nowMs: 0)
        #expect(found == .lookAtLog(afterMs: 0))
        // Another cluster's nodes leave events there.
        #expect(waits.looked(&wait, published: nil, nowMs: 0) == .appended)
        #expect(waits.looked(&wait, published: .init(incarnation: "a", position: 90), nowMs: 0) == .mark)
        #expect(waits.marked(&wait, at: 100) == .lookAtLog(afterMs: 5))
        let before = waits.looked(&wait, published: .init(incarnation: "a", position: 99), nowMs: 5)
        #expect(before == .lookAtLog(afterMs: 5))
        // A mark says nothing about a slot that was created after it.
        #expect(waits.looked(&wait, published: .init(incarnation: "b", position: 500), nowMs: 10) == .mark)
        #expect(waits.marked(&wait, at: 600) == .lookAtLog(afterMs: 10))
        #expect(waits.looked(&wait, published: .init(incarnation: "b", position: 600), nowMs: 20) == .appended)
    }

    @Test func aMarkThatIsNeverReachedEndsTheWait() {
        var waits = EventWaits()
        var wait = waits.began(withinMs: 100, nowMs: 0)
        _ = waits.looked(&wait, published: .init(incarnation: "a", position: 0), nowMs: 0)
        _ = waits.marked(&wait, at: 7)
        #expect(waits.looked(&wait, published: .init(incarnation: "a", position: 6), nowMs: 100) == Self.timeout)
    }

    @Test func waitsThatLookAgainAreBounded() {
        var settings = EventWaits.Settings()
        settings.repeatedMax = 1
        var waits = EventWaits(settings)
        var (first, second) = (waits.began(withinMs: 100, nowMs: 0), waits.began(withinMs: 100, nowMs: 0))
        #expect(waits.looked(&first, hasRow: true, isFolded: nil, nowMs: 0) == .look(afterMs: 5, isPublishing: false))
        #expect(waits.looked(&second, hasRow: true, isFolded: nil, nowMs: 0) == Self.tooMany)
        // One whose event is there needs no room.
        #expect(waits.looked(&second, hasRow: false, isFolded: false, nowMs: 0) == .appended)
        waits.ended(second)
        waits.ended(first)
        var third = waits.began(withinMs: 100, nowMs: 0)
        #expect(waits.looked(&third, hasRow: true, isFolded: nil, nowMs: 0) == .look(afterMs: 5, isPublishing: false))
    }
}
