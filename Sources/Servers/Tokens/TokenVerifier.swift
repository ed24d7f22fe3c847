package import LiveModel
import Synchronization

/// Verifies bearer ID tokens: signature, then claims. Time is an argument; nothing here reads a clock.
///
/// `verifyNow` answers at once for most tokens; only a token whose key must be fetched first needs `verify`, which
/// waits for the fetch. Valid tokens are cached until they expire or the keys change.
package final class TokenVerifier: Sendable {
    private let policy: TokenPolicy
    private let secretKey: VerificationKey?
    private let fetcher: KeyFetcher?
    private let ring: Mutex<KeyRing>
    private let cache: Mutex<TokenCache>

    /// - Throws: `TokenSetupError` if an HS256 secret is too short. Does not fetch keys: see `loadKeys`.
    package init(_ policy: TokenPolicy) async throws(TokenSetupError) {
        self.policy = policy
        switch policy.trust {
        case .nothing: (secretKey, fetcher) = (nil, nil)
        case .secret(let secret): (secretKey, fetcher) = (try await .secret(secret), nil)
        case .keySet(let source): (secretKey, fetcher) = (nil, KeyFetcher(source: source))
        }
        ring = Mutex(KeyRing(refreshMs: policy.refreshMs, gapMs: policy.refreshGapMs))
        cache = Mutex(TokenCache(bytesMax: policy.cacheBytesMax))
    }

    /// Fetches the key set, if the policy has one: at start, to report errors early, and when an operator requests it.
    package func loadKeys(nowMs: Int64) async throws(TokenSetupError) {
        guard let fetcher else { return }
        if let error = await fetch(fetcher, nowMs: nowMs) { throw error }
    }

    /// Verifies a token, fetching keys if necessary.
    /// - Throws: `.unauthenticated` with the reason; `.unavailable` if no keys could be fetched so far.
    package func verify(_ token: String, nowMs: Int64) async throws(RequestError) -> VerifiedToken {
        if let verified = try verifyNow(token, nowMs: nowMs) { return verified }
        if let fetcher { _ = await fetch(fetcher, nowMs: nowMs) }
        if let verified = try verifyNow(token, nowMs: nowMs) { return verified }
        // Another fetch became due meanwhile; one per token is enough.
        throw TokenFailure.noKeys.requestError
    }

    /// Verifies a token without waiting. Nil if keys must be fetched first: call `verify`.
    package func verifyNow(_ token: String, nowMs: Int64) throws(RequestError) -> VerifiedToken? {
        do throws(TokenFailure) {
            return try verifyAtOnce(Array(token.utf8.prefix(policy.tokenBytesMax + 1)), nowMs: nowMs)
        } catch {
            throw error.requestError
        }
    }

    private func verifyAtOnce(_ text: [UInt8], nowMs: Int64) throws(TokenFailure) -> VerifiedToken? {
        guard text.count <= policy.tokenBytesMax else { throw .tooLarge(bytesMax: policy.tokenBytesMax) }
        let digest = Digest(of: text)
        if let known = cache.withLock({ $0.find(digest) }) {
            guard let expiresAtMs = known.expiresAtMs, policy.hasExpired(expiresAtMs, nowMs: nowMs) else {
                return known
            }
            cache.withLock { $0.remove(digest) }
            throw .expired
        }
        let token = try SignedToken(text)
        guard try hasGoodSignature(token, nowMs: nowMs) else { return nil }
        let verified = try policy.check(token.claims, nowMs: nowMs)
        cache.withLock { $0.insert(verified, for: digest, bytes: text.count) }
        return verified
    }

    /// Checks the signature; false if keys must be fetched first.
    private func hasGoodSignature(_ token: SignedToken, nowMs: Int64) throws(TokenFailure) -> Bool {
        if token.algorithm == .none {
            guard policy.unsignedAllowed else { throw .unsigned }
            guard token.signature.isEmpty else { throw .malformed("its alg is none but it has a signature") }
            return true
        }
        let candidates: [VerificationKey]
        switch policy.trust {
        case .nothing: throw .nothingTrusted
        case .secret: candidates = secretKey.map { [$0] } ?? []
        case .keySet:
            // Key sets have no HS256 keys, so a fetch would not help.
            guard token.algorithm != .hs256 else { throw .algorithm }
            switch ring.withLock({ $0.answer(token, nowMs: nowMs) }) {
            case .fetch: return false
            case .keys(let keys): candidates = keys
            case .unknownKey: throw .unknownKey
            case .noKeys: throw .noKeys
            }
        }
        guard candidates.contains(where: { $0.algorithm == token.algorithm }) else { throw .algorithm }
        let usable = candidates.filter { $0.validMs?.contains(nowMs) ?? true }
        guard usable.contains(where: { $0.verifies(token) }) else { throw .badSignature }
        return true
    }

    private func fetch(_ fetcher: KeyFetcher, nowMs: Int64) async -> TokenSetupError? {
        await fetcher.fetch(
            started: { self.ring.withLock { $0.started(nowMs: nowMs) } },
            finished: { keySet in
                let isChanged = self.ring.withLock { $0.finished(keySet, nowMs: nowMs) }
                // A token signed with a withdrawn key must not stay cached.
                if isChanged { self.cache.withLock { $0.removeAll() } }
            })
    }
}
