import FreshetLink
import FreshetQueue
package import FreshetTypes

extension Engine {
    /// Returns when the live queries that are followed now have the results of what was committed before.
    package func wait(for position: MutationPosition?) async throws(FreshetError) {
        try await prepare()
        let id = number()
        let error = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiters[id] = continuation
                if Task.isCancelled { return endWait(id) }
                perform(link.wait(id, for: position, nowMs: time.nowMs))
            }
        } onCancel: {
            Task { [weak self] in await self?.endWait(id) }
        }
        if let error { throw error }
    }

    private func endWait(_ id: WaitID) {
        guard let waiter = waiters.removeValue(forKey: id) else { return }
        waiter.resume(returning: FreshetError(.closed, "the wait was cancelled"))
        perform(link.endWait(id))
    }

    /// Waits until the live queries show a mutation of the queue, which is pending until then.
    func awaitResults(_ mutation: String, _ position: MutationPosition, _ scope: String) {
        let id = number()
        mutationWaits[id] = (mutation, scope)
        perform(link.wait(id, for: position, nowMs: time.nowMs))
    }

    /// A wait is over. A mutation is no longer pending after an error either: there is nothing more to wait for.
    func waited(_ id: WaitID, _ error: FreshetError?) {
        waiters.removeValue(forKey: id)?.resume(returning: error)
        guard let (mutation, scope) = mutationWaits.removeValue(forKey: id) else { return }
        if queues[scope]?.shown(id: mutation) == true { emitAll() }
    }

    /// The number of those who wait, for tests.
    package var waiterCount: Int { waiters.count }
}
