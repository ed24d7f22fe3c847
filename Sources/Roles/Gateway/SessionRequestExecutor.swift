package import Execution
package import LiveModel
package import Sessions

/// Finds, authenticates and runs operations for the sessions of a node.
package protocol SessionRequestExecutor: AnyObject, Sendable {
    var clock: ServiceClock { get }
    var quotas: QuotaGate { get }
    /// The parts of their caches that clients are to drop, as far as this node knows.
    var invalidations: Invalidations { get }
    /// Finds an operation and checks its variables and authorization.
    /// - Throws: `.operationNotFound`, `.invalidVariable`, `.permissionDenied`, …
    func resolve(
        _ request: OperationRequest, for identity: Identity, _ kinds: AllowedKinds
    ) throws(RequestError) -> ResolvedOperation
    func authenticate(_ credentials: Credentials) async throws(RequestError) -> Identity
    /// Returns the reason that an identity is not accepted, or no longer: signed out without the API key that this node
    /// requires, or revoked. It may be revoked at any time after `authenticate`, so sessions check it once they are in
    /// the registry, which tells them of later revocations.
    func refusal(of identity: Identity) -> RequestError?
    /// Runs a query or a mutation once.
    func answer(_ resolved: ResolvedOperation, traceID: String) async throws(RequestError) -> OperationAnswer
    func makeTraceID() -> String
}

extension SessionRequestExecutor {
    /// Returns the effect of losing the token on an operation that is followed under this key.
    func changeWithoutToken(of resolved: ResolvedOperation, following key: LiveQueryKey) -> TokenChange {
        let signedOut = resolved.with(auth: nil)
        return TokenChange(
            followed: key, key: signedOut.liveQuery.key,
            refusal: refusal(of: .signedOut) ?? signedOut.refusal(nowMs: clock.nowMs()))
    }

    /// Whether an operation that is being followed is refused to signed-out clients, or shows them another live query
    /// than that of this key.
    func needsToken(_ resolved: ResolvedOperation, following key: LiveQueryKey) -> Bool {
        changeWithoutToken(of: resolved, following: key) != .goesOn
    }
}
