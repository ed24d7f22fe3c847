import LiveModel
import Sessions
import Testing

@Suite struct SubscriptionTableTests {
    private let key = SessionFixture.query().key

    private func take(_ table: inout SubscriptionTable<String>, _ delivery: InterestMachine.Delivery) -> [String] {
        var names: [String] = []
        for (subscription, _) in table.take(delivery, key: key) {
            names.append("\(subscription.session)/\(subscription.id)")
        }
        return names.sorted()
    }

    @Test func everySubscriptionGetsAResultOnce() {
        var table = SubscriptionTable<String>()
        _ = table.insert("a", id: "1", key: key, known: nil)
        _ = table.insert("a", id: "2", key: key, known: nil)
        _ = table.insert("b", id: "1", key: key, known: SessionFixture.known(1, SessionFixture.position(1)))
        #expect(take(&table, .result(SessionFixture.live(1, 2))) == ["a/1", "a/2"])
        #expect(take(&table, .result(SessionFixture.live(1, 3))).isEmpty, "the same content is no news")
        #expect(take(&table, .result(SessionFixture.live(2, 4))) == ["a/1", "a/2", "b/1"])
    }

    @Test func nothingOlderThanWhatTheClientHolds() {
        var table = SubscriptionTable<String>()
        let handle = table.insert("a", id: "1", key: key, known: SessionFixture.known(1, SessionFixture.position(5)))
        #expect(table.deliver(.result(SessionFixture.live(2, 4)), to: handle) == false)
        #expect(table.deliver(.result(SessionFixture.live(2, 6)), to: handle) == true)
        #expect(take(&table, .result(SessionFixture.live(1, 5))).isEmpty)
    }

    @Test func contentWithoutPositionIsComparedByContent() {
        var table = SubscriptionTable<String>()
        let handle = table.insert("a", id: "1", key: key, known: SessionFixture.known(1))
        #expect(table.deliver(.result(SessionFixture.live(1, 1)), to: handle) == false)
        #expect(table.deliver(.result(SessionFixture.live(2, 2)), to: handle) == true)
    }

    @Test func aSubscriptionThatBeginsAgainTakesAnswersFromThenOn() {
        var table = SubscriptionTable<String>()
        _ = table.insert("a", id: "1", key: key, known: nil)
        #expect(take(&table, .result(SessionFixture.live(1, 5, epoch: 9))) == ["a/1"])
        table.forgetPositions(key, from: 7)
        #expect(table.take(.result(SessionFixture.live(2, 1)), key: key, answers: 6).isEmpty)
        #expect(table.take(.result(SessionFixture.live(1, 1)), key: key, answers: 7).isEmpty, "the same content")
        #expect(table.take(.result(SessionFixture.live(2, 2)), key: key, answers: 7).count == 1)
    }

    @Test func unchangedMovesThePositionOnlyForward() {
        var table = SubscriptionTable<String>()
        let handle = table.insert("a", id: "1", key: key, known: SessionFixture.known(1, SessionFixture.position(5)))
        let digest = SessionFixture.digest(1)
        #expect(table.deliver(.unchanged(digest: digest, position: SessionFixture.position(3)), to: handle) == false)
        #expect(table.deliver(.result(SessionFixture.live(2, 4)), to: handle) == false)
        #expect(table.deliver(.unchanged(digest: digest, position: SessionFixture.position(9)), to: handle) == false)
        #expect(table.deliver(.result(SessionFixture.live(2, 8)), to: handle) == false)
        #expect(table.deliver(.result(SessionFixture.live(2, 10)), to: handle) == true)
    }

    @Test func afterAFailureTheSameResultIsNews() {
        var table = SubscriptionTable<String>()
        let handle = table.insert("a", id: "1", key: key, known: SessionFixture.known(1, SessionFixture.position(1)))
        #expect(take(&table, .failed(RequestError(.timeout, "slow"))) == ["a/1"])
        #expect(table.deliver(.result(SessionFixture.live(1, 2)), to: handle) == true)
    }

    @Test func removalLeavesNothing() {
        var table = SubscriptionTable<String>()
        let first = table.insert("a", id: "1", key: key, known: nil)
        let second = table.insert("a", id: "1", key: key, known: nil)
        #expect(first != second && table.count == 2)
        #expect(table.remove(first) == true)
        #expect(table.remove(first) == false)
        #expect(take(&table, .result(SessionFixture.live(1, 1))) == ["a/1"])
        #expect(table.remove(second) == true)
        #expect(table.count == 0)
        #expect(table.deliver(.result(SessionFixture.live(2, 2)), to: second) == false)
        #expect(take(&table, .result(SessionFixture.live(3, 3))).isEmpty)
    }
}
