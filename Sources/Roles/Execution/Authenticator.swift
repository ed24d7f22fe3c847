package import LiveModel

/// A request's sender, and how long its credentials are valid.
package struct Identity: Sendable, Hashable {
    /// Nil for a signed-out sender.
    package let auth: Auth?
    /// The time after which nothing may be delivered to this identity; nil without a limit.
    package let expiresAtMs: Int64?
    /// The name of the API key that authenticated the request; nil with a token or without credentials.
    package let apiKey: String?
    /// A number for the user, or for the address of a signed-out sender (`at`): slow statements are charged to it. It
    /// differs between processes.
    package private(set) var caller: UInt64 = 0

    package static let signedOut = Identity(auth: nil, expiresAtMs: nil)

    package init(auth: Auth?, expiresAtMs: Int64?, apiKey: String? = nil) {
        self.auth = auth
        self.expiresAtMs = expiresAtMs
        self.apiKey = apiKey
        if let name = auth?.uid ?? apiKey { caller = UInt64(truncatingIfNeeded: name.hashValue) }
    }

    /// Returns the identity in which a signed-out sender is charged by address.
    /// - Parameter address: nil if unknown.
    package func at(_ address: String?) -> Identity {
        guard let address, auth == nil, apiKey == nil else { return self }
        var identity = self
        identity.caller = UInt64(truncatingIfNeeded: address.hashValue)
        return identity
    }
}

/// Verifies tokens and API keys.
package protocol Authenticator: Sendable {
    /// - Throws: `.unauthenticated` with what is wrong with the token or the key.
    func authenticate(_ credentials: Credentials) async throws(RequestError) -> Identity
    /// Returns why an identity is not admitted, or no longer; nil if it is.
    func refusal(of identity: Identity) -> RequestError?
}
