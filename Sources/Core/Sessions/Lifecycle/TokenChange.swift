package import LiveModel

/// The effect on a subscription of a new token for its session, or of losing the token.
package enum TokenChange: Sendable, Hashable {
    /// The subscription goes on: the live query is the same.
    case goesOn
    /// The session follows the live query of the new token instead of the former one.
    case restarts
    case ends(RequestError)

    /// Decides about a subscription.
    /// - Parameters:
    ///   - followed: its live query; nil: it is suspended because the former token has ended.
    ///   - key: the live query that the new token, or none, makes of it.
    ///   - refusal: why the operation may not run with that token.
    package init(followed: LiveQueryKey?, key: LiveQueryKey, refusal: RequestError?) {
        if let refusal {
            self = .ends(refusal)
        } else {
            self = followed == key ? .goesOn : .restarts
        }
    }
}

/// The effect of the end of a session's token.
package enum TokenEnd: Sendable, Hashable {
    /// All subscriptions end: the client cannot send a new token.
    case endsAll
    /// Only the end is reported: no subscription needs a token.
    case goesOn
    /// These subscriptions are suspended until a new token arrives, for a grace period at most.
    case suspends([String])

    /// - Parameter followed: the session's subscriptions, and what becomes of each without a token; nil: it needs one.
    package init(takesNewTokens: Bool, followed: [(id: String, signedOut: TokenChange?)]) {
        guard takesNewTokens else {
            self = .endsAll
            return
        }
        let needing = followed.filter { $0.signedOut != .goesOn }.map(\.id)
        self = needing.isEmpty ? .goesOn : .suspends(needing)
    }
}
