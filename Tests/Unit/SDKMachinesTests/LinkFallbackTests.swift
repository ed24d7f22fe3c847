import FreshetLink
import FreshetTypes
import JSON
import Testing

extension [LinkAction] {
    fileprivate var requests: [(exchange: String, request: LinkRequest)] {
        compactMap { if case .request(let exchange, let request) = $0 { (exchange, request) } else { nil } }
    }

    fileprivate var cancelled: [String] {
        compactMap { if case .cancel(let exchange) = $0 { exchange } else { nil } }
    }

    fileprivate var opensSocket: Bool { contains { if case .open = $0 { true } else { false } } }
}

extension LinkRequest {
    fileprivate func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// Networks that let no WebSockets through.
@Suite struct LinkFallbackTests {
    /// A driver whose WebSockets were refused twice. Its feed 1 has sent its first request, with the id 1.
    private func blocked(by end: LinkEnd = .refused(status: 403), upgradeFirstMs: Int64 = 300_000) -> LinkDriver {
        var driver = LinkDriver(limits: LinkLimits(upgradeFirstMs: upgradeFirstMs))
        driver.follow(1)
        driver.tokenReady()
        driver.closed(1, nil, "refused", end: end)
        driver.advance()
        driver.tokenReady()
        driver.closed(2, nil, "refused", end: end)
        driver.tokenReady()
        return driver
    }

    /// The same, and event streams were cut twice before their first byte.
    private func polling() -> LinkDriver {
        var driver = blocked()
        driver.failed("1", .lost)
        driver.advance()
        driver.tokenReady()
        driver.failed("2", .lost)
        driver.tokenReady()
        return driver
    }

    @Test(arguments: [LinkEnd.refused(status: 403), .refused(status: 502), .lost])
    func aSecondBlockedWebSocketIsFollowedByAStream(_ end: LinkEnd) throws {
        var driver = blocked(by: end)
        let actions = driver.take()
        let (exchange, request) = try #require(actions.requests.first)
        #expect(exchange == "1" && request.form == .stream && request.method == "POST" && request.path == "/graphql")
        #expect(request.header("accept") == "text/event-stream" && request.header("authorization") == "Bearer T")
        #expect(try JSONParser.parse(request.body)["extensions"]?["delta"] == "json-patch")
        #expect(!actions.statuses.contains(.connected), "nothing was heard of the server")
        driver.streamed("1", ":\n\n")
        #expect(driver.take() == [.status(.connected)])
        driver.streamed("1", "event: next\nda")
        driver.streamed("1", "ta: {\"data\":{\"n\":1},\"extensions\":{\"resume\":\"t1\"}}\r\n")
        #expect(driver.take() == [])
        driver.streamed("1", "\r")
        #expect(driver.take() == [.result(FeedID(1), ["n": 1], [], tag: "t1")])
        driver.streamed("1", "\n")
        #expect(driver.take() == [])
        let patch = "[{\"op\":\"replace\",\"path\":\"/data/n\",\"value\":2}]"
        driver.streamed(
            "1", "event: next\ndata: {\"extensions\":{\"delta\":{\"patch\":\(patch)},\"resume\":\"t2\"}}\n\n")
        #expect(driver.take() == [.result(FeedID(1), ["n": 2], [], tag: "t2")])
    }

    @Test(arguments: [LinkEnd.unreachable, .refused(status: 503), .refused(status: 429)])
    func aServerThatIsAwayOrBusyIsNoBlock(_ end: LinkEnd) {
        var driver = LinkDriver()
        driver.follow(1)
        for link in 1...5 {
            driver.tokenReady()
            #expect(driver.take().contains(.open(link: link)))
            driver.closed(link, nil, "away", end: end)
            driver.advance()
        }
    }

    @Test func aHandshakeThatIsSwallowedIsABlock() {
        var driver = LinkDriver()
        driver.follow(1)
        for _ in 1...2 {
            driver.tokenReady()
            driver.advance()
            _ = driver.take()
            if driver.machine.deadlineMs != nil { driver.advance() }
        }
        driver.tokenReady()
        #expect(driver.take().requests.first?.request.form == .stream)
    }

