/// How a pool connects and what its bounds are.
package struct PostgresConfiguration: Sendable {
    /// libpq's: `key=value …` or `postgresql://…`; TLS, several hosts and password files are its business.
    package var connectionString: String

    /// Shared, pipelined connections for `query`. One keeps two cores busy.
    package var readConnections = 1
    /// Connections for `transaction`, several transactions in flight on each.
    package var writeConnections = 12
    /// Connections for `withSession` and `script`, one user at a time.
    package var sessionConnections = 4

    /// Calls queued and in flight on one connection; also sessions waited for. Past it: `queueFull`.
    package var queueMax = 16_384
    /// SQL and parameters queued and in flight on one connection, unless it is a single call's. Past it: `queueFull`.
    package var queueBytesMax = 256 << 20
    /// Queries sent and not yet answered on one read connection.
    package var readInFlightMax = 256
    /// Transactions sent and not yet answered on one write connection: what waits unsent can time out for certain.
    package var writeInFlightMax = 16
    /// Prepared statements kept on one connection; the least recently used goes first.
    package var preparedStatementsMax = 256
    /// SQL and parameters of one call.
    package var requestBytesMax = 256 << 20

    /// For `start()` as a whole, and later for each attempt to reconnect.
    package var connectTimeoutMs = 10_000
    /// From the call to its answer, waiting included; the server's `statement_timeout` is the same.
    package var statementTimeoutMs = 30_000
    /// For `script`: migrations take longer than statements.
    package var scriptTimeoutMs = 600_000
    /// A session that sits in an open transaction longer than this is ended by the server.
    package var idleInTransactionTimeoutMs = 60_000
    /// How long a timed-out call may still wait for the server to confirm the cancellation, before the connection is
    /// given up.
    package var cancelGraceMs = 2_000
    /// How long `stop()` lets calls in flight finish.
    package var stopTimeoutMs = 5_000
    /// Pause before a second attempt to reconnect; doubled up to the maximum, each jittered between half and whole.
    package var reconnectBackoffMinMs = 50
    package var reconnectBackoffMaxMs = 2_000

    /// Set on every connection and again after each session; `statement_timeout` and the like are added to it.
    ///
    /// Statements here take milliseconds. Postgres estimates those for many live queries, and those that ask the catalog,
    /// so high that it would compile them at each run, for up to seconds.
    package var sessionSettings: [String: String] = ["TimeZone": "UTC", "DateStyle": "ISO, MDY", "jit": "off"]
    /// Seen in `pg_stat_activity`, followed by the connection's role.
    package var applicationName = "freshet"

    package init(connectionString: String) {
        self.connectionString = connectionString
    }
}

/// What a connection is for; decides how its pipeline is cut into transactions and what may be repeated.
enum ConnectionRole: String, Sendable {
    /// Queries of many callers share a sync; safe to repeat, because the server holds them to reading.
    case read
    /// A sync after each transaction.
    case write
    /// One caller at a time, a sync after each statement.
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

    /// The script that brings a connection into its agreed state, both after connecting and after a session.
    func setupScript(_ role: ConnectionRole) -> String {
        var settings = sessionSettings
        settings["statement_timeout"] = String(statementTimeoutMs)
        settings["idle_in_transaction_session_timeout"] = String(idleInTransactionTimeoutMs)
        if role == .read { settings["default_transaction_read_only"] = "on" }
        return settings.sorted { $0.key < $1.key }
            .map { "SELECT set_config(\(Self.quoted($0.key)), \(Self.quoted($0.value)), false)" }
            .joined(separator: ";") + ";" + Self.searchPath
    }

    /// Postgres looks first into a schema that has the role's name. A role called like a schema of ours, `freshet`, would
    /// find and create tables there. A path that an operator chose stays.
    private static let searchPath =
        "SELECT set_config('search_path', 'public', false)"
        + " WHERE current_setting('search_path') = '\"$user\", public'"

    /// Undoes whatever a session may have left behind, but keeps its prepared statements.
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
