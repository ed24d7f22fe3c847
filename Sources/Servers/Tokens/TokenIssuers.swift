import JSON
package import LiveModel
package import Settings

/// The verifiers of all issuers that a node trusts. A token goes to the one whose issuer it names, which is not believed
/// until that one has verified it; one that names none of them goes to that of `auth.mode`.
package final class TokenIssuers: Sendable {
    private let named: [String: TokenVerifier]
    private let standard: TokenVerifier
    private let tokenBytesMax: Int

    /// - Throws: when an HS256 secret is too short.
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
                    code: .issuersInvalid, description: "the issuer \(entry.issuer) stands there twice")
            }
            named[entry.issuer] = try await TokenVerifier(TokenPolicy(entry, auth, downloads))
        }
        self.named = named
    }

    /// Fetches all key sets.
    /// - Returns: what went wrong, by issuer; that of `auth.mode` has an empty name.
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

    /// - Throws: as `TokenVerifier.verify`.
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
    /// Of one entry of `auth.issuersFile`; clocks, refreshing and unsigned tokens are as for all.
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