    @Test func aStreamThatEndsIsResumed() throws {
        var driver = blocked()
        driver.streamed("1", "event: next\ndata: {\"data\":{\"n\":1},\"extensions\":{\"resume\":\"t1\"}}\n\n")
        _ = driver.take()
        driver.answered("1", 200)
        guard case .failed(FeedID(1), let error)? = driver.take().first else {
            Issue.record("the feed is not confirmed any more")
            return
        }
        #expect(error.code == .offline)
        driver.advance()
        let (exchange, request) = try #require(driver.take().requests.first)
        #expect(try JSONParser.parse(request.body)["extensions"]?["resume"] == "t1")
        driver.streamed(exchange, "event: next\ndata: {\"extensions\":{\"resume\":\"t1\",\"unchanged\":true}}\n\n")
        #expect(driver.take() == [.result(FeedID(1), ["n": 1], [], tag: "t1")])
        // If the next one is not answered either, the link is lost.
        driver.answered(exchange, 200)
        driver.advance()
        driver.failed("3", .lost)
        let actions = driver.take()
        #expect(actions.contains { if case .lost(let error) = $0 { error.code == .offline } else { false } })
        #expect(actions.contains { if case .status(.reconnecting) = $0 { true } else { false } })
    }

    /// One of two streams ends: the other goes on, and the link with it.
    @Test func aStreamOfManyIsMadeAgainAlone() {
        var driver = blocked()
        driver.follow(2)
        driver.streamed("1", ":\n\n")
        driver.streamed("2", ":\n\n")
        _ = driver.take()
        driver.answered("1", 200)
        let actions = driver.take()
        guard case .failed(FeedID(1), _)? = actions.first, actions.count == 1 else {
            Issue.record("\(actions)")
            return
        }
        driver.advance()
        #expect(driver.take().requests.map(\.exchange) == ["3"])
    }

    @Test func errorsOfTheServerOverAStreamEndTheFeedOrNot() {
        var driver = blocked()
        driver.streamed("1", "event: next\ndata: {\"data\":null,\"errors\":[{\"message\":\"slow\"}]}\n\n")
        guard case .failed(FeedID(1), _)? = driver.take().last else {
            Issue.record("a failed refresh is told")
            return
        }
        let refusal = "{\"message\":\"no\",\"extensions\":{\"code\":\"PERMISSION_DENIED\"}}"
        driver.streamed("1", "event: next\ndata: {\"errors\":[\(refusal)]}\n\nevent: complete\ndata: \n\n")
        let actions = driver.take()
        #expect(actions.cancelled == ["1"])
        guard case .ended(FeedID(1), let error)? = actions.last else {
            Issue.record("a refused operation ends")
            return
        }
        #expect(error.serverCode == "PERMISSION_DENIED")
    }

    @Test func blockedStreamsAreFollowedByPolls() throws {
        var driver = polling()
        let (exchange, first) = try #require(driver.take().requests.last)
        #expect(first.form == .poll && first.path == "/v1/connectors/auctions/queries/ListLots?variables=%7B%7D")
        #expect(first.header("prefer") == nil && first.header("if-none-match") == nil)
        driver.nowMs += 1_000
        driver.answered(exchange, 200, ["data": ["n": 1]], tag: "t1")
        var actions = driver.take()
        #expect(actions.prefix(2) == [.status(.connected), .result(FeedID(1), ["n": 1], [], tag: "t1")])
        let (second, waiting) = try #require(actions.requests.first)
        #expect(waiting.header("prefer") == "wait=25" && waiting.header("if-none-match") == "\"t1\"")
        #expect(waiting.header("a-im") == "json-patch")
        // The end of the wait is no news.
        driver.nowMs += 25_000
        driver.answered(second, 304, tag: "t1")
        actions = driver.take()
        let (third, _) = try #require(actions.requests.first)
        #expect(actions.count == 1)
        driver.nowMs += 1_000
        driver.answered(third, 226, [["op": "replace", "path": "/data/n", "value": 2]], tag: "t2")
        #expect(driver.take().first == .result(FeedID(1), ["n": 2], [], tag: "t2"))
    }

