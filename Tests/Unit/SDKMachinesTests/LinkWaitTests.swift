import FreshetLink
import FreshetTypes
import JSON
import Testing

/// Waits until the feeds show what was committed.
@Suite struct LinkWaitTests {
    private static let position = MutationPosition(rawValue: "6f9619ff-8b86-d011-b42d-00c04fc964ff")

    /// A driver whose feed 1 has its first result.
    private func connected() -> LinkDriver {
        var driver = LinkDriver()
        driver.connect()
        driver.next(1, "1", ["data": ["n": 1]])
        _ = driver.take()
        return driver
    }

    private func waited(_ id: Int, _ error: JSONValue? = nil) -> JSONValue {
        var waited: JSONObject = ["id": .string(String(id))]
        if let error { waited["error"] = error }
        return ["type": "pong", "payload": ["freshet": ["waited": .object(waited)]]]
    }

    private func wait(_ id: Int, _ driver: inout LinkDriver, for position: MutationPosition? = position) {
        driver.actions += driver.machine.wait(id, for: position, nowMs: driver.nowMs)
    }

    private func ends(_ actions: [LinkAction]) -> [String] {
        actions.compactMap { action in
            guard case .waited(let id, let error) = action else { return nil }
            return "\(id) \(error.map { $0.code.description } ?? "shown")"
        }
    }

