/// The keys that a verifier trusts and the claims that a token must have.
package struct TokenPolicy: Sendable {
    /// The keys that may sign a token.
    package enum Trust: Sendable {
        /// Nothing: every token is rejected, except unsigned ones where those are allowed.
        case nothing
        /// HS256 with this secret of at least 32 bytes (RFC 7518 section 3.2).
        case secret([UInt8])
        /// RS256 and ES256 with the keys of a JSON Web Key Set.
        case keySet(KeySource)
    }

    package var trust: Trust
    /// Accepted values of the claim `aud` (or one of its elements); unchecked if this and `clientIDs` are empty.
    package var audiences: [String] = []
    /// Accepted values of the claim `client_id`, which Cognito's access tokens have instead of an audience.
    package var clientIDs: [String] = []
    /// The claim that identifies the user; nil means Firebase's `user_id`, else `sub`.
    package var uidClaim: String?
    /// A prefix for each uid, so that users of two issuers are never the same.
    package var uidPrefix = ""
    /// The required claim `iss`; nil if unchecked.
    package var issuer: String?
    /// Whether a token without `exp` is rejected.
    package var expiryRequired = false
    /// The clock skew allowed for `exp` and `nbf`.
    package var leewayMs = 5000
    /// Whether to accept `alg: none` with an empty signature, as Firebase's Auth emulator issues it. For development
    /// only.
    package var unsignedAllowed = false
    /// The age at which a key set is fetched again. If that fails the old keys stay.
    package var refreshMs = 3_600_000
    /// The minimum time between two fetches, so that tokens with invented key ids cause no storm.
    package var refreshGapMs = 10_000
    /// The longest token; longer ones are rejected unread.
    package var tokenBytesMax = 16 << 10
    /// The size of the cache of verified tokens.
    package var cacheBytesMax = 16 << 20

    package init(trust: Trust) {
        self.trust = trust
    }

    /// The policy for ID tokens of a Firebase project. Source: Firebase, "Verify ID tokens using a third-party JWT
    /// library".
    package static func firebase(projectId: String, source: KeySource) -> TokenPolicy {
        var policy = TokenPolicy(trust: .keySet(source))
        policy.audiences = [projectId]
        policy.issuer = "https://securetoken.google.com/\(projectId)"
        policy.expiryRequired = true
        return policy
    }

    package static let firebaseKeysURL =
        "https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com"
}

/// An invalid setting or key set.
package struct TokenSetupError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        case secretTooShort, keySetUnreadable, keySetInvalid, issuersInvalid
    }

    package let code: Code
    package let description: String
}
