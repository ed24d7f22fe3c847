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
        case .tooLarge(let bytesMax): unauthenticated("The token is longer than \(bytesMax) bytes.")
        case .malformed(let what): unauthenticated("The token is malformed: \(what).")
        case .unsigned: unauthenticated("The token is not signed.")
        case .algorithm: unauthenticated("The token's algorithm does not match its key.")
        case .unknownKey: unauthenticated("The token is signed with an unknown key.")
        case .badSignature: unauthenticated("The token's signature is invalid.")
        case .expired: unauthenticated("The token has expired.")
        case .notYetValid: unauthenticated("The token is not valid yet.")
        case .wrongAudience: unauthenticated("The token is for another audience.")
        case .wrongIssuer: unauthenticated("The token is from another issuer.")
        case .nothingTrusted: unauthenticated("This server accepts no signed tokens.")
        case .noKeys: RequestError(.unavailable, "The keys that verify tokens cannot be fetched.")
        }
    }

    private func unauthenticated(_ message: String) -> RequestError {
        RequestError(.unauthenticated, message)
    }
}
