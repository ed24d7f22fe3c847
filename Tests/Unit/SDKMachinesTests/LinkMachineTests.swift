import FreshetLink
import FreshetTypes
import JSON
import Testing

@Suite struct LinkMachineTests {
    @Test func connectsForTheFirstFeedAndSubscribesAfterTheAck() {
        var driver = LinkDriver()
        #expect(driver.machine.deadlineMs == nil)
        driver.follow(1)
        #expect(driver.take() == [.status(.connecting), .fetchToken])
        driver.tokenReady()
        #expect(driver.take() == [.open(link: 1)])
        driver.opened(1)
        #expect(
            driver.take().sent(1) == [
                [
                    "type": "connection_init",
                    "payload": ["freshet": ["invalidations": ""], "Authorization": "Bearer T"],
                ]
            ])
        driver.received(1, ["type": "connection_ack"])
        let actions = driver.take()
        #expect(actions.statuses == [.connected])
        #expect(actions.sent(1).first?["type"] == "subscribe")
        #expect(actions.sent(1).first?["payload"]?["operationName"] == "ListLots")
        #expect(
            actions.sent(1).first?["payload"]?["extensions"] == [
                "connector": "auctions", "delta": "json-patch", "resumeTags": true,
            ])
    }

    /// Seed row 24: the position travels with each link, and a ping brings what came since.
    @Test func invalidationsComeWithPingsAndAreResumedByPosition() {
        var driver = LinkDriver()
        driver.machine.resumeInvalidations(at: "7-m")
        driver.follow(1)
        driver.tokenReady()
        driver.opened(1)
        #expect(driver.take().sent(1)[0]["payload"]?["freshet"] == ["invalidations": "7-m"])
        driver.received(1, ["type": "connection_ack"])
        _ = driver.take()
        func ping(_ told: JSONValue) -> JSONValue {
            ["type": "ping", "payload": ["freshet": ["invalidations": told]]]
        }
        driver.received(
            1, ping(["position": "9-m", "drop": [["entity": "e"], ["operation": "c/Q"], ["connector": "c"]]]))
        let actions = driver.take()
        #expect(actions.sent(1) == [["type": "pong"]])
        #expect(
            actions.last
                == .invalidated(
                    Invalidation(position: "9-m", subjects: [.entity("e"), .operation("c/Q"), .connector("c")])))
        // Everything, and what this version does not understand.
        for drop in ["everything", [["entity": "e"], ["region": "x"]]] as [JSONValue] {
            driver.received(1, ping(["position": "9-m", "drop": drop]))
            #expect(driver.take().last == .invalidated(Invalidation(position: "9-m", subjects: nil)))
        }
        driver.received(1, ["type": "ping", "payload": ["a": 1]])
        #expect(driver.take() == [.send(link: 1, Array(#"{"type":"pong","payload":{"a":1}}"#.utf8))])
        driver.closed(1, nil)
        driver.advance()
        driver.tokenReady()
        driver.opened(2)
        #expect(driver.take().sent(2)[0]["payload"]?["freshet"] == ["invalidations": "9-m"])
    }

    /// A result that is discarded is asked for whole, also if it is named on a subscription that has just begun.
    @Test func aDiscardedResultIsFetchedAgain() {
        var driver = LinkDriver()
        driver.connect()
        _ = driver.take()
        driver.next(1, "1", ["data": ["n": 1], "extensions": ["resume": "t1"]])
        _ = driver.take()
        driver.actions += driver.machine.discard(FeedID(1), nowMs: driver.nowMs)
        let sent = driver.take().sent(1)
        #expect(sent.map { $0["type"] } == ["complete", "subscribe"])
        #expect(sent[1]["payload"]?["extensions"]?["resume"] == nil)
        driver.next(1, "1", ["data": ["n": 1], "extensions": ["resume": "t1"]])
        #expect(driver.take() == [])
        driver.next(1, "2", ["data": ["n": 1], "extensions": ["resume": "t1"]])
        #expect(driver.take() == [.result(FeedID(1), ["n": 1], [], tag: "t1")])
    }

    /// Seed row 28: one socket, whatever the number of live queries.
    @Test func oneSocketServesAllFeeds() {
        var driver = LinkDriver()
        driver.connect()
        for id in 2...150 { driver.follow(id) }
        let actions = driver.take()
        #expect(!actions.contains { if case .open(let link) = $0 { link > 1 } else { false } })
        #expect(actions.sent(1).filter { $0["type"] == "subscribe" }.count == 150)
    }

    @Test func wholeResultsAndPatchesGiveTheSameDocument() {
        var driver = LinkDriver()
        driver.connect()
        _ = driver.take()
        driver.next(1, "1", ["data": ["lots": [["id": "a", "price": 1]]]])
        #expect(driver.take() == [.result(FeedID(1), ["lots": [["id": "a", "price": 1]]], [], tag: nil)])
        let patch: JSONValue = [["op": "replace", "path": "/data/lots/0/price", "value": 2]]
        driver.next(1, "1", ["extensions": ["delta": ["patch": patch]]])
        #expect(driver.take() == [.result(FeedID(1), ["lots": [["id": "a", "price": 2]]], [], tag: nil)])
    }

    @Test func aPatchWithoutItsBaseBeginsTheSubscriptionAgain() {
        var driver = LinkDriver()
        driver.connect()
        _ = driver.take()
        driver.next(1, "1", ["extensions": ["delta": ["patch": [["op": "remove", "path": "/data/lots/0"]]]]])
        let sent = driver.take().sent(1)
        #expect(sent.first == ["id": "1", "type": "complete"])
        #expect(sent.last?["type"] == "subscribe" && sent.last?["id"] == "2")
        // Results of the former subscription do not count.
        driver.next(1, "1", ["data": ["lots": []]])
        #expect(driver.take() == [])
        driver.next(1, "2", ["data": ["lots": []]])
        #expect(driver.take() == [.result(FeedID(1), ["lots": []], [], tag: nil)])
    }

    @Test func aPatchThatDoesNotApplyBeginsTheSubscriptionAgain() {
        var driver = LinkDriver()
        driver.connect()
        driver.next(1, "1", ["data": ["lots": []]])
        _ = driver.take()
        driver.next(1, "1", ["extensions": ["delta": ["patch": [["op": "remove", "path": "/data/lots/7"]]]]])
        #expect(driver.take().sent(1).map { $0["type"] } == ["complete", "subscribe"])
    }

    /// Never silent: a loss is reported at once, and so is the next attempt.
    @Test func aLostLinkIsReportedAndMadeAgainWithBackoff() {
        var driver = LinkDriver()
        driver.connect()
        _ = driver.take()
        driver.closed(1, nil, "reset")
        let actions = driver.take()
        #expect(actions.first == .lost(FreshetError(.offline, "reset")))
        var delays: [Int64] = []
        for attempt in 2...9 {
            guard let waitedMs = driver.advance() else {
                Issue.record("no further attempt")
                return
            }
            delays.append(waitedMs)
            driver.tokenReady()
            #expect(driver.take().contains(.open(link: attempt)))
            driver.closed(attempt, nil, "refused")
        }
        // Each is between a half and the whole of 250 ms doubled each time, and never above the bound.
        for (index, delayMs) in delays.enumerated() {
            let ceilingMs = min(30_000, Int64(250) << Int64(index))
            #expect((ceilingMs / 2...ceilingMs).contains(delayMs), "attempt \(index): \(delayMs)")
        }
    }

    @Test func theServersWishDelaysTheNextAttempt() {
        var driver = LinkDriver()
        driver.follow(1)
        driver.tokenReady()
        driver.closed(1, nil, "status 503", retryAfterMs: 20_000)
        let waitedMs = driver.advance() ?? 0
        #expect((20_000..<21_000).contains(waitedMs))
    }

    @Test func aWishBeyondTheBoundIsCut() {
        var driver = LinkDriver()
        driver.follow(1)
        driver.tokenReady()
        driver.closed(1, nil, "status 503", retryAfterMs: 86_400_000)
        let waitedMs = driver.advance() ?? 0
        #expect((300_000..<301_000).contains(waitedMs))
    }

    @Test func aFeedThatIsTurnedAwayForNowIsSubscribedAgain() {
        var driver = LinkDriver()
        driver.connect()
        _ = driver.take()
        driver.received(
            1,
            [
                "id": "1", "type": "error",
                "payload": [
                    ["message": "too many", "extensions": ["code": "LIMIT_EXCEEDED", "retryAfterMs": 3_000]]
                ],
            ])
        guard case .failed(FeedID(1), let error)? = driver.take().first else {
            Issue.record("not told")
            return
        }
        #expect(error.code == .unavailable && error.serverCode == "LIMIT_EXCEEDED")
        let waitedMs = driver.advance() ?? 0
        #expect((3_000..<4_000).contains(waitedMs))
        #expect(driver.take().sent(1).first?["type"] == "subscribe")
    }

    /// Typed ends.
    @Test func aRefusedFeedEndsWithTheServersCode() {
        var driver = LinkDriver()
        driver.connect()
        _ = driver.take()
        driver.received(
            1,
            [
                "id": "1", "type": "error",
                "payload": [["message": "no", "extensions": ["code": "PERMISSION_DENIED"]]],
            ])
        guard case .ended(FeedID(1), let error)? = driver.take().first else {
            Issue.record("not ended")
            return
        }
        #expect(error.code == .refused && error.serverCode == "PERMISSION_DENIED" && error.message == "no")
        #expect(driver.machine.feedCount == 0)
    }

    @Test func aFailedRefreshLeavesTheFeed() {
        var driver = LinkDriver()
        driver.connect()
        driver.next(1, "1", ["data": ["lots": []]])
        _ = driver.take()
        driver.next(
            1, "1", ["data": nil, "errors": [["message": "slow", "extensions": ["code": "TIMEOUT"]]]])
        guard case .failed(FeedID(1), let error)? = driver.take().first else {
            Issue.record("not told")
            return
        }
        #expect(error.serverCode == "TIMEOUT")
        driver.next(1, "1", ["data": ["lots": [1]]])
        #expect(driver.take() == [.result(FeedID(1), ["lots": [1]], [], tag: nil)])
    }

    @Test func aNewerTokenTakesOverWithoutALoss() {
        var driver = LinkDriver()
        driver.connect(renewInMs: 60_000)
        driver.next(1, "1", ["data": 1])
        _ = driver.take()
        driver.nowMs = 60_000
        driver.actions += driver.machine.tick(nowMs: driver.nowMs)
        #expect(driver.take().contains(.fetchToken))
        driver.tokenReady("T2", renewInMs: 60_000)
        #expect(driver.take() == [.open(link: 2)])
        // Results of the former link still count.
        driver.next(1, "1", ["data": 2])
        #expect(driver.take() == [.result(FeedID(1), 2, [], tag: nil)])
        driver.opened(2)
        #expect(driver.take().sent(2).first?["payload"]?["Authorization"] == "Bearer T2")
        driver.received(2, ["type": "connection_ack"])
        let actions = driver.take()
        #expect(actions.contains(.close(link: 1, code: 1000)))
        #expect(actions.sent(2).map { $0["type"] } == ["subscribe"])
        #expect(!actions.contains { if case .lost = $0 { true } else { false } })
        // The end of the former link is no loss.
        driver.closed(1, 1000)
        #expect(driver.take() == [])
    }

    @Test func aRejectedTokenIsAskedForOnceMore() {
        var driver = LinkDriver()
        driver.follow(1)
        driver.tokenReady("old")
        driver.opened(1)
        _ = driver.take()
        driver.closed(1, 4403, "Forbidden")
        #expect(driver.take().contains(.fetchToken))
        driver.tokenReady("still old")
        driver.opened(2)
        _ = driver.take()
        driver.closed(2, 4403, "Forbidden")
        let actions = driver.take()
        guard case .ended(FeedID(1), let error)? = actions.first else {
            Issue.record("not ended")
            return
        }
        #expect(error.code == .unauthenticated)
        #expect(driver.machine.deadlineMs == nil)
    }

    @Test func aFatalCloseEndsAllFeeds() {
        var driver = LinkDriver()
        driver.connect()
        driver.follow(2)
        _ = driver.take()
        driver.closed(1, 4406, "Subprotocol not acceptable")
        let ended = driver.take().filter { if case .ended = $0 { true } else { false } }
        #expect(ended.count == 2)
    }

    @Test func aSilentServerIsTestedAndGivenUp() {
        var driver = LinkDriver()
        driver.connect()
        driver.next(1, "1", ["data": 1])
        _ = driver.take()
        #expect(driver.advance() == 25_000)
        #expect(driver.take().sent(1) == [["type": "ping"]])
        // An answer counts as a sign of life.
        driver.received(1, ["type": "pong"])
        #expect(driver.take() == [])
        driver.advance()
        _ = driver.take()
        #expect(driver.advance() == 25_000)
        let actions = driver.take()
        #expect(actions.first == .close(link: 1, code: 1000))
        #expect(actions.contains { if case .lost = $0 { true } else { false } })
    }

    @Test func aPingIsAnsweredWithItsPayload() {
        var driver = LinkDriver()
        driver.connect()
        _ = driver.take()
        driver.received(1, ["type": "ping", "payload": ["n": 1]])
        #expect(driver.take().sent(1) == [["type": "pong", "payload": ["n": 1]]])
    }

    @Test func aLinkWithoutFeedsIsClosedAfterAWhile() {
        var driver = LinkDriver()
        driver.connect()
        _ = driver.take()
        driver.unfollow(1)
        #expect(driver.take().sent(1) == [["id": "1", "type": "complete"]])
        #expect(driver.advance() == 10_000)
        #expect(driver.take() == [.close(link: 1, code: 1000), .status(.idle)])
        #expect(driver.machine.deadlineMs == nil)
        #expect(driver.machine.heldCount == 0)
    }

    /// Seed row 27.
    @Test func stopIsSilentUntilStart() {
        var driver = LinkDriver()
        driver.connect()
        _ = driver.take()
        driver.actions += driver.machine.stop()
        #expect(driver.take() == [.close(link: 1, code: 1000), .status(.stopped)])
        driver.follow(2)
        #expect(driver.take() == [])
        #expect(driver.machine.deadlineMs == nil)
        driver.actions += driver.machine.start(nowMs: driver.nowMs)
        driver.connect(link: 2)
        #expect(driver.take().sent(2).filter { $0["type"] == "subscribe" }.count == 2)
    }

    @Test func newsOfTheNetworkEndsTheDelay() {
        var driver = LinkDriver()
        driver.connect()
        driver.closed(1, nil)
        _ = driver.take()
        driver.actions += driver.machine.networkChanged(nowMs: driver.nowMs)
        #expect(driver.take().contains(.fetchToken))
    }

    @Test func aBrokenMessageIsALoss() {
        var driver = LinkDriver()
        driver.connect()
        _ = driver.take()
        driver.actions += driver.machine.received(link: 1, Array("no".utf8), nowMs: 0)
        let actions = driver.take()
        #expect(actions.first == .close(link: 1, code: 1002))
        #expect(actions.contains { if case .lost = $0 { true } else { false } })
    }

    /// Memory is flat over 100,000 subscriptions that come and go.
    @Test func memoryStaysFlat() {
        var driver = LinkDriver()
        driver.connect()
        for id in 2...100_001 {
            driver.follow(id)
            driver.unfollow(id)
            _ = driver.take()
        }
        // The feed that stays, and its subscription.
        #expect(driver.machine.heldCount == 2)
    }
}
