import Catalog
package import Execution
import HTTPServer
package import LiveModel
import NIOCore
import Operations
import Sessions

/// A live query that a session follows under one of its ids, and what its client holds of it.
///
/// A class, because it is looked up for each delivery and copying a struct would retain all that it holds.
final class FollowedOperation {
    let handle: LoopHub.Handle
    /// The resolved operation, kept if its authorization depends on the time or the session's token can change.
    var resolved: ResolvedOperation?
    /// Whether the authorization depends on the time.
    private let isRechecked: Bool
    private(set) var delta: DeltaState
    private(set) var resume: ResumeState
    /// Whether the client requested resume tags. Asked with each delivery.
    let wantsTags: Bool
    /// The subjects whose quota it counts against.
    let subjects: [QuotaSubject]

    init(
        _ resolved: ResolvedOperation, handle: LoopHub.Handle, takesNewTokens: Bool = false, delta: DeltaState = .off,
        resume: ResumeState = .off, subjects: [QuotaSubject] = []
    ) {
        self.handle = handle
        isRechecked = resolved.operation.auth.readsRequestTime
        self.resolved = isRechecked || takesNewTokens ? resolved : nil
        self.delta = delta
        self.resume = resume
        wantsTags = resume.isOn
        self.subjects = subjects
    }

    /// Decides about a delivery.
    /// - Parameters:
    ///   - queue: the results that the session has yet to write.
    ///   - unwrittenBytes: bytes accepted by the connection but not yet by the kernel.
    func deliver(
        _ delivery: SessionDelivery, id: String, into queue: inout DeliveryQueue<SharedResult>, unwrittenBytes: Int,
        _ executor: any SessionRequestExecutor
    ) -> DeliveryDecision<SharedResult> {
        let refusal = isRechecked ? resolved?.refusal(nowMs: executor.clock.nowMs()) : nil
        let decision = queue.decide(
            delivery, id: id, byteCount: \.byteCount, unwrittenBytes: unwrittenBytes, refusal: refusal)
        if case .fail = decision {
            delta.failed()
            resume.failed()
        }
        return decision
    }

    /// Whether the client that resumes holds this result, so that its tag is enough. Asked before `patch`.
    func isHeld(_ shared: SharedResult) -> Bool { resume.advance(to: shared.result.digest) }

    /// Notes that the client gets this result.
    /// - Parameter encode: encodes the patch that leads to it from the result with a digest; nil if there is none.
    /// - Returns: the patch; nil to send the whole result.
    func patch(
        to shared: SharedResult, _ hub: LoopHub, _ encode: (Digest, inout DeltaCache) -> SharedBody?
    ) -> SharedBody? {
        guard delta.isOn else { return nil }
        defer { hub.deltas.remember(shared.result.digest, shared.result.answer) }
        return delta.advance(to: shared.result.digest).flatMap { encode($0, &hub.deltas) }
    }
}

extension ResolvedOperation {
    /// The reason that the operation may not run at this time, if any.
    package func refusal(nowMs: Int64) -> RequestError? {
        operation.authorize(auth: auth, variables: variables, nowMs: nowMs)
    }
}
