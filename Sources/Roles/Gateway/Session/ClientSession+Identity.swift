import Catalog
import Execution
import HTTPServer
import LiveModel
import NIOCore
import Sessions

/// Who the client is, until when, and what a new token changes.
extension ClientSession {
    /// Why nothing may be done on this identity any more.
    var identityRefusal: RequestError? {
        if let expiresAtMs = identity.expiresAtMs, expiresAtMs <= executor.clock.nowMs() { return .tokenExpired }
        return executor.refusal(of: identity)
    }

    func authenticate(_ credentials: Credentials) {
        initTimeout?.cancel()
        initTimeout = nil
        let executor = self.executor
        onLoop(
            { () async throws(RequestError) in try await executor.authenticate(credentials) },
            then: { session, outcome in
                switch outcome {
                case .success(let identity):
                    // It may have been revoked between the verdict and this moment.
                    if let refusal = executor.refusal(of: identity) {
                        return session.perform(session.machine.rejected(refusal))
                    }
                    if let refusal = session.change(to: identity) {
                        return session.perform(session.machine.rejected(refusal))
                    }
                    session.armExpiry()
                    session.judgeAnew()
                    session.perform(session.machine.authenticated())
                case .failure(let error): session.perform(session.machine.rejected(error))
                }
            })
    }

    /// - Returns: why it cannot: the user has too many sessions.
    private func change(to identity: Identity) -> RequestError? {
        if identity.subjects != self.identity.subjects {
            do throws(RequestError) {
                try executor.quotas.acquire(.session, for: identity.subjects)
            } catch {
                return error
            }
            executor.quotas.release(.session, for: self.identity.subjects)
        }
        self.identity = identity
        return nil
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
                entry.resolved = resolved
                continue
            }
            stop(id)
            do throws(RequestError) {
                try follow(id, resolved, known: nil, delta: entry.delta, isNew: false)
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
        let delayMs = max(0, expiresAtMs - executor.clock.nowMs())
        expiry = connection.eventLoop.scheduleTask(in: .milliseconds(delayMs)) {
            let session = bound.value
            session.expiry = nil
            session.identityEnded(.tokenExpired)
        }
    }

    /// The protocol's own signal; nothing is delivered on the identity afterwards.
    private func identityEnded(_ error: RequestError) {
        let ids = live.keys.sorted()
        for id in ids { stop(id) }
        perform(machine.expired(ids: ids, error))
    }

    package func recheckIdentity() {
        if !isClosed, let refusal = executor.refusal(of: identity), identity != .signedOut { identityEnded(refusal) }
    }
}
