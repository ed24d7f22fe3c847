import Catalog
import Clocks
import Execution
import JSON
import LiveModel
import NIOCore
import Operations
import Sessions

/// Operations that run once, and those that wait for others to finish.
extension ClientSession {
    /// Runs a query or a mutation once, or lets it wait for others of this session: while the session runs as many as
    /// it may, and while its user or its address does.
    func startOnce(_ id: String, _ resolved: ResolvedOperation) throws(RequestError) {
        if try operations.oneShots.arrived(id, resolved, bytes: resolved.variableBytes) {
            return perform(machine.started(id: id))
        }
        let subjects = self.subjects
        if let refusal = quotaRefusal(of: subjects) {
            try operations.oneShots.quotaRefused(refusal, id, resolved, bytes: resolved.variableBytes)
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
        let run = operations.oneShots.running.begin(id)
        let task = onLoop(
            { () async throws(RequestError) in
                defer { executor.quotas.releaseRequest(for: subjects) }
                return try await executor.answer(resolved, traceID: traceID)
            },
            then: { session, outcome in
                session.deadlines.used(nowMs: MonotonicClock.nowMs())
                let isAwaited = session.operations.oneShots.running.finished(run)
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
        operations.oneShots.running.attach(task, to: run)
    }

    /// Runs the operations that waited for others to finish. While others use up the quota, the next end of an
    /// operation of this session tries again.
    private func runWaiting() {
        while !isClosed, let (id, resolved) = operations.oneShots.next {
            let subjects = self.subjects
            let refusal = identityRefusal ?? resolved.refusal(nowMs: executor.clock.nowMs())
            let quotaRefusal = refusal == nil ? quotaRefusal(of: subjects) : nil
            switch operations.oneShots.turn(refusal: refusal, quotaRefusal: quotaRefusal) {
            case .runs: runOnce(id, resolved, for: subjects)
            case .waits: return
            case .fails(let error): perform(machine.failed(id: id, [error]))
            }
        }
    }

    /// Acquires the quota of one request.
    /// - Returns: an error if it is exhausted.
    private func quotaRefusal(of subjects: [QuotaSubject]) -> RequestError? {
        do throws(RequestError) {
            try executor.quotas.acquireRequest(for: subjects)
            return nil
        } catch {
            return error
        }
    }
}

extension ResolvedOperation {
    /// The size of the variables as JSON.
    fileprivate var variableBytes: Int { JSONWriter.compact(.object(variables)).count }
}