    @Test func answersAtOnceAreNotAskedForAtOnce() throws {
        var driver = polling()
        driver.answered("3", 200, ["data": ["n": 1]], tag: "t1")
        #expect(driver.take().requests.filter { $0.request.header("prefer") != nil }.isEmpty)
        #expect(driver.advance() == 250)
        #expect(driver.take().requests.count == 1)
    }

    /// Seed row 24, without a WebSocket: the position travels with each request, and the client drops once.
    @Test func invalidationsComeOverStreams() throws {
        var driver = blocked()
        #expect(driver.take().requests.first?.request.header("freshet-invalidations") == "none")
        func told(_ text: String) -> String { "event: invalidations\ndata: \(text)\n\n" }
        driver.streamed("1", told(#"{"position":"9-m","drop":[{"entity":"e"}]}"#))
        let invalidated = LinkAction.invalidated(Invalidation(position: "9-m", subjects: [.entity("e")]))
        #expect(driver.take() == [.status(.connected), invalidated])
        driver.follow(2)
        #expect(driver.take().requests.first?.request.header("freshet-invalidations") == "9-m")
        // It came over the first stream already; anything else is ignored.
        driver.streamed("2", told(#"{"position":"9-m","drop":[{"entity":"e"}]}"#) + told("[]") + told("{"))
        #expect(driver.take() == [])
        driver.streamed("2", told(#"{"position":"10-m","drop":"everything"}"#))
        #expect(driver.take() == [.invalidated(Invalidation(position: "10-m", subjects: nil))])
    }

    @Test func invalidationsComeWithAnswersToPolls() throws {
        var driver = polling()
        #expect(driver.take().requests.last?.request.header("freshet-invalidations") == "none")
        driver.nowMs += 1_000
        driver.answered(
            "3", 200, ["data": ["n": 1]], tag: "t1", invalidations: ["position": "9-m", "drop": [["connector": "c"]]])
        var actions = driver.take()
        let invalidated = LinkAction.invalidated(Invalidation(position: "9-m", subjects: [.connector("c")]))
        #expect(actions.contains(invalidated))
        #expect(actions.requests.first?.request.header("freshet-invalidations") == "9-m")
        // The cache drops the result: it is fetched whole.
        driver.actions += driver.machine.discard(FeedID(1), nowMs: driver.nowMs)
        actions = driver.take()
        #expect(actions.cancelled == ["4"])
        let whole = try #require(actions.requests.first).request
        #expect(whole.header("if-none-match") == nil && whole.header("prefer") == nil)
        #expect(whole.header("freshet-invalidations") == "9-m")
    }

    @Test func aLostPollIsResumedAndConfirmedAtOnce() throws {
        var driver = polling()
        driver.nowMs += 1_000
        driver.answered("3", 200, ["data": ["n": 1]], tag: "t1")
        _ = driver.take()
        driver.failed("4", .lost)
        driver.advance()
        driver.tokenReady()
        let (exchange, request) = try #require(driver.take().requests.first)
        #expect(request.header("prefer") == nil && request.header("if-none-match") == "\"t1\"")
        driver.answered(exchange, 304, tag: "t1")
        #expect(driver.take().contains(.result(FeedID(1), ["n": 1], [], tag: "t1")))
    }

    @Test func refusalsAndFailedRunsOfPollsAreTold() {
        var driver = polling()
        _ = driver.take()
        driver.answered("3", 500, ["errors": [["message": "x", "extensions": ["code": "DATABASE_ERROR"]]]])
        guard case .failed(FeedID(1), let failure)? = driver.take().last else {
            Issue.record("a failed run is told")
            return
        }
        #expect(failure.serverCode == "DATABASE_ERROR")
        driver.advance()
        driver.answered("4", 403, ["errors": [["message": "no", "extensions": ["code": "PERMISSION_DENIED"]]]])
        guard case .ended(FeedID(1), let error)? = driver.take().last else {
            Issue.record("a refused operation ends")
            return
        }
        #expect(error.serverCode == "PERMISSION_DENIED")
    }

    @Test func aRejectedTokenIsReplacedOnce() {
        var driver = polling()
        _ = driver.take()
        let rejection: JSONValue = ["errors": [["message": "old", "extensions": ["code": "UNAUTHENTICATED"]]]]
        driver.answered("3", 401, rejection)
        #expect(driver.take().contains(.fetchToken))
        driver.tokenReady("T2")
        #expect(driver.take().requests.first?.request.header("authorization") == "Bearer T2")
        driver.answered("4", 401, rejection)
        guard case .ended(FeedID(1), let error)? = driver.take().last else {
            Issue.record("a rejected token ends the feed")
            return
        }
        #expect(error.code == .unauthenticated)
    }

    /// When nothing gets through, WebSockets have their turn again.
    @Test func afterTheLastWayTheFirstIsTried() {
        var driver = polling()
        for exchange in ["3", "4"] {
            _ = driver.take()
            driver.answered(exchange, 403)
            driver.advance()
            driver.tokenReady()
        }
        #expect(driver.take().opensSocket)
    }

    @Test func webSocketsAreTriedAgainBehindAStream() {
        var driver = blocked()
        driver.streamed("1", ":\n\n")
        driver.streamed("1", "event: next\ndata: {\"data\":{\"n\":1},\"extensions\":{\"resume\":\"t1\"}}\n\n")
        _ = driver.take()
        driver.actions += driver.machine.networkChanged(nowMs: driver.nowMs)
        driver.tokenReady()
        #expect(driver.take().opensSocket)
        driver.closed(4, nil, "refused", end: .refused(status: 403))
        #expect(driver.take() == [], "the stream goes on")
        for _ in 1...10 {
            driver.nowMs += 30_000
            driver.streamed("1", ":\n\n")
            driver.actions += driver.machine.tick(nowMs: driver.nowMs)
        }
        driver.tokenReady()
        #expect(driver.take().contains(.open(link: 5)))
        driver.opened(5)
        driver.received(5, ["type": "connection_ack"])
        let actions = driver.take()
        #expect(actions.cancelled == ["1"])
        #expect(actions.sent(5).last?["payload"]?["extensions"]?["resume"] == "t1")
        #expect(!actions.contains { if case .lost = $0 { true } else { false } })
    }

    @Test func theFirstWebSocketAfterAFallbackComesSoon() {
        var driver = blocked(by: .refused(status: 502), upgradeFirstMs: 15_000)
        driver.streamed("1", ":\n\n")
        _ = driver.take()
        #expect(driver.advance() == 15_000)
        driver.tokenReady()
        #expect(driver.take().opensSocket)
    }

    @Test func feedsBeyondTheBoundWait() {
        var driver = LinkDriver(limits: LinkLimits(exchangesMax: 1))
        driver.follow(1)
        driver.follow(2)
        for link in 1...2 {
            driver.tokenReady()
            driver.closed(link, nil, "refused", end: .lost)
            if link == 1 { driver.advance() }
        }
        _ = driver.take()
        driver.tokenReady()
        let actions = driver.take()
        #expect(actions.requests.count == 1)
        guard case .failed(FeedID(2), let error)? = actions.last else {
            Issue.record("\(actions)")
            return
        }
        #expect(error.code == .unavailable)
        driver.streamed("1", ":\n\n")
        driver.unfollow(1)
        driver.advance()
        #expect(driver.take().requests.count == 1)
    }

    @Test func aSilentStreamIsGivenUp() {
        var driver = blocked()
        driver.streamed("1", ":\n\n")
        _ = driver.take()
        #expect(driver.advance() == 50_000)
        let actions = driver.take()
        #expect(actions.cancelled == ["1"])
        #expect(actions.contains { if case .failed(FeedID(1), _) = $0 { true } else { false } })
    }
}
