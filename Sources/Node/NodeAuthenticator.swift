internal import Execution
internal import LiveModel
internal import Tokens

/// Bearer tokens of requests, judged by the verifier of the settings.
struct NodeAuthenticator: Authenticator {
    let verifier: TokenVerifier
    let clock: ServiceClock

    func authenticate(bearer: String) async throws(RequestError) -> Identity {
        let verified = try await verifier.verify(bearer, nowMs: clock.nowMs())
        return Identity(auth: verified.auth, expiresAtMs: verified.expiresAtMs)
    }
}
