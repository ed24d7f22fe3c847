import Execution
import Gateway
import HTTPServer
import LiveModel
import NIOHTTP1
import Sessions

/// A query that clients repeat with the same header except `If-None-Match`; it is parsed, resolved and authorized once.
/// Stored in the request's memo, and so used on one event loop only.
final class PreparedQuery {
    let resolved: ResolvedOperation
    let liveQuery: LiveQuery
    /// The sender's identity, with the address of the first request; `Identity.at` replaces that with each request's.
    let identity: Identity
    /// Nil: the query is answered at once.
    let waitMs: Int64?
    /// The headers of every answer.
    let headers: HTTPHeaders
    let traceparent: String?
    /// The header `X-Forwarded-For`.
    let forwarded: String?
    private let version: Digest
    private let untilMs: Int64

    /// - Parameters:
    ///   - call: the request that was resolved.
    ///   - version: the project version that resolved it.
    ///   - untilMs: the time when the sender's credentials are to be verified again.
    init(
        _ call: Call, _ resolved: ResolvedOperation, _ identity: Identity, waitMs: Int64?, version: Digest,
        untilMs: Int64
    ) {
        self.resolved = resolved
        liveQuery = resolved.liveQuery
        self.identity = identity
        self.waitMs = waitMs
        headers = call.commonHeaders
        traceparent = call.request.header("traceparent")
        forwarded = call.request.forwarded
        self.version = version
        self.untilMs = min(untilMs, identity.expiresAtMs ?? .max)
    }

    /// Whether another request with the same header would be resolved and authenticated with the same outcome.
    /// Revocations and the operation's authorization, which may depend on the time, are checked separately.
    func holds(for version: Digest, nowMs: Int64) -> Bool {
        version == self.version && nowMs < untilMs
    }
}
