/// The rate at which one peer may send messages: a token for each, and a debt for those that had arrived already when
/// the tokens ran out.
///
/// While there is a debt, nothing more is to be read from the peer. A debt above `burst` is excessive: a single read
/// contained more messages than a well-behaved client sends in a burst. Time is an argument.
package struct InputRate: Sendable {
    package enum Step: Sendable, Hashable {
        case within
        /// Read no more until `pauseMs` says that the debt is paid.
        case over
        /// End the connection.
        case excessive
    }

    private let perSecond: Int
    private let burst: Int
    private var bucket: TokenBucket
    private var debt = 0

    /// - Parameter perSecond: 0: no limit.
    package init(perSecond: Int, burst: Int) {
        self.perSecond = perSecond
        self.burst = max(1, burst)
        bucket = TokenBucket(perSecond: max(1, perSecond), burst: max(1, burst))
    }

    /// Counts one message.
    package mutating func arrived(nowMs: Int64) -> Step {
        guard perSecond > 0 else { return .within }
        pay(nowMs: nowMs)
        if debt == 0, bucket.takeOne(nowMs: nowMs) { return .within }
        debt = min(debt + 1, burst + 1)
        return debt > burst ? .excessive : .over
    }

    /// Returns the time until the debt is paid; 0: it is, and reading may go on.
    package mutating func pauseMs(nowMs: Int64) -> Int64 {
        pay(nowMs: nowMs)
        return debt == 0 ? 0 : max(1, (Int64(debt) * 1_000 + Int64(perSecond) - 1) / Int64(perSecond))
    }

    private mutating func pay(nowMs: Int64) {
        guard debt > 0 else { return }
        let paid = min(debt, bucket.available(nowMs: nowMs))
        bucket.take(paid)
        debt -= paid
    }
}
