/// Whom the verifier trusts and what a token must say.
package struct TokenPolicy: Sendable {
    package enum Trust: Sendable {
        /// Nobody signs: every token is refused, but for unsigned ones where those are allowed.
        case nobody
        /// HS256 with this secret, at least 32 bytes (RFC 7518 §3.2).
        case secret([UInt8])
        /// RS256 and ES256 with the keys of a JSON Web Key Set.
        case keySet(KeySource)
    }

    package var trust: Trust
    /// One of these must be the claim `aud` or one of its elements; empty: unchecked, unless there are `clientIDs`.
    package var audiences: [String] = []
    /// Or one of these the claim `client_id`, which Cognito's access tokens have in place of an audience.
    package var clientIDs: [String] = []
    /// The claim that names the user; nil: Firebase's `user_id`, else `sub`.
    package var uidClaim: String?
    /// Before each uid, so that users of two issuers are never the same.
    package var uidPrefix = ""
    /// Must be the claim `iss`; nil: unchecked.
    package var issuer: String?
    /// A token without `exp` is refused.
    package var expiryRequired = false
    /// Difference of clocks that `exp` and `nbf` forgive.
    package var leewayMs = 5000
    /// Accept `alg: none` with an empty signature, as Firebase's Auth emulator makes it. Only for development.
    package var unsignedAllowed = false
    /// Age at which a key set is fetched anew. When that fails the old keys stay.
    package var refreshMs = 3_600_000
    /// Least time between two fetches, so that tokens with invented key ids cause no storm.
    package var refreshGapMs = 10_000
    /// Longer tokens are refused unread.
    package var tokenBytesMax = 16 << 10
    /// Bytes of verified tokens that are remembered.
    package var cacheBytesMax = 16 << 20

    package init(trust: Trust) {
        self.trust = trust
    }

    /// ID tokens of a Firebase project. Source: Firebase, "Verify ID tokens using a third-party JWT library".
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

/// A setting or key set that cannot be worked with.
package struct TokenSetupError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        case secretTooShort, keySetUnreadable, keySetInvalid, issuersInvalid
    }

    package let code: Code
    package let description: String
}
