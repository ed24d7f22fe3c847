import Catalog
import Execution
import HTTPServer
import Inspection
import LiveModel
import NIOCore
import Sessions

/// The identity of the client: its expiry, revocation and replacement by a new token.
extension ClientSession {
    /// The reason that the identity is no longer accepted, if any.
    var identityRefusal: RequestError? {
        if let expiresAtMs = identity.expiresAtMs, expiresAtMs <= executor.clock.nowMs() { return .tokenExpired }
        return executor.refusal(of: identity)
    }

    func authenticate(_ credentials: Credentials) {
        deadlines.opened()
        let executor = self.executor
        onLoop(
            { () async throws(RequestError) in try await executor.authenticate(credentials) },
            then: { session, outcome in
                switch outcome {
                case .success(let identity):
                    if let refusal = executor.refusal(of: identity) {
                        session.note(refused: refusal, of: identity)
                        return session.perform(session.machine.rejected(refusal))
                    }
                    do throws(RequestError) {
                        try session.permit.change(to: identity)
                    } catch {
                        session.note(refused: error, of: identity)
                        return session.perform(session.machine.rejected(error))
                    }
                    let former = session.identity
                    session.identity = identity
                    session.noteIdentity(after: former)
                    session.armExpiry()
                    session.recheckSubscriptions()
                    session.perform(session.machine.authenticated())
                    session.invalidate(executor.invalidations)
                case .failure(let error): session.perform(session.machine.rejected(error))
                }
            })
    }

    /// Continues the subscriptions under the new token where it permits them.
    private func recheckSubscriptions() {
        let returning = suspended
        suspended = [:]
        for (id, operation) in returning.sorted(by: { $0.key < $1.key }) { recheck(id, operation, followed: nil) }
        for id in operations.followedIDs {
            if let operation = operations[id] { recheck(id, operation, followed: operation.handle.key) }
        }
    }

    private func recheck(_ id: String, _ operation: FollowedOperation, followed: LiveQueryKey?) {
        guard let resolved = operation.resolved?.with(auth: identity.auth) else { return }
        switch change(of: resolved, followed: followed) {
        case .goesOn: operation.resolved = resolved
        case .ends(let refusal):
            leaving = "auth_refused"
            stop(id)
            leaving = nil
            perform(machine.failed(id: id, [refusal]))
        case .restarts:
            stop(id)
            do throws(RequestError) {
                try follow(id, resolved, known: nil, delta: operation.delta, resume: operation.resume, isNew: false)
            } catch {
                perform(machine.failed(id: id, [error]))
            }
        }
    }

    private func change(of resolved: ResolvedOperation, followed: LiveQueryKey?) -> TokenChange {
        TokenChange(
            followed: followed, key: resolved.liveQuery.key, refusal: resolved.refusal(nowMs: executor.clock.nowMs()))
    }

    /// Schedules the end of the token, after which nothing is delivered on it.
    private func armExpiry() {
        timers.expiry?.cancel()
        let bound = NIOLoopBound(self, eventLoop: connection.eventLoop)
        timers.expiry = connection.eventLoop.scheduleExpiry(of: identity, executor.clock) {
            let session = bound.value
            session.timers.expiry = nil
            session.tokenExpired()
        }
    }

    /// Handles the end of the token. A client that can send a new one has a grace period (`tokenGraceMs`), in which
    /// the operations that need a token are suspended and the others continue.
    private func tokenExpired() {
        note(.expired)
        let followed = operations.followedIDs.compactMap { id in
            operations[id].map { operation in
                (id, operation.resolved.map { executor.changeWithoutToken(of: $0, following: operation.handle.key) })
            }
        }
        switch TokenEnd(takesNewTokens: traits.takesNewTokens, followed: followed) {
        case .endsAll: identityEnded(.tokenExpired, "token_expired")
        case .goesOn: perform(machine.expired(ids: [], .tokenExpired))
        case .suspends(let ids): suspend(ids)
        }
    }

    private func suspend(_ ids: [String]) {
        leaving = "token_expired"
        defer { leaving = nil }
        for id in ids {
            let operation = operations[id]
            stop(id)
            suspended[id] = operation
        }
        let bound = NIOLoopBound(self, eventLoop: connection.eventLoop)
        timers.expiry = connection.eventLoop.scheduleTask(in: .milliseconds(tokenGraceMs)) {
            let session = bound.value
            session.timers.expiry = nil
            let ids = session.suspended.keys.sorted()
            session.suspended = [:]
            session.perform(session.machine.expired(ids: ids, .tokenExpired))
        }
    }

    /// Ends all subscriptions with the protocol's own signal.
    /// - Parameter reason: for the recorder.
    private func identityEnded(_ error: RequestError, _ reason: String) {
        leaving = reason
        let ids = (operations.followedIDs + suspended.keys).sorted()
        for id in ids { stop(id) }
        perform(machine.expired(ids: ids, error))
    }

    package func recheckIdentity() {
        if !isClosed, let refusal = executor.refusal(of: identity), identity != .signedOut {
            identityEnded(refusal, "user_revoked")
        }
    }
}
