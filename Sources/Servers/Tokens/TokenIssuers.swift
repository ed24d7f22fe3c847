import JSON
package import LiveModel
package import Settings

/// The verifiers of all issuers that a node trusts. A token's `iss` claim selects the verifier, and counts only once
/// that one has verified the token; tokens of other issuers go to the verifier of `auth.mode`.
package final class TokenIssuers: Sendable {
    private let named: [String: TokenVerifier]
    private let standard: TokenVerifier
    private let tokenBytesMax: Int

    /// - Throws: `TokenSetupError` if an HS256 secret is too short or an issuer is listed twice.
    package init(
        _ auth: SectionSettings<AuthSection>, issuers: [IssuerEntry] = [], downloads: KeyDownloads
    ) async throws(TokenSetupError) {
        let policy = TokenPolicy(auth, downloads)
        tokenBytesMax = policy.tokenBytesMax
        standard = try await TokenVerifier(policy)
        var named: [String: TokenVerifier] = [:]
        for entry in issuers {
            guard named[entry.issuer] == nil, entry.issuer != policy.issuer else {
                throw TokenSetupError(
                    code: .issuersInvalid, description: "the issuer \(entry.issuer) is listed twice")
            }
            named[entry.issuer] = try await TokenVerifier(TokenPolicy(entry, auth, downloads))
        }
        self.named = named
    }

    /// Fetches all key sets.
    /// - Returns: the errors by issuer; the issuer of `auth.mode` has an empty name.
    package func loadKeys(nowMs: Int64) async -> [(issuer: String, error: TokenSetupError)] {
        var failures: [(issuer: String, error: TokenSetupError)] = []
        for (issuer, verifier) in [("", standard)] + named.sorted(by: { $0.key < $1.key }) {
            do throws(TokenSetupError) {
                try await verifier.loadKeys(nowMs: nowMs)
            } catch {
                failures.append((issuer, error))
            }
        }
        return failures
    }

    /// Verifies a token with its issuer's verifier.
    /// - Throws: the same as `TokenVerifier.verify`.
    package func verify(_ token: String, nowMs: Int64) async throws(RequestError) -> VerifiedToken {
        try await verifier(of: token).verify(token, nowMs: nowMs)
    }

    private func verifier(of token: String) -> TokenVerifier {
        guard !named.isEmpty, token.utf8.count <= tokenBytesMax,
            let issuer = (try? SignedToken(Array(token.utf8)))?.claims["iss"]?.stringValue
        else { return standard }
        return named[issuer] ?? standard
    }
}

extension TokenPolicy {
    /// Creates the policy of an entry of `auth.issuersFile`. Leeway, refresh interval and unsigned tokens are the same
    /// for all issuers.
    init(_ entry: IssuerEntry, _ auth: SectionSettings<AuthSection>, _ downloads: KeyDownloads) {
        let source =
            entry.jwksFile.map { KeySource.file($0) } ?? entry.jwksUrl.map { KeySource.url($0, by: downloads) }
            ?? .discovered(issuer: entry.issuer, by: downloads)
        self.init(trust: .keySet(source))
        issuer = entry.issuer
        audiences = entry.audiences
        clientIDs = entry.clientIDs
        uidClaim = entry.uidClaim
        uidPrefix = entry.uidPrefix
        expiryRequired = true
        leewayMs = auth.leewayMs
        refreshMs = auth.jwksRefreshMs
        unsignedAllowed = auth.unsignedAllowed
    }
}
