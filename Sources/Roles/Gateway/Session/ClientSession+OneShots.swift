import Catalog
import Clocks
import Execution
import LiveModel
import NIOCore
import Operations
import Sessions

/// Operations that run once, and those that wait for others to finish.
extension ClientSession {
    /// Runs a query or a mutation once, or lets it wait for others of this session: while the session runs as many as
    /// it may, and while its user or its address does.
    func startOnce(_ id: String, _ resolved: ResolvedOperation) throws(RequestError) {
        if try operations.wait(id, resolved) { return perform(machine.started(id: id)) }
        let subjects = self.subjects
        do throws(RequestError) {
            try executor.quotas.acquireRequest(for: subjects)
        } catch {
            // Only the end of one of its own operations lets the session try again. If no more may wait, the full quota
            // is the reason.
            guard error.code == .limitExceeded, operations.oneShots.runningCount > 0,
                (try? operations.queue(id, resolved)) != nil
            else { throw error }
            return perform(machine.started(id: id))
        }
        perform(machine.started(id: id))
        runOnce(id, resolved, for: subjects)
    }

    /// Runs a query or a mutation once.
    /// - Parameter subjects: the request counts against their quotas until it has finished, even if nothing waits for
    ///   it.
    func runOnce(_ id: String, _ resolved: ResolvedOperation, for subjects: [QuotaSubject]) {
        let executor = self.executor
        let traceID = executor.makeTraceID()
        let run = operations.oneShots.begin(id)
        let task = onLoop(
            { () async throws(RequestError) in
                defer { executor.quotas.releaseRequest(for: subjects) }
                return try await executor.answer(resolved, traceID: traceID)
            },
            then: { session, outcome in
                session.idle.used(nowMs: MonotonicClock.nowMs())
                let isAwaited = session.operations.oneShots.finished(run)
                if isAwaited {
                    switch OneShotEnd(outcome, isQuery: resolved.operation.kind == .query) {
                    case .finished(let answer):
                        session.perform(session.machine.finished(id: id, answer: answer), carryResult: true)
                    case .queryFailed(let error): session.perform(session.machine.queryFailed(id: id, [error]))
                    case .failed(let error): session.perform(session.machine.failed(id: id, [error]))
                    }
                }
                session.runWaiting()
            })
        operations.oneShots.attach(task, to: run)
    }

    /// Runs the operations that waited for others to finish. While others use up the quota, the next end of an
    /// operation of this session tries again.
    private func runWaiting() {
        while !isClosed, let (id, resolved) = operations.nextWaiting() {
            let subjects = self.subjects
            var refusal = identityRefusal ?? resolved.refusal(nowMs: executor.clock.nowMs())
            if refusal == nil {
                do throws(RequestError) {
                    try executor.quotas.acquireRequest(for: subjects)
                } catch {
                    if operations.oneShots.runningCount > 0 { return }
                    refusal = error
                }
            }
            operations.nextWaitsNoLonger()
            if let refusal {
                perform(machine.failed(id: id, [refusal]))
            } else {
                runOnce(id, resolved, for: subjects)
            }
        }
    }
}
