import LiveModel

/// The long-polls of one client on one connection: which result answers a poll, which one waits for the next poll, and
/// when the subscription ends.
struct PollMachine<Shared> {
    private enum State {
        /// The client waits for a result other than this.
        case waiting(known: KnownResult?)
        /// The client was sent this result, and the other one has come since.
        case answered(KnownResult, newer: (shared: Shared, digest: Digest)?)
        case ended
    }

    private var state: State

    /// - Parameter known: the result that the client has.
    init(known: KnownResult?) { state = .waiting(known: known) }

    enum Delivery: Equatable {
        /// Answer the poll; the subscription ends.
        case end
        /// Answer the poll; the subscription remains until the next one.
        case answer(known: KnownResult?)
        /// Nothing to send: the result waits, or nobody does.
        case keep
    }

    /// A result arrived.
    /// - Parameter mayRemain: whether the subscription may remain after an answer; read only if a poll waits.
    mutating func delivered(
        _ shared: Shared, _ result: KnownResult, mayRemain: @autoclosure () -> Bool
    ) -> Delivery {
        switch state {
        case .answered(let known, _): state = .answered(known, newer: (shared, result.digest))
        case .waiting(let known):
            guard mayRemain() else { return .end }
            state = .answered(result, newer: nil)
            return .answer(known: known)
        case .ended: break
        }
        return .keep
    }

    enum NextPoll {
        /// The poll must be prepared like a first one; the subscription ends.
        case refuse
        case deliver(Shared)
        case wait(ms: Int64)
    }

    /// The client polls again and has the result that it was sent.
    /// - Parameter waitMs: how long the poll waits; nil: it must be prepared like a first one.
    mutating func polledAgain(waitMs: @autoclosure () -> Int64?) -> NextPoll {
        guard case .answered(let known, let newer) = state, let waitMs = waitMs() else { return .refuse }
        state = .waiting(known: known)
        if let newer, newer.digest != known.digest { return .deliver(newer.shared) }
        return .wait(ms: waitMs)
    }

    enum End: Equatable {
        /// A poll waits for an answer.
        case answer(known: KnownResult?)
        case silent
    }

    /// Ends the subscription, for whatever reason.
    mutating func end() -> End {
        defer { state = .ended }
        if case .waiting(let known) = state { return .answer(known: known) }
        return .silent
    }
}
