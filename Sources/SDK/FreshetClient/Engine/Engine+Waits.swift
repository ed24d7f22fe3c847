import FreshetLink
import FreshetQueue
import FreshetStore
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
    func awaitResults(
        _ mutation: String, _ position: MutationPosition?, _ assumed: AssumedResults, _ scope: String
    ) {
        let id = number()
        mutationWaits[id] = MutationWait(mutation: mutation, scope: scope, assumed: assumed)
        perform(link.wait(id, for: position, nowMs: time.nowMs))
    }

    /// A wait is over. A mutation is no longer pending after an error either: there is nothing more to wait for.
    func waited(_ id: WaitID, _ error: FreshetError?) {
        waiters.removeValue(forKey: id)?.resume(returning: error)
        guard let wait = mutationWaits.removeValue(forKey: id),
            queues[wait.scope]?.shown(id: wait.mutation) == true
        else { return }
        if scope == wait.scope { fetchAgain(unconfirmAssumed(wait.assumed)) }
        emitAll()
    }

    /// Results that the server has not sent since a mutation was applied may show what it did not adopt, and it does
    /// not send what has not changed: they are not confirmed, and have to be asked for again.
    func unconfirmAssumed(_ assumed: AssumedResults) -> [ResultKey] {
        let keys = store.unsent(assumed.keys, since: assumed.asOf).filter { feeds[$0] != nil }
        for key in keys { unconfirmSilently(key) }
        return keys
    }

    func fetchAgain(_ keys: [ResultKey]) {
        for key in keys {
            if let id = feeds[key]?.id { perform(link.discard(id, nowMs: time.nowMs)) }
        }
    }

    /// The number of those who wait, for tests.
    package var waiterCount: Int { waiters.count }
}
