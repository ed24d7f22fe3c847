/// A pool's connection settings, timeouts and bounds.
package struct PostgresConfiguration: Sendable {
    /// The address in libpq's format, `key=value …` or `postgresql://…`; libpq also handles TLS, several hosts and
    /// password files.
    package var connectionString: String

    /// Shared, pipelined connections for callers' queries.
    package var readConnections = 1
    /// Shared, pipelined connections for re-runs of live queries and the service's own reads, separate so that neither
    /// delays the other. 0: they use those for callers' queries.
    package var refreshConnections = 0
    /// Connections for callers' queries that are not known to be short, one at a time; none without slow ones. 0: they
    /// share the pipelined connections.
    package var moderateReadConnections = 0
    /// Connections for slow queries of callers, slow re-runs and slow transactions. 0: slow ones hold up those behind
    /// them. A slow transaction is cancelled and moved only where commits wait for no standby.
    package var slowReadConnections = 0
    package var slowRefreshConnections = 0
    package var slowWriteConnections = 0
    /// The running time after which a query that delays others counts as slow.
    package var slowAfterMs = 100
    /// The running time after which a transaction that delays others counts as slow; it may wait for locks.
    package var slowTransactionAfterMs = 1_000
    /// The most slow statements of one kind that wait for a connection, and the most of one caller. Beyond that:
    /// `queueFull`.
    package var slowQueueMax = 256
    package var slowQueuePerSourceMax = 64
    /// Shared, pipelined connections for `transaction`.
    package var writeConnections = 12
    /// Exclusive connections for `withSession` and `script`.
    package var sessionConnections = 4

    /// Calls queued and in flight on one connection, and callers waiting for a session. Beyond that: `queueFull`.
    package var queueMax = 16_384
    /// Bytes of SQL and parameters queued and in flight on one connection; a single call may exceed it. Beyond that:
    /// `queueFull`.
    package var queueBytesMax = 256 << 20
    /// Queries in flight on one read connection.
    package var readInFlightMax = 256
    /// Transactions in flight on one write connection. A transaction that times out before it is sent has a known
    /// outcome.
    package var writeInFlightMax = 16
    /// Prepared statements kept on one connection; the least recently used is evicted first.
    package var preparedStatementsMax = 256
    /// Bytes of SQL and parameters of one call.
    package var requestBytesMax = 256 << 20

    /// The time limit for each attempt to connect, and per host for `start()` as a whole.
    package var connectTimeoutMs = 10_000
    /// Bounds the wait for the turn and, separately, the execution; also set as the server's `statement_timeout`.
    package var statementTimeoutMs = 30_000
    /// The time limit for `script`, because migrations take longer than statements.
    package var scriptTimeoutMs = 600_000
    /// The server ends a session that idles in an open transaction for longer than this.
    package var idleInTransactionTimeoutMs = 60_000
    /// Time in which the server must confirm that a timed-out call is cancelled; after it the connection is dropped.
    package var cancelGraceMs = 2_000
    /// Time for which `stop()` waits for calls in flight.
    package var stopTimeoutMs = 5_000
    /// The pause before the second attempt to reconnect; doubles up to the maximum, each jittered between half and
    /// whole.
    package var reconnectBackoffMinMs = 50
    package var reconnectBackoffMaxMs = 2_000

    /// Settings applied to every connection, and again after each session, together with `statement_timeout` and the
    /// like.
    ///
    /// JIT is off because statements here take milliseconds. Postgres overestimates the cost of statements for many
    /// live queries, and of catalog queries, so far that it would compile them at each execution, for up to seconds.
    package var sessionSettings: [String: String] = ["TimeZone": "UTC", "DateStyle": "ISO, MDY", "jit": "off"]
    /// The name in `pg_stat_activity`, followed by the connection's role.
    package var applicationName = "freshet"

    package init(connectionString: String) {
        self.connectionString = connectionString
    }
}

/// The kind of work a connection does, which decides how its pipeline is divided into transactions.
enum ConnectionRole: String, Sendable {
    /// Queries of many callers share a sync. They can be repeated, because the server enforces that they only read.
    case read
    /// Each transaction is followed by a sync.
    case write
    /// One caller at a time uses it; each statement is followed by a sync.
    case session
}

extension PostgresConfiguration {
    func inFlightMax(_ role: ConnectionRole) -> Int {
        switch role {
        case .read: max(1, readInFlightMax)
        case .write: max(1, writeInFlightMax)
        case .session: 1
        }
    }

    /// The script that applies the settings, after connecting and after each session.
    func setupScript(_ role: ConnectionRole) -> String {
        var settings = sessionSettings
        settings["statement_timeout"] = String(statementTimeoutMs)
        settings["idle_in_transaction_session_timeout"] = String(idleInTransactionTimeoutMs)
        if role == .read { settings["default_transaction_read_only"] = "on" }
        return settings.sorted { $0.key < $1.key }
            .map { "SELECT set_config(\(Self.quoted($0.key)), \(Self.quoted($0.value)), false)" }
            .joined(separator: ";") + ";" + Self.searchPath
    }

    /// Replaces Postgres' default search path, which begins with the schema named like the role: a role named `freshet`
    /// would find and create tables in our schema. A path that an operator has set is kept.
    private static let searchPath =
        "SELECT set_config('search_path', 'public', false)"
        + " WHERE current_setting('search_path') = '\"$user\", public'"

    /// Undoes whatever a session may have left behind, except prepared statements.
    func resetScript(_ role: ConnectionRole) -> String {
        "SET SESSION AUTHORIZATION DEFAULT;RESET ALL;CLOSE ALL;UNLISTEN *;SELECT pg_advisory_unlock_all();"
            + "DISCARD TEMP;DISCARD SEQUENCES;" + setupScript(role)
    }

    private static func quoted(_ text: String) -> String {
        var result = "'"
        for character in text {
            if character == "'" { result.append("'") }
            result.append(character)
        }
        return result + "'"
    }
}
