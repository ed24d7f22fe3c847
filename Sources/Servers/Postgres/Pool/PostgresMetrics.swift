import Synchronization

/// A snapshot of a pool's counters.
package struct PostgresMetrics: Sendable, Hashable {
    /// The counters of connections of one kind.
    package struct Role: Sendable, Hashable {
        package var connections = 0
        // Gauges.
        package var connected = 0
        package var queued = 0
        package var inFlight = 0
        // Totals since the start.
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
    /// Callers of `withSession` and `script` waiting for a connection.
    package var sessionWaiters = 0
    package var sessionsFree = 0
}

extension PostgresPool {
    /// The lanes that have connections for slow statements.
    package enum SlowStatementKind: String, Sendable, CaseIterable {
        case query, refresh, transaction
        /// Queries that are not known to be short.
        case moderate
    }

    package func slowStatements(_ kind: SlowStatementKind) -> SlowStatementCounts {
        switch kind {
        case .query: requests.counts
        case .refresh: refreshes.counts
        case .transaction: transactions.counts
        case .moderate: requests.moderateCounts
        }
    }

    /// Sums over the connections. Each number is right by itself, but they are not one consistent snapshot.
    package var metrics: PostgresMetrics {
        PostgresMetrics(
            read: Self.sum(readers), write: Self.sum(writers), session: Self.sum(sessions.connections),
            sessionWaiters: sessions.waitersCount, sessionsFree: sessions.freeCount)
    }

    /// The connections of one kind of work and one tier.
    package struct ConnectionGroup: Sendable, Hashable {
        package enum Use: String, Sendable, CaseIterable {
            /// Callers' queries; also re-runs, if those have no connections of their own.
            case query
            case refresh, transaction, session
        }

        /// Sessions have the fast one only.
        package enum Tier: String, Sendable, CaseIterable {
            case fast, moderate, slow
        }

        package let use: Use
        package let tier: Tier
    }

    /// The groups that have connections.
    package var connectionGroups: [ConnectionGroup] {
        ConnectionGroup.Use.allCases.flatMap { use in
            ConnectionGroup.Tier.allCases.map { ConnectionGroup(use: use, tier: $0) }
        }
        .filter { !connections(of: $0).isEmpty }
    }

    /// Sums over the connections of a group.
    package func metrics(of group: ConnectionGroup) -> PostgresMetrics.Role { Self.sum(connections(of: group)) }

    private func connections(of group: ConnectionGroup) -> [ConnectionHandle] {
        let lane: StatementLane
        switch group.use {
        case .query: lane = requests
        case .refresh:
            if refreshes === requests { return [] }
            lane = refreshes
        case .transaction: lane = transactions
        case .session: return group.tier == .fast ? sessions.connections : []
        }
        return switch group.tier {
        case .fast: lane.fast
        case .moderate: lane.moderate
        case .slow: lane.slow
        }
    }

    private static func sum(_ connections: [ConnectionHandle]) -> PostgresMetrics.Role {
        var role = PostgresMetrics.Role()
        for connection in connections {
            let counters = connection.counters
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
