package import LiveModel

/// The user and expiry of a verified token.
package struct VerifiedToken: Sendable, Hashable {
    package let auth: Auth
    /// The claim `exp` in milliseconds since 1970, without leeway; nil if the token never expires.
    package let expiresAtMs: Int64?
}

/// The reason that a token is rejected.
enum TokenFailure: Error, Hashable {
    case tooLarge(bytesMax: Int)
    case malformed(String)
    case unsigned
    case algorithm
    case unknownKey
    case badSignature
    case expired
    case notYetValid
    case wrongAudience
    case wrongIssuer
    case nothingTrusted
    /// No keys have been fetched yet, so the token cannot be verified.
    case noKeys

    /// The error for the client. It repeats nothing of the token.
    var requestError: RequestError {
        switch self {
        case .tooLarge(let bytesMax): unauthenticated("the token is longer than \(bytesMax) bytes")
        case .malformed(let what): unauthenticated("the token is malformed: \(what)")
        case .unsigned: unauthenticated("the token is not signed")
        case .algorithm: unauthenticated("the token's algorithm does not match its key")
        case .unknownKey: unauthenticated("the token is signed with an unknown key")
        case .badSignature: unauthenticated("the token's signature is invalid")
        case .expired: unauthenticated("the token has expired")
        case .notYetValid: unauthenticated("the token is not valid yet")
        case .wrongAudience: unauthenticated("the token is for another audience")
        case .wrongIssuer: unauthenticated("the token is from another issuer")
        case .nothingTrusted: unauthenticated("this server accepts no signed tokens")
        case .noKeys: RequestError(.unavailable, "the keys that verify tokens cannot be fetched")
        }
    }

    private func unauthenticated(_ message: String) -> RequestError {
        RequestError(.unauthenticated, message)
    }
}