    @Test func theServerIsAskedAndAnswersBehindTheResults() {
        var driver = connected()
        wait(7, &driver)
        #expect(
            driver.take().sent(1) == [
                [
                    "type": "ping",
                    "payload": ["freshet": ["wait": ["id": "7", "position": .string(Self.position.rawValue)]]],
                ]
            ])
        driver.received(1, ["type": "pong"])
        driver.received(1, waited(8))
        #expect(ends(driver.take()) == [], "other pongs say nothing")
        driver.received(1, waited(7))
        #expect(ends(driver.take()) == ["7 shown"])
        driver.received(1, waited(7))
        #expect(driver.take() == [], "it ends once")
    }

    @Test func withoutFeedsNothingIsWaitedFor() {
        var driver = LinkDriver()
        wait(1, &driver)
        #expect(driver.take() == [.waited(1, nil)])
        driver = connected()
        wait(2, &driver)
        driver.unfollow(1)
        #expect(ends(driver.take()) == ["2 shown"])
    }

    /// A subscription that began just now may show a cached result until its first answer.
    @Test func theFirstAnswersOfFeedsAreWaitedFor() {
        var driver = connected()
        driver.follow(2)
        driver.follow(3)
        wait(1, &driver)
        driver.follow(4)
        driver.received(1, waited(1))
        #expect(ends(driver.take()) == [])
        driver.next(1, "2", ["data": ["n": 2]])
        #expect(ends(driver.take()) == [])
        driver.received(
            1, ["id": "3", "type": "error", "payload": [["message": "no", "extensions": ["code": "REFUSED"]]]])
        let actions = driver.take()
        #expect(ends(actions) == ["1 shown"])
        guard case .ended? = actions.first else { return #expect(Bool(false), "\(actions)") }
    }

    @Test func aDiscardedResultIsWaitedFor() {
        var driver = connected()
        wait(1, &driver)
        driver.actions += driver.machine.discard(FeedID(1), nowMs: driver.nowMs)
        driver.received(1, waited(1))
        #expect(ends(driver.take()) == [])
        driver.next(1, "2", ["data": ["n": 2]])
        #expect(ends(driver.take()) == ["1 shown"])
    }

    /// Positions stay valid; what the lost link would have said does not count.
    @Test func anotherLinkIsAskedAgain() {
        var driver = connected()
        wait(1, &driver)
        _ = driver.take()
        driver.closed(1, nil, end: .lost)
        driver.received(1, waited(1))
        #expect(ends(driver.take()) == [])
        driver.advance()
        driver.tokenReady()
        driver.opened(2)
        driver.received(2, waited(1))
        driver.received(2, ["type": "connection_ack"])
        let sent = driver.take().sent(2)
        #expect(sent.map { $0["type"] } == ["connection_init", "subscribe", "ping"])
        driver.received(2, waited(1))
        driver.next(2, "2", ["data": ["n": 2]])
        #expect(ends(driver.take()) == ["1 shown"])
    }

    @Test func aServerThatKnowsNoWaitsEchoesThem() {
        var driver = connected()
        wait(1, &driver, for: nil)
        let ping = driver.take().sent(1)[0]
        driver.received(1, ["type": "pong", "payload": ping["payload"] ?? nil])
        #expect(ends(driver.take()) == ["1 unsupported"])
    }

    @Test func failuresAreTyped() {
        var driver = connected()
        wait(1, &driver)
        driver.received(1, waited(1, ["code": "TIMEOUT", "message": "late"]))
        wait(2, &driver)
        driver.received(1, waited(2, ["code": "INTERNAL", "message": "broken"]))
        #expect(ends(driver.take()) == ["1 timeout", "2 refused"])
        wait(3, &driver)
        while driver.machine.waitCount > 0 { driver.advance() }
        #expect(ends(driver.take()) == ["3 timeout"])
        #expect(driver.nowMs == 15_000)
    }

    /// The server is asked again with growing pauses, until the wait's own end.
    @Test(arguments: ["LIMIT_EXCEEDED", "UNAVAILABLE"])
    func aBusyServerIsAskedAgain(code: String) {
        var driver = connected()
        wait(1, &driver)
        _ = driver.take()
        let failure = waited(1, ["code": .string(code), "message": "many"])
        driver.received(1, failure)
        #expect(driver.take() == [] && driver.machine.waitCount == 1)
        // Another wait does not make it ask sooner.
        wait(2, &driver)
        #expect(driver.take().sent(1).count == 1)
        driver.received(1, waited(2))
        _ = driver.take()
        let before = driver.nowMs
        driver.advance()
        #expect(driver.nowMs > before && driver.nowMs <= before + 250)
        #expect(driver.take().sent(1).map { $0["payload"]?["freshet"]?["wait"]?["id"] } == ["1"])
        driver.received(1, waited(1))
        #expect(ends(driver.take()) == ["1 shown"])
        wait(3, &driver)
        var asked = 0
        let start = driver.nowMs
        while driver.machine.waitCount > 0 {
            let pings = driver.take().sent(1).filter { $0["payload"]?["freshet"] != nil }
            asked += pings.count
            if !pings.isEmpty { driver.received(1, waited(3, ["code": .string(code), "message": "many"])) }
            if driver.machine.waitCount > 0 { driver.advance() }
        }
        #expect(ends(driver.take()) == ["3 timeout"])
        #expect(driver.nowMs == start + 15_000 && asked > 3 && asked < 20)
    }

    /// A new link is asked at once.
    @Test func anotherLinkMayBeLessBusy() {
        var driver = connected()
        wait(1, &driver)
        driver.received(1, waited(1, ["code": "LIMIT_EXCEEDED", "message": "many"]))
        driver.closed(1, nil, end: .lost)
        driver.advance()
        driver.tokenReady()
        driver.opened(2)
        _ = driver.take()
        driver.received(2, ["type": "connection_ack"])
        #expect(driver.take().sent(2).map { $0["type"] } == ["subscribe", "ping"])
    }

    @Test func theEndOfTheLinkEndsThem() {
        var driver = connected()
        wait(1, &driver)
        driver.actions += driver.machine.stop()
        #expect(ends(driver.take()) == ["1 closed"])
        wait(2, &driver)
        #expect(ends(driver.take()) == ["2 closed"])
        driver = connected()
        wait(3, &driver)
        driver.closed(1, 4400)
        #expect(ends(driver.take()) == ["3 refused"])
    }

    @Test func withoutAWebSocketTheyFailAtOnce() {
        var driver = LinkDriver()
        driver.follow(1)
        driver.tokenReady()
        wait(1, &driver)
        driver.closed(1, nil, "refused", end: .refused(status: 403))
        driver.advance()
        driver.tokenReady()
        #expect(ends(driver.take()) == [], "a WebSocket may come yet")
        driver.closed(2, nil, "refused", end: .refused(status: 403))
        driver.tokenReady()
        #expect(ends(driver.take()) == ["1 unsupported"])
        wait(2, &driver)
        #expect(ends(driver.take()) == ["2 unsupported"])
    }

    @Test func theServerIsAskedForAFewAtATime() {
        var driver = LinkDriver(limits: LinkLimits(waitsMax: 3, waitsAskedMax: 2))
        driver.connect()
        driver.next(1, "1", ["data": ["n": 1]])
        _ = driver.take()
        for id in 1...4 { wait(id, &driver) }
        let actions = driver.take()
        #expect(actions.sent(1).count == 2 && ends(actions) == ["4 unavailable"])
        driver.received(1, waited(1))
        #expect(driver.take().sent(1).map { $0["payload"]?["freshet"]?["wait"]?["id"] } == ["3"])
        driver.actions += driver.machine.endWait(2)
        driver.received(1, waited(2))
        #expect(driver.take() == [] && driver.machine.waitCount == 1, "nobody waits for it any more")
    }
}
