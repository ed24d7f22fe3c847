import JSON
import LiveModel

/// Checks of a token's claims against the policy. Source: RFC 7519 section 4.1.
extension TokenPolicy {
    private static let uidBytesMax = 256
    /// The end of the year 9999; a later `exp` is rejected, because it would amount to none.
    private static let expiresAtMsMax: Int64 = 253_402_300_799_000

    func check(_ claims: JSONObject, nowMs: Int64) throws(TokenFailure) -> VerifiedToken {
        let expiresAtMs = try Self.milliseconds(claims, "exp")
        if expiresAtMs == nil, expiryRequired { throw .malformed("it has no exp claim") }
        if let expiresAtMs {
            guard expiresAtMs <= Self.expiresAtMsMax else { throw .malformed("its exp claim is not a valid time") }
            if hasExpired(expiresAtMs, nowMs: nowMs) { throw .expired }
        }
        if let notBeforeMs = try Self.milliseconds(claims, "nbf"), nowMs < notBeforeMs - Int64(leewayMs) {
            throw .notYetValid
        }
        if let issuer, claims["iss"]?.stringValue != issuer { throw .wrongIssuer }
        guard isForUs(claims) else { throw .wrongAudience }
        return VerifiedToken(auth: Auth(uid: try uid(claims), token: claims), expiresAtMs: expiresAtMs)
    }

    func hasExpired(_ expiresAtMs: Int64, nowMs: Int64) -> Bool {
        nowMs >= expiresAtMs + Int64(leewayMs)
    }

    private func isForUs(_ claims: JSONObject) -> Bool {
        if audiences.isEmpty, clientIDs.isEmpty { return true }
        if audiences.contains(where: { Self.holds(claims["aud"], $0) }) { return true }
        return claims["client_id"]?.stringValue.map(clientIDs.contains) ?? false
    }

    private static func holds(_ claim: JSONValue?, _ audience: String) -> Bool {
        switch claim {
        case .string(let one)?: one == audience
        case .array(let several)?: several.contains { $0.stringValue == audience }
        default: false
        }
    }

    private func uid(_ claims: JSONObject) throws(TokenFailure) -> String {
        let name =
            uidClaim.map { claims[$0]?.stringValue } ?? claims["user_id"]?.stringValue ?? claims["sub"]?.stringValue
        guard let name, !name.isEmpty, name.utf8.count <= Self.uidBytesMax else {
            throw .malformed("it names no user (\(uidClaim ?? "user_id or sub"))")
        }
        return uidPrefix + name
    }

    /// Reads a claim in seconds since 1970, with or without a fraction, as milliseconds. Clamped to some 30 million
    /// years, so that adding the leeway cannot overflow.
    private static func milliseconds(_ claims: JSONObject, _ name: String) throws(TokenFailure) -> Int64? {
        guard let claim = claims[name] else { return nil }
        guard let seconds = claim.doubleValue else { throw .malformed("its \(name) claim is not a number") }
        let bound = 1e15
        return Int64((min(max(seconds, -bound), bound) * 1000).rounded(.down))
    }
}
