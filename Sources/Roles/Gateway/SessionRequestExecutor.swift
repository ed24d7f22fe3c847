package import Execution
package import LiveModel
package import Sessions

/// Finds, authenticates and runs operations for the sessions of a node.
package protocol SessionRequestExecutor: AnyObject, Sendable {
    var clock: ServiceClock { get }
    var quotas: QuotaGate { get }
    /// - Throws: `.operationNotFound`, `.invalidVariable`, `.permissionDenied`, …
    func resolve(
        _ request: OperationRequest, auth: Auth?, _ kinds: AllowedKinds
    ) throws(RequestError) -> ResolvedOperation
    func authenticate(_ credentials: Credentials) async throws(RequestError) -> Identity
    /// Why an identity is not accepted, or no longer: revoked, or signed out without the API key that this node requires.
    func refusal(of identity: Identity) -> RequestError?
    /// Runs a query or a mutation once.
    func answer(_ resolved: ResolvedOperation, traceID: String) async throws(RequestError) -> OperationAnswer
    func makeTraceID() -> String
}

/// Bounds of one session.
package struct SessionLimits: Sendable {
    package var operationsMax = 100
    /// Results held for a client that does not read, and messages of one whose token is yet to be judged.
    package var bytesMax = 1 << 20
    package var initTimeoutMs: Int64 = 10_000
    /// Between two signs of life of the protocol's own, where it has them.
    package var keepAliveMs: Int64 = 15_000
    /// A client that asks for a run is told when it takes longer; its subscription lives on.
    package var rerunTimeoutMs: Int64 = 15_000
    /// A session that follows and runs nothing for so long is told to go; 0: it may stay.
    package var idleTimeoutMs: Int64 = 0

    package init() {}
}
