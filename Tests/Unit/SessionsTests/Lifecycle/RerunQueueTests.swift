import Sessions
import Testing

@Suite struct RerunQueueTests {
    @Test func requestsDuringARunLeadToOneMore() {
        var queue = RerunQueue()
        #expect(queue.requested("a") == true)
        #expect(queue.requested("a") == false)
        #expect(queue.requested("a") == false)
        #expect(queue.requested("b") == true, "another subscription")
        #expect(queue.answered("a") == true)
        #expect(queue.requested("a") == true)
        #expect(queue.answered("a") == false)
        #expect(queue.answered("a") == false, "a refresh that nobody requested")
    }

    @Test func anEndedRunTakesItsRequestsWithIt() {
        var queue = RerunQueue()
        _ = queue.requested("a")
        _ = queue.requested("a")
        queue.ended("a")
        #expect(queue.answered("a") == false)
        #expect(queue.requested("a") == true)
    }
}
