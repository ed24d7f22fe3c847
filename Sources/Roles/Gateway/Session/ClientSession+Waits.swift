import LiveModel
import Sessions

/// Waits of the client until it has the results of what was committed.
extension ClientSession {
    func wait(_ id: String, for position: String?) {
        do throws(RequestError) {
            waits[id] = try hub.wait(self, id: id, for: position, keys: operations.liveQueryKeys)
        } catch {
            perform(machine.waited(id: id, error))
        }
    }

    /// Handles the end of a wait, after the deliveries before it. The answer goes behind the results that are yet to be
    /// written.
    func waited(_ id: String, _ error: RequestError?) {
        waits[id] = nil
        let queued = operations.queuedIDs
        if error == nil, !queued.isEmpty { return heldWaits.hold(id, behind: queued) }
        perform(machine.waited(id: id, error))
    }

    /// Handles that the result of an operation was written, or dropped.
    func written(_ operation: String) {
        if heldWaits.isEmpty { return }
        for id in heldWaits.written(operation) { perform(machine.waited(id: id, nil)) }
    }
}
