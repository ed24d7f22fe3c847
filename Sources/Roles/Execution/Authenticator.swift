package import LiveModel

/// Who sent a request, and until when that holds.
package struct Identity: Sendable, Hashable {
    /// Nil: signed out.
    package let auth: Auth?
    /// Nothing may be delivered on this identity from here on; nil without a limit.
    package let expiresAtMs: Int64?
    /// The name of the API key that it came by; nil for one that came by a token or by nothing.
    package let apiKey: String?
    /// Stands for the user, or for the address of a signed-out sender (`at`): who is charged for slow statements. The same
    /// only within this process.
    package private(set) var caller: UInt64 = 0

    package static let signedOut = Identity(auth: nil, expiresAtMs: nil)

    package init(auth: Auth?, expiresAtMs: Int64?, apiKey: String? = nil) {
        self.auth = auth
        self.expiresAtMs = expiresAtMs
        self.apiKey = apiKey
        if let name = auth?.uid ?? apiKey { caller = UInt64(truncatingIfNeeded: name.hashValue) }
    }

    /// The identity as it comes from an address; nil: not known.
    package func at(_ address: String?) -> Identity {
        guard let address, auth == nil, apiKey == nil else { return self }
        var identity = self
        identity.caller = UInt64(truncatingIfNeeded: address.hashValue)
        return identity
    }
}

/// Judges tokens and API keys.
package protocol Authenticator: Sendable {
    /// - Throws: `.unauthenticated` saying what is wrong with the token or the key.
    func authenticate(_ credentials: Credentials) async throws(RequestError) -> Identity
    /// Why an identity that was let in counts no more, or never did.
    func refusal(of identity: Identity) -> RequestError?
}
