package import LiveModel

/// An update of a subscription, with the result in the form that its session writes.
package enum SubscriptionUpdate<Result> {
    case result(Result)
    /// The client holds the present result, with this position. Only for subscriptions that requested confirmation.
    /// Indirect, so that the others, one for each delivery, stay small.
    indirect case unchanged(KnownResult)
    case failed(RequestError)
}

extension SubscriptionUpdate: Sendable where Result: Sendable {}

/// The reaction of a session to an update of one of its subscriptions.
package enum DeliveryDecision<Result> {
    /// Write the result now.
    case write(Result)
    /// Confirm the result that the client holds. Indirect as above.
    indirect case confirm(KnownResult)
    /// The result waits in the queue.
    case hold
    /// The client reads too slowly: close the session with a resumable code.
    case close
    /// Report the error of one refresh; the subscription continues.
    case fail(RequestError)
    /// End the subscription and report why: its authorization has ended.
    case end(RequestError)
}

extension DeliveryQueue {
    /// Decides about an update.
    /// - Parameters:
    ///   - byteCount: the size of a result.
    ///   - unwrittenBytes: bytes accepted by the connection but not yet by the kernel.
    ///   - refusal: the reason that the subscription may not go on, if any.
    package mutating func decide(
        _ update: SubscriptionUpdate<Pending>, id: String, byteCount: (Pending) -> Int, unwrittenBytes: Int,
        refusal: RequestError? = nil
    ) -> DeliveryDecision<Pending> {
        if let refusal { return .end(refusal) }
        switch update {
        case .result(let result):
            switch offer(result, id: id, bytes: byteCount(result), unwrittenBytes: unwrittenBytes) {
            case .write: return .write(result)
            case .hold: return .hold
            case .close: return .close
            }
        case .unchanged(let known): return .confirm(known)
        case .failed(let error):
            failed(id: id)
            return .fail(error)
        }
    }
}
