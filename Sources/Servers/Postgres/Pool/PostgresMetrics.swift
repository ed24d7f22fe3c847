import Synchronization

/// A pool's numbers at one moment.
package struct PostgresMetrics: Sendable, Hashable {
    /// One kind of connection: `read`, `write`, `session`.
    package struct Role: Sendable, Hashable {
        package var connections = 0
        /// Gauges.
        package var connected = 0
        package var queued = 0
        package var inFlight = 0
        /// Since the start.
        package var completed = 0
        package var failed = 0
        package var refused = 0
        package var timeouts = 0
        package var cancelRequests = 0
        package var repeated = 0
        package var reconnects = 0
        package var connectFailures = 0
        package var statementsPrepared = 0
    }

    package var read = Role()
    package var write = Role()
    package var session = Role()
    /// Callers of `withSession` and `script` that wait for a connection.
    package var sessionWaiters = 0
    package var sessionsFree = 0
}

extension PostgresPool {
    /// Sums over the connections; not one consistent cut, every number by itself is right.
    package var metrics: PostgresMetrics {
        PostgresMetrics(
            read: Self.sum(readers), write: Self.sum(writers), session: Self.sum(sessions.links),
            sessionWaiters: sessions.waitersCount, sessionsFree: sessions.freeCount)
    }

    private static func sum(_ links: [ConnectionHandle]) -> PostgresMetrics.Role {
        var role = PostgresMetrics.Role()
        for link in links {
            let counters = link.counters
            let inFlight = counters.inFlight.load(ordering: .relaxed)
            role.connections += 1
            role.connected += counters.isConnected.load(ordering: .relaxed) ? 1 : 0
            role.inFlight += inFlight
            role.queued += max(0, counters.load.load(ordering: .relaxed) - inFlight)
            role.completed += counters.completed.load(ordering: .relaxed)
            role.failed += counters.failed.load(ordering: .relaxed)
            role.refused += counters.refused.load(ordering: .relaxed)
            role.timeouts += counters.timeouts.load(ordering: .relaxed)
            role.cancelRequests += counters.cancelRequests.load(ordering: .relaxed)
            role.repeated += counters.repeated.load(ordering: .relaxed)
            role.reconnects += counters.reconnects.load(ordering: .relaxed)
            role.connectFailures += counters.connectFailures.load(ordering: .relaxed)
            role.statementsPrepared += counters.prepared.load(ordering: .relaxed)
        }
        return role
    }
}
