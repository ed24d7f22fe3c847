import LiveModel
import Sessions
import Testing

@Suite struct DeliveryDecisionTests {
    private func decide(
        _ update: SubscriptionUpdate<String>, in queue: inout DeliveryQueue<String>, unwrittenBytes: Int = 1,
        refusal: RequestError? = nil
    ) -> String {
        let decision = queue.decide(
            update, id: "1", byteCount: \.utf8.count, unwrittenBytes: unwrittenBytes, refusal: refusal)
        return switch decision {
        case .write(let result): "write \(result)"
        case .confirm(let known): "confirm \(known.digest.hex)"
        case .hold: "hold"
        case .close: "close"
        case .fail(let error): "fail \(error.code.rawValue)"
        case .end(let error): "end \(error.code.rawValue)"
        }
    }

    @Test func resultIsWrittenHeldOrClosesTheSession() {
        var queue = DeliveryQueue<String>(bytesMax: 10)
        #expect(decide(.result("a"), in: &queue, unwrittenBytes: 0) == "write a")
        #expect(decide(.result("b"), in: &queue) == "hold")
        #expect(decide(.result("1234567890"), in: &queue) == "close")
        #expect(queue.next(unwrittenBytes: 0)?.item == "b")
    }

    @Test func aConfirmationIsSentAtOnce() {
        var queue = DeliveryQueue<String>(bytesMax: 10)
        let known = SessionFixture.known(1, SessionFixture.position(1))
        #expect(decide(.unchanged(known), in: &queue) == "confirm \(known.digest.hex)")
        #expect(queue.isEmpty)
    }

    @Test func errorReplacesTheResultThatWaits() {
        var queue = DeliveryQueue<String>(bytesMax: 10)
        #expect(decide(.result("a"), in: &queue) == "hold")
        #expect(decide(.failed(RequestError(.databaseError, "")), in: &queue) == "fail DATABASE_ERROR")
        #expect(queue.isEmpty)
    }

    @Test func refusalEndsTheSubscriptionWhateverTheUpdate() {
        var queue = DeliveryQueue<String>(bytesMax: 10)
        let refusal = RequestError(.permissionDenied, "")
        for update in [.result("a"), .failed(RequestError(.databaseError, ""))] as [SubscriptionUpdate<String>] {
            #expect(decide(update, in: &queue, unwrittenBytes: 0, refusal: refusal) == "end PERMISSION_DENIED")
        }
        #expect(queue.isEmpty)
    }
}
