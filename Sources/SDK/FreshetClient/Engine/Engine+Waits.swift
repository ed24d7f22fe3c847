import FreshetLink
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

    /// The number of those who wait, for tests.
    package var waiterCount: Int { waiters.count }
}
