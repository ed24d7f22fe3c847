package import LiveModel
package import Postgres

/// A request's sender, and how long its credentials are valid.
package struct Identity: Sendable, Hashable {
    /// Nil for a signed-out sender.
    package let auth: Auth?
    /// The time after which nothing may be delivered to this identity; nil without a limit.
    package let expiresAtMs: Int64?
    /// The name of the API key that authenticated the request; nil with a token or without credentials.
    package let apiKey: String?
    /// The caller that is charged for slow statements: the user and the address (`at`), or the address alone for a
    /// signed-out sender. An API key is charged only while the address is unknown, because all clients of an app share
    /// it. The numbers differ between processes.
    package private(set) var caller = Caller.unknown

    /// The user, or the name of the API key; nil for a signed-out sender.
    package var userName: String? { auth?.uid ?? apiKey }

    package static let signedOut = Identity(auth: nil, expiresAtMs: nil)

    package init(auth: Auth?, expiresAtMs: Int64?, apiKey: String? = nil) {
        self.auth = auth
        self.expiresAtMs = expiresAtMs
        self.apiKey = apiKey
        if let name = auth?.uid ?? apiKey { caller = Caller(Self.number(of: name)) }
    }

    /// Returns the identity that is also charged by address.
    /// - Parameters:
    ///   - address: nil if unknown.
    ///   - isShared: whether the address stands for many clients. Then it is charged only for signed-out ones.
    package func at(_ address: String?, isShared: @autoclosure () -> Bool = false) -> Identity {
        guard let address else { return self }
        var identity = self
        let number = Self.number(of: address)
        identity.caller =
            auth == nil
            ? Caller(number, address: number) : Caller(caller.number, address: isShared() ? nil : number)
        return identity
    }

    private static func number(of name: String) -> UInt64 { UInt64(truncatingIfNeeded: name.hashValue) }
}

/// Verifies tokens and API keys.
package protocol Authenticator: Sendable {
    /// - Throws: `.unauthenticated` with what is wrong with the token or the key.
    func authenticate(_ credentials: Credentials) async throws(RequestError) -> Identity
    /// Returns why an identity is not admitted, or no longer; nil if it is.
    func refusal(of identity: Identity) -> RequestError?
}
