import Execution
import LiveModel
import Sessions

/// The session as operators see it.
extension ClientSession {
    package var observed: ObservedSession? {
        ObservedSession(
            id: permit.id, uid: identity.auth?.uid ?? "", isBehind: connection.pendingBytes > 0, leaving: leaving)
    }

    package var inspection: SessionInspection {
        let waiting = suspended.sorted { $0.key < $1.key }.map { id, operation in
            SessionInspection.Subscription(id: id, key: operation.handle.key, known: nil, isSuspended: true)
        }
        return SessionInspection(
            uid: identity.auth?.uid ?? "", expiresAtMs: identity.expiresAtMs, pendingBytes: connection.pendingBytes,
            queuedResults: operations.queuedCount, subscriptions: operations.inspections + waiting)
    }
}
