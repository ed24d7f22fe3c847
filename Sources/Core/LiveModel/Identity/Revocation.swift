import JSON

/// The user, token or API key that a revocation names.
package enum RevocationSubject: Hashable, Sendable, CustomStringConvertible {
    /// A user by `auth.uid`.
    case uid(String)
    /// A token by the claim `jti`, or by `origin_jti`, which Cognito keeps through refreshes.
    case tokenID(String)
    /// An API key by name.
    case apiKey(String)

    package static let bytesMax = 256

    /// The form in Redis and in the audit log, such as `uid:ann`.
    package var description: String {
        switch self {
        case .uid(let uid): "uid:\(uid)"
        case .tokenID(let id): "jti:\(id)"
        case .apiKey(let name): "key:\(name)"
        }
    }

    /// Returns nil for another kind, or a value that is empty or longer than `bytesMax`.
    package init?(kind: some StringProtocol, value: some StringProtocol) {
        guard !value.isEmpty, value.utf8.count <= Self.bytesMax else { return nil }
        switch kind {
        case "uid": self = .uid(String(value))
        case "jti": self = .tokenID(String(value))
        case "key": self = .apiKey(String(value))
        default: return nil
        }
    }

    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        self.init(kind: parts[0], value: parts[1])
    }
}

/// An operator's decision that a user, a token or an API key is no longer accepted.
package struct Revocation: Hashable, Sendable {
    package let subject: RevocationSubject
    /// The time in milliseconds since 1970, like all times here.
    package let atMs: Int64
    /// The end of the revocation; nil: until it is lifted.
    package let untilMs: Int64?
    /// Whether tokens issued after `atMs` (claim `iat`) are accepted, so that a user who signs in again has access.
    package let sparesLaterTokens: Bool

    package init(_ subject: RevocationSubject, atMs: Int64, untilMs: Int64? = nil, sparesLaterTokens: Bool = false) {
        self.subject = subject
        self.atMs = atMs
        self.untilMs = untilMs
        self.sparesLaterTokens = sparesLaterTokens
    }

    /// The stored form, such as `1700000000000 - all`: start, end, and which tokens.
    package var text: String {
        "\(atMs) \(untilMs.map(String.init) ?? "-") \(sparesLaterTokens ? "earlier" : "all")"
    }

    /// Returns nil for a text in another form, written by another version or by hand. Times are clamped to their range
    /// (`StoredNumber`).
    /// - Parameter defects: counts what no node writes.
    package init?(_ subject: RevocationSubject, text: String, defects: inout StoredDefects) {
        let parts = text.split(separator: " ")
        guard parts.count == 3, let atMs = Int64(parts[0]), ["all", "earlier"].contains(parts[2]),
            parts[1] == "-" || Int64(parts[1]) != nil
        else {
            defects.add("a revocation in another form: \(text)")
            return nil
        }
        let start = defects.clamped(atMs, to: StoredNumber.timeMs(atMs), "the start of a revocation")
        let end = Int64(parts[1]).map {
            defects.clamped($0, to: StoredNumber.timeMs($0), "the end of a revocation")
        }
        self.init(subject, atMs: start, untilMs: end, sparesLaterTokens: parts[2] == "earlier")
    }

    package func counts(nowMs: Int64) -> Bool { untilMs.map { nowMs < $0 } ?? true }

    /// - Parameter issuedAtMs: the token's `iat`; a token without one counts as issued earlier.
    func covers(issuedAtMs: Int64?, nowMs: Int64) -> Bool {
        guard counts(nowMs: nowMs) else { return false }
        guard sparesLaterTokens, let issuedAtMs else { return true }
        // `iat` has whole seconds, so a token of the same second may have been issued before the revocation.
        return issuedAtMs / 1_000 <= atMs / 1_000
    }
}

/// All revocations of a cluster, as known to one node. Bound: `countMax`, enforced when one is added.
package struct Revocations: Sendable, Hashable {
    package private(set) var entries: [RevocationSubject: Revocation] = [:]

    package init() {}

    package init(_ revocations: some Sequence<Revocation>) {
        for revocation in revocations { entries[revocation.subject] = revocation }
    }

    package var isEmpty: Bool { entries.isEmpty }

    /// Returns the revocation that applies; nil if access is not revoked.
    /// - Parameters:
    ///   - auth: nil if signed out.
    ///   - apiKey: the name of the API key.
    package func revocation(of auth: Auth?, apiKey: String?, nowMs: Int64) -> Revocation? {
        guard !entries.isEmpty else { return nil }
        if let apiKey, let found = entries[.apiKey(apiKey)], found.counts(nowMs: nowMs) { return found }
        guard let auth else { return nil }
        let issuedAtMs = auth.token["iat"]?.doubleValue.map { Int64(min(max($0, 0), 1e12) * 1_000) }
        var subjects: [RevocationSubject] = [.uid(auth.uid)]
        for claim in ["jti", "origin_jti"] {
            if let id = auth.token[claim]?.stringValue { subjects.append(.tokenID(id)) }
        }
        for subject in subjects {
            if let found = entries[subject], found.covers(issuedAtMs: issuedAtMs, nowMs: nowMs) { return found }
        }
        return nil
    }
}
