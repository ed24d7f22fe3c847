package import Execution
package import LiveModel
package import Sessions

/// What the sessions of a node share.
package protocol SessionRequestExecutor: AnyObject, Sendable {
    var clock: ServiceClock { get }
    var parties: QuotaGate { get }
    /// - Parameter check: whether the operation may be run where it was named; asked before its variables are looked at.
    /// - Throws: `.operationNotFound`, `.invalidVariable`, `.permissionDenied`, …
    func resolve(
        _ request: OperationRequest, auth: Auth?, checking check: OperationCheck
    ) throws(RequestError) -> ResolvedOperation
    func authenticate(_ credentials: Credentials) async throws(RequestError) -> Identity
    /// Why an identity that was let in counts no more, or never did: revoked, or without the API key that is asked of
    /// everybody who is signed out.
    func refusal(of identity: Identity) -> RequestError?
    /// Runs a query or a mutation once.
    func answer(_ resolved: ResolvedOperation, traceID: String) async throws(RequestError) -> OperationAnswer
    func makeTraceID() -> String
}

extension SessionRequestExecutor {
    package func resolve(_ request: OperationRequest, auth: Auth?) throws(RequestError) -> ResolvedOperation {
        try resolve(request, auth: auth, checking: { _ in })
    }
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
