import LiveModel
import NIOCore
import Sessions

/// The runs of live queries that the client requests.
extension ClientSession {
    /// Runs a live query again at the client's request. The next result is the response, with a time-out. One run at a
    /// time: requests in between lead to one more run.
    func rerun(_ id: String) {
        guard let operation = operations[id] else { return }
        guard reruns[id] == nil else {
            reruns[id]?.repeats = true
            return
        }
        guard hub.rerun(operation.handle) else { return }
        let bound = NIOLoopBound(self, eventLoop: connection.eventLoop)
        let timer = connection.eventLoop.scheduleTask(in: .milliseconds(rerunTimeoutMs)) {
            let session = bound.value
            session.reruns[id] = nil
            let error = RequestError(.unavailable, "the query did not run again in time")
            session.perform(session.machine.refreshFailed(id: id, [error]))
        }
        reruns[id] = (timer, false)
    }

    /// Ends the time-out of a run that has been answered.
    func rerunAnswered(_ id: String) {
        guard !reruns.isEmpty, let answered = reruns.removeValue(forKey: id) else { return }
        answered.timer.cancel()
        if answered.repeats { rerun(id) }
    }
}
