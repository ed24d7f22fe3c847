import Cluster
import Execution
import LiveModel
import Sessions
import Settings
import Tokens

/// Authenticates requests by the configured issuers and API keys and the cluster's revocations.
struct NodeAuthenticator: Authenticator {
    let issuers: TokenIssuers
    let apiKeys: APIKeys
    let revocations: RevocationList
    let clock: ServiceClock

    func authenticate(_ credentials: Credentials) async throws(RequestError) -> Identity {
        if let bearer = credentials.bearer, !bearer.isEmpty {
            let verified = try await issuers.verify(bearer, nowMs: clock.nowMs())
            return Identity(auth: verified.auth, expiresAtMs: verified.expiresAtMs)
        }
        guard let name = try apiKeys.name(of: credentials.apiKey) else { return .signedOut }
        return Identity(auth: nil, expiresAtMs: nil, apiKey: name)
    }

    func refusal(of identity: Identity) -> RequestError? {
        if revocations.revocation(of: identity.auth, apiKey: identity.apiKey) != nil {
            return .credentialsRevoked
        }
        return identity.auth == nil ? apiKeys.refusal(of: identity.apiKey) : nil
    }
}

/// Reads the file of API keys, at the start and when it changes.
struct APIKeyFileReader {
    let path: String
    let keys: APIKeys

    /// - Throws: `SettingsFileError`, or the system's error.
    /// - Returns: whether the keys changed.
    @discardableResult
    func read() throws -> Bool {
        keys.set(try APIKeyFile.parse(try FileText.read(path)))
    }
}
