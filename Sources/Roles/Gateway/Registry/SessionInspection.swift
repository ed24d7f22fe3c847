package import LiveModel

/// A session as operators look into it.
package struct SessionInspection: Sendable {
    package struct Subscription: Sendable {
        /// The client's name for it; empty where there is one only.
        package let id: String
        package let key: LiveQueryKey
        /// The result that the client was last sent; nil if that is not known.
        package let known: KnownResult?
        /// Whether it waits for a new token.
        package let isSuspended: Bool
    }

    /// Empty if signed out.
    package var uid = ""
    /// When the token expires, in milliseconds since 1970; nil without a limit.
    package var expiresAtMs: Int64?
    /// Bytes that the client has yet to read.
    package var pendingBytes = 0
    /// Results that wait until it reads.
    package var queuedResults = 0
    package var subscriptions: [Subscription] = []
}
