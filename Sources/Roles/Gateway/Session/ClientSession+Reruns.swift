import LiveModel
import NIOCore
import Sessions

/// The runs of live queries that the client requests.
extension ClientSession {
    /// Runs a live query again at the client's request. The next result is the response, with a timeout.
    func rerun(_ id: String) {
        guard let operation = operations[id], reruns.requested(id) else { return }
        guard hub.rerun(operation.handle) else { return reruns.ended(id) }
        let bound = NIOLoopBound(self, eventLoop: connection.eventLoop)
        rerunTimers[id] = connection.eventLoop.scheduleTask(in: .milliseconds(rerunTimeoutMs)) {
            let session = bound.value
            session.rerunTimers[id] = nil
            session.reruns.ended(id)
            let error = RequestError(.unavailable, "the query did not run again in time")
            session.perform(session.machine.refreshFailed(id: id, [error]))
        }
    }

    /// Ends the timeout of a run that has been answered.
    func rerunAnswered(_ id: String) {
        guard !rerunTimers.isEmpty, let timer = rerunTimers.removeValue(forKey: id) else { return }
        timer.cancel()
        if reruns.answered(id) { rerun(id) }
    }
}
