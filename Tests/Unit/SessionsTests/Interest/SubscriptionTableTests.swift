import LiveModel
import SeededRandom
import Sessions
import Testing

@Suite struct SubscriptionTableTests {
    private let key = SessionFixture.query().key

    private typealias Handle = SubscriptionTable.Handle

    private func take(_ table: inout SubscriptionTable, _ delivery: InterestMachine.Delivery) -> [Handle] {
        table.take(delivery, key: key)
    }

    @Test func everySubscriptionGetsAResultOnce() {
        var table = SubscriptionTable()
        let first = table.insert(key, known: nil)
        let second = table.insert(key, known: nil)
        let knowing = table.insert(key, known: SessionFixture.known(1, SessionFixture.position(1)))
        #expect(take(&table, .result(SessionFixture.live(1, 2))) == [first, second])
        #expect(take(&table, .result(SessionFixture.live(1, 3))).isEmpty, "the same content is no news")
        #expect(take(&table, .result(SessionFixture.live(2, 4))) == [first, second, knowing])
    }

    @Test func nothingOlderThanWhatTheClientHolds() {
        var table = SubscriptionTable()
        let handle = table.insert(key, known: SessionFixture.known(1, SessionFixture.position(5)))
        #expect(table.deliver(.result(SessionFixture.live(2, 4)), to: handle) == false)
        #expect(table.deliver(.result(SessionFixture.live(2, 6)), to: handle) == true)
        #expect(take(&table, .result(SessionFixture.live(1, 5))).isEmpty)
    }

    @Test func contentWithoutPositionIsComparedByContent() {
        var table = SubscriptionTable()
        let handle = table.insert(key, known: SessionFixture.known(1))
        #expect(table.deliver(.result(SessionFixture.live(1, 1)), to: handle) == false)
        #expect(table.deliver(.result(SessionFixture.live(2, 2)), to: handle) == true)
    }

    @Test func aSubscriptionThatBeginsAgainTakesAnswersFromThenOn() {
        var table = SubscriptionTable()
        let handle = table.insert(key, known: nil)
        #expect(take(&table, .result(SessionFixture.live(1, 5, epoch: 9))) == [handle])
        table.forgetPositions(key, from: 7)
        #expect(table.take(.result(SessionFixture.live(2, 1)), key: key, answers: 6).isEmpty)
        #expect(table.take(.result(SessionFixture.live(1, 1)), key: key, answers: 7).isEmpty, "the same content")
        #expect(table.take(.result(SessionFixture.live(2, 2)), key: key, answers: 7).count == 1)
    }

    /// An event loop takes the step later than it was decided.
    @Test func subscriptionsThatBeganAfterTheRestartKeepTheirRules() {
        var table = SubscriptionTable()
        let known = SessionFixture.known(1, SessionFixture.position(5, epoch: 9))
        let fenced = table.insert(key, known: known, fencedUntil: 8)
        let later = table.insert(key, known: known, fromAnnouncement: 8)
        table.forgetPositions(key, from: 7)
        // Read before the result that the clients hold.
        let older = InterestMachine.Delivery.result(SessionFixture.live(2, 4, epoch: 9))
        #expect(table.take(older, key: key, answers: 7).isEmpty)
        let begunAgain = InterestMachine.Delivery.result(SessionFixture.live(3, 1))
        #expect(table.take(begunAgain, key: key, answers: 8).first == fenced)
        #expect(table.contains(later))
    }

    @Test func unchangedMovesThePositionOnlyForward() {
        var table = SubscriptionTable()
        let handle = table.insert(key, known: SessionFixture.known(1, SessionFixture.position(5)))
        let digest = SessionFixture.digest(1)
        #expect(table.deliver(.unchanged(digest: digest, position: SessionFixture.position(3)), to: handle) == false)
        #expect(table.deliver(.result(SessionFixture.live(2, 4)), to: handle) == false)
        #expect(table.deliver(.unchanged(digest: digest, position: SessionFixture.position(9)), to: handle) == false)
        #expect(table.deliver(.result(SessionFixture.live(2, 8)), to: handle) == false)
        #expect(table.deliver(.result(SessionFixture.live(2, 10)), to: handle) == true)
    }

    @Test func afterAFailureTheSameResultIsNews() {
        var table = SubscriptionTable()
        let handle = table.insert(key, known: SessionFixture.known(1, SessionFixture.position(1)))
        #expect(take(&table, .failed(RequestError(.timeout, "slow"))) == [handle])
        #expect(table.deliver(.result(SessionFixture.live(1, 2)), to: handle) == true)
    }

    @Test func removalLeavesNothing() {
        var table = SubscriptionTable()
        let first = table.insert(key, known: nil)
        let second = table.insert(key, known: nil)
        #expect(first != second && table.count == 2)
        #expect(table.remove(first) == true)
        #expect(table.remove(first) == false)
        #expect(take(&table, .result(SessionFixture.live(1, 1))) == [second])
        #expect(table.remove(second) == true)
        #expect(table.count == 0)
        #expect(table.deliver(.result(SessionFixture.live(2, 2)), to: second) == false)
        #expect(take(&table, .result(SessionFixture.live(3, 3))).isEmpty)
    }

    @Test func slotsAreReusedAndFormerHandlesStayInvalid() {
        var table = SubscriptionTable()
        let other = LiveQueryKey(digest: SessionFixture.digest(99))
        let first = table.insert(key, known: nil)
        let elsewhere = table.insert(other, known: nil)
        let last = table.insert(key, known: nil)
        table.remove(first)
        let next = table.insert(other, known: nil)
        #expect(next.slot == first.slot && next != first && !table.contains(first) && table.contains(next))
        #expect(take(&table, .result(SessionFixture.live(1, 1))) == [last])
        #expect(table.take(.result(SessionFixture.live(1, 1)), key: other) == [elsewhere, next])
        table.remove(last)
        #expect(table.take(.result(SessionFixture.live(2, 2)), key: other) == [elsewhere, next])
        table.remove(elsewhere)
        #expect(table.take(.result(SessionFixture.live(3, 3)), key: other) == [next])
    }

    /// Compares the table with sets of handles by live query.
    @Test func randomInsertionsAndRemovalsKeepEveryLiveQuerysSubscriptions() {
        var random = SeededRandom(seed: 11)
        var table = SubscriptionTable()
        let keys = (0..<7).map { LiveQueryKey(digest: SessionFixture.digest(100 + $0)) }
        var model: [LiveQueryKey: Set<Handle>] = [:]
        for step in 1...3_000 {
            let key = keys.randomElement(using: &random)!
            let isGrowing = step % 1_000 < 500
            if Int.random(in: 0..<10, using: &random) < (isGrowing ? 7 : 3) {
                model[key, default: []].insert(table.insert(key, known: nil))
            } else if let handle = model[key]?.min(by: { $0.slot < $1.slot }) {
                model[key]?.remove(handle)
                #expect(table.remove(handle) && !table.remove(handle))
            }
            #expect(table.count == model.values.reduce(0) { $0 + $1.count })
            guard step % 50 == 0 else { continue }
            for key in keys {
                let due = table.take(.failed(RequestError(.timeout, "slow")), key: key)
                #expect(Set(due) == model[key] ?? [] && due.count == Set(due).count)
            }
        }
    }
}
