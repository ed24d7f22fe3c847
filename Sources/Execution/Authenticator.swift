package import LiveModel

/// Who sent a request, and until when that holds.
package struct Identity: Sendable, Hashable {
    /// Nil: signed out.
    package let auth: Auth?
    /// Nothing may be delivered on this identity from here on; nil without a limit.
    package let expiresAtMs: Int64?

    package static let signedOut = Identity(auth: nil, expiresAtMs: nil)

    package init(auth: Auth?, expiresAtMs: Int64?) {
        self.auth = auth
        self.expiresAtMs = expiresAtMs
    }
}

/// Judges bearer tokens.
package protocol Authenticator: Sendable {
    /// - Throws: `.unauthenticated` saying what is wrong with the token.
    func authenticate(bearer: String) async throws(RequestError) -> Identity
}
