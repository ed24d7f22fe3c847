internal import Catalog
internal import Execution
internal import HTTPServer
internal import LiveModel
internal import NIOCore
internal import Sessions

/// Who the client is, until when, and what a new token changes.
extension WebSocketSession {
    static let expiredError = RequestError(.unauthenticated, "the token has expired")

    var isExpired: Bool { identity.expiresAtMs.map { $0 <= services.clock.nowMs() } ?? false }

    func authenticate(_ bearer: String?) {
        initTimeout?.cancel()
        initTimeout = nil
        let services = self.services
        onLoop(
            { () async throws(RequestError) in try await services.authenticate(bearer: bearer) },
            then: { session, outcome in
                switch outcome {
                case .success(let identity):
                    session.identity = identity
                    session.armExpiry()
                    session.judgeAnew()
                    session.perform(session.machine.authenticated())
                case .failure(let error): session.perform(session.machine.rejected(error))
                }
            })
    }

    /// What is live goes on under the new token if that may see it. Where the token changes what the query gives, the
    /// new live query takes the old one's place.
    private func judgeAnew() {
        for (id, entry) in live.sorted(by: { $0.key < $1.key }) {
            guard let resolved = entry.resolved?.with(auth: identity.auth) else { continue }
            if let refusal = refusal(of: resolved) {
                stop(id)
                perform(machine.failed(id: id, [refusal]))
                continue
            }
            if resolved.liveQuery.key == entry.handle.key {
                live[id] = Live(handle: entry.handle, resolved: resolved, isRechecked: entry.isRechecked)
                continue
            }
            stop(id)
            do throws(RequestError) {
                try follow(id, resolved, known: nil, isNew: false)
            } catch {
                perform(machine.failed(id: id, [error]))
            }
        }
    }

    /// The token runs out: nothing is delivered on it afterwards.
    private func armExpiry() {
        expiry?.cancel()
        expiry = nil
        guard let expiresAtMs = identity.expiresAtMs else { return }
        let bound = NIOLoopBound(self, eventLoop: connection.eventLoop)
        let delayMs = max(0, expiresAtMs - services.clock.nowMs())
        expiry = connection.eventLoop.scheduleTask(in: .milliseconds(delayMs)) {
            let session = bound.value
            session.expiry = nil
            let ids = session.live.keys.sorted()
            for id in ids { session.stop(id) }
            session.perform(session.machine.expired(ids: ids))
        }
    }
}
