package struct AuthSection: SettingSection {
    package static let doc = "Verification of bearer tokens."
    package static let declared = AuthSection()

    package let mode = Setting<AuthMode>.choice(
        "auth.mode", .none,
        "Whose tokens are accepted. none: nobody's; firebase: Google's; jwks: those of a key set; hs256: of a secret.")
    package let projectId = Setting.optional(
        "auth.projectId", "Firebase project; sets audience, issuer and jwksUrl unless they are given.")
    package let audience = Setting.optional(
        "auth.audience", "Required value of the claim aud, or of one of its elements; empty: not checked.")
    package let issuer = Setting.optional("auth.issuer", "Required value of the claim iss; empty: not checked.")
    package let jwksFile = Setting.optional(
        "auth.jwksFile", "File with a JSON Web Key Set; takes precedence over jwksUrl.")
    package let jwksUrl = Setting.optional("auth.jwksUrl", "https URL of a JSON Web Key Set.")
    package let jwksRefreshMs = Setting.duration(
        "auth.jwksRefreshMs", hour, in: 10_000...24 * hour, "Age at which a fetched key set is refreshed.")
    package let hs256Secret = Setting.optional(
        "auth.hs256Secret", secret: true, "Shared secret of HS256, at least 32 bytes.")
    package let leewayMs = Setting.duration(
        "auth.leewayMs", 5000, in: 0...5 * minute, "Clock skew tolerated for exp and nbf.")
    package let expiryRequired = Setting.bool(
        "auth.expiryRequired", true, dev: false,
        "Refuse tokens without exp, which never expire; Firebase's and those of auth.issuersFile always need it.")
    package let unsignedAllowed = Setting.bool(
        "auth.unsignedAllowed", false, dev: true, devOnly: true,
        "Accept tokens without a signature, as issued by Firebase's Auth emulator.")
    package let issuersFile = Setting.optional(
        "auth.issuersFile",
        "File with further issuers, each with issuer, audience or clientId: Cognito and any OpenID provider.")
    package let apiKeysFile = Setting.optional(
        "auth.apiKeysFile", "File with API keys by name; reloaded when it changes. Empty: none are checked.")
    package let apiKeyRequired = Setting.bool(
        "auth.apiKeyRequired", false, "Refuse requests that carry neither a token nor an API key.")
    package let filesPollMs = Setting.duration(
        "auth.filesPollMs", 2000, in: 50...10 * minute, "Interval at which auth.apiKeysFile is checked for changes.")
    package let repeatedVerificationMs = Setting.duration(
        "auth.repeatedVerificationMs", minute, in: 0...hour,
        "Time after which the token of a request that is repeated unchanged is verified again.")
    package let revocationsMax = Setting.int(
        "auth.revocationsMax", 10_000, in: 1...1_000_000, "Revocations in the cluster; more are refused.")
    package let revocationsPollMs = Setting.duration(
        "auth.revocationsPollMs", 250, in: 20...minute, "Interval at which a node checks Redis for new revocations.")
}

package enum AuthMode: String, Sendable, CaseIterable {
    case none, firebase, jwks, hs256
}
