package struct AdminSection: SettingSection {
    package static let doc = "Health, metrics, reports and cluster overrides."
    package static let declared = AdminSection()

    package let host = Setting.string("admin.host", "127.0.0.1", "Address of the admin port.")
    package let port = Setting.int("admin.port", 9398, in: 0...65_535, "Admin port; 0: the system chooses.")
    package let token = Setting.optional(
        "admin.token", secret: true,
        "Bearer token of the admin port; required unless host is loopback. Nodes use it among each other.")
    package let authMode = Setting<AdminAuthMode>.choice(
        "admin.auth.mode", .token,
        "Who is admitted. token: holders of admin.token; oidc: also users of a provider whom admin.rule admits.")
    package let authIssuer = Setting.optional(
        "admin.auth.issuer", "Required value of the claim iss of users' ID tokens, and base URL of the provider.")
    package let authAudience = Setting.optional(
        "admin.auth.audience", "Required value of the claim aud, or of one of its elements: the client id.")
    package let authJwksFile = Setting.optional(
        "admin.auth.jwksFile", "File with the provider's JSON Web Key Set; takes precedence over jwksUrl.")
    package let authJwksUrl = Setting.optional(
        "admin.auth.jwksUrl", "https URL of the provider's JSON Web Key Set; empty: as its configuration says.")
    package let rule = Setting.optional(
        "admin.rule", "CEL expression over auth.token, request.method and request.path: the users who are admitted.")
    package let writeRule = Setting.optional(
        "admin.writeRule", "CEL expression that requests which may change something must fulfil as well.")
    package let peerTimeoutMs = Setting.duration(
        "admin.peerTimeoutMs", 2_000, in: 100...minute,
        "Time in which another node must answer for its part of a report about the cluster.")
    package let peerBytesMax = Setting.bytes(
        "admin.peerBytesMax", 16 * mib, in: mib...256 * mib, "Size of another node's part of a report.")
    package let peersMax = Setting.int(
        "admin.peersMax", 256, in: 1...4_096, "Nodes that one report asks for their parts.")
}

package enum AdminAuthMode: String, Sendable, CaseIterable {
    case token, oidc
}
