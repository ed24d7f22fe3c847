import FreshetLink
import FreshetTypes
import JSON
import Testing

/// Resume tags: what the link keeps over a loss, and what it asks for.
@Suite struct LinkResumeTests {
    private func resume(_ message: JSONValue?) -> JSONValue? { message?["payload"]?["extensions"]?["resume"] }

    @Test func aLostLinkIsResumedWithTheTag() {
        var driver = LinkDriver()
        driver.connect()
        driver.next(1, "1", ["data": ["n": 1], "extensions": ["resume": "t1"]])
        #expect(driver.take().last == .result(FeedID(1), ["n": 1], [], tag: "t1"))
        driver.closed(1, nil)
        driver.advance()
        driver.connect(link: 2)
        #expect(resume(driver.take().sent(2).last) == "t1")
        driver.next(2, "2", ["extensions": ["resume": "t2", "unchanged": true]])
        #expect(driver.take() == [.result(FeedID(1), ["n": 1], [], tag: "t2")])
        // A patch may start from it.
        let patch: JSONValue = [["op": "replace", "path": "/data/n", "value": 2]]
        driver.next(2, "2", ["extensions": ["delta": ["patch": patch], "resume": "t3"]])
        #expect(driver.take() == [.result(FeedID(1), ["n": 2], [], tag: "t3")])
    }

    @Test func theFirstMessageAfterALossMayBeAPatch() {
        var driver = LinkDriver()
        driver.connect()
        driver.next(1, "1", ["data": ["n": 1], "extensions": ["resume": "t1"]])
        driver.closed(1, nil)
        driver.advance()
        driver.connect(link: 2)
        _ = driver.take()
        let patch: JSONValue = [["op": "replace", "path": "/data/n", "value": 2]]
        driver.next(2, "2", ["extensions": ["delta": ["patch": patch], "resume": "t2"]])
        #expect(driver.take() == [.result(FeedID(1), ["n": 2], [], tag: "t2")])
    }

    @Test func aResultOfAnEarlierRunIsResumed() {
        var driver = LinkDriver()
        let request = FeedRequest(connector: "auctions", operation: "ListLots", variables: [:])
        driver.actions += driver.machine.follow(
            FeedID(1), request, held: HeldResult(tag: "t1", data: ["n": 1]), nowMs: 0)
        driver.connect()
        #expect(resume(driver.take().sent(1).last) == "t1")
        driver.next(1, "1", ["extensions": ["resume": "t1", "unchanged": true]])
        #expect(driver.take() == [.result(FeedID(1), ["n": 1], [], tag: "t1")])
    }

    @Test func aResultThatTheAppCannotReadIsSentWhole() {
        var driver = LinkDriver()
        let request = FeedRequest(connector: "auctions", operation: "ListLots", variables: [:])
        driver.actions += driver.machine.follow(
            FeedID(1), request, held: HeldResult(tag: "t1", data: ["n": 1]), nowMs: 0)
        driver.connect()
        _ = driver.take()
        driver.actions += driver.machine.discard(FeedID(1), nowMs: 0)
        let sent = driver.take().sent(1)
        #expect(sent.map { $0["type"] } == ["complete", "subscribe"] && resume(sent.last) == nil)
        driver.actions += driver.machine.discard(FeedID(1), nowMs: 0)
        #expect(driver.take() == [])
    }

    /// A partial result, an error, and a server that sends no tags.
    @Test func aResultWithoutATagIsSentWhole() {
        let error: JSONValue = ["message": "no", "extensions": ["code": "PERMISSION_DENIED"]]
        let messages: [JSONValue] = [
            ["data": ["n": 1], "errors": [error], "extensions": ["resume": "t2"]],
            ["data": nil, "errors": [error]],
            ["data": ["n": 1]],
        ]
        for message in messages {
            var driver = LinkDriver()
            driver.connect()
            driver.next(1, "1", ["data": ["n": 0], "extensions": ["resume": "t1"]])
            driver.next(1, "1", message)
            driver.closed(1, nil)
            driver.advance()
            driver.connect(link: 2)
            #expect(resume(driver.take().sent(2).last) == nil, "\(message)")
        }
    }

    @Test func unchangedWithoutAResultBeginsAgain() {
        var driver = LinkDriver()
        driver.connect()
        _ = driver.take()
        driver.next(1, "1", ["extensions": ["resume": "t1", "unchanged": true]])
        #expect(driver.take().sent(1).map { $0["type"] } == ["complete", "subscribe"])
    }
}
