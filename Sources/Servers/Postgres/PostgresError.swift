/// The reason that a statement, transaction, session or connection attempt failed.
///
/// `description` and logs contain codes and the names of database objects only. `message`, `detail` and `hint` are the
/// server's text and can quote user data, so callers decide who may see them.
package struct PostgresError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// No connection could be made, or not in time. Nothing was sent.
        case connectionFailed
        /// The connection broke. `outcomeUnknown`: the work was sent and may have been committed.
        case connectionLost(outcomeUnknown: Bool)
        /// The server rejected the statement; the transaction it was sent in was rolled back.
        case server(sqlState: String)
        /// The deadline passed. `outcomeUnknown`: the server did not confirm the cancellation and may have committed.
        case timeout(outcomeUnknown: Bool)
        /// The connection's queue is full. Nothing was sent.
        case queueFull
        /// The pool is stopped, or the session has ended. Nothing was sent.
        case closed
        /// The caller's task was cancelled, and nothing was committed.
        case cancelled
        /// A parameter or statement cannot be sent as it is: a NUL inside text, too many or too large parameters.
        case invalidParameter
        /// The statement needs what this client does not support (COPY).
        case unsupported
    }

    package var code: Code
    /// The five-character code of the server's error; nil for errors of this client.
    package var sqlState: String?
    package var message: String
    package var detail: String?
    package var hint: String?
    package var schema: String?
    package var table: String?
    package var column: String?
    package var constraint: String?
    package var dataType: String?
    /// The position of the error in the statement's text, in characters from 1.
    package var position: Int?
    /// The step of a transaction that failed, from 0; nil when it failed as a whole (at commit, or with its
    /// connection).
    package var stepIndex: Int?
    /// Whether the call timed out because it ran for too long, and not while it waited.
    package internal(set) var ranTooLong = false
    /// Whether the connection cannot succeed until a setting is changed, here or on the server.
    package internal(set) var isMisconfigured = false
    /// Whether the server closes the connection after this error.
    var isFatal = false
    /// The server's function that raised the error; it distinguishes causes that share a SQLSTATE.
    var routine: String?

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
        if case .server(let state) = code { sqlState = state }
    }

    package var description: String {
        var text = phrase
        if let sqlState { text += " (SQLSTATE \(sqlState))" }
        for (label, value) in [("table", table), ("column", column), ("constraint", constraint)] {
            if let value { text += ", \(label) \(value)" }
        }
        if let stepIndex { text += ", step \(stepIndex)" }
        return text
    }
}

extension PostgresError {
    /// One line for operators: what happened, with the server's message. It can quote user data, so it is not for
    /// clients.
    package var sentence: String {
        let words = message.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let what = if case .server(let state) = code { "\(phrase) (SQLSTATE \(state))" } else { phrase }
        return words.isEmpty ? what : "\(what): \(words)"
    }

    /// The code in words.
    private var phrase: String {
        switch code {
        case .connectionFailed: "cannot connect to the database"
        case .connectionLost(outcomeUnknown: false): "the connection to the database broke"
        case .connectionLost(outcomeUnknown: true):
            "the connection to the database broke, the work may have been committed"
        case .server: "the database returned an error"
        case .timeout(outcomeUnknown: false): "the database did not answer in time"
        case .timeout(outcomeUnknown: true): "the database did not answer in time, the work may have been committed"
        case .queueFull: "the queue for the database is full"
        case .closed: "the connection to the database is closed"
        case .cancelled: "cancelled"
        case .invalidParameter: "a value cannot be sent to the database"
        case .unsupported: "this client does not support that"
        }
    }

    /// Whether the work may have been committed although the call failed; only the caller can find out.
    package var isOutcomeUnknown: Bool {
        switch code {
        case .connectionLost(let unknown), .timeout(let unknown): unknown
        case .connectionFailed, .server, .queueFull, .closed, .cancelled, .invalidParameter, .unsupported: false
        }
    }

    /// Whether repeating the work later can succeed and cannot apply it twice.
    package var isRetryable: Bool {
        switch code {
        case .connectionFailed, .queueFull: true
        case .connectionLost(let unknown), .timeout(let unknown): !unknown
        case .server(let state):
            isConflict || SQLState.isOutOfResources(state) || SQLState.isOperatorIntervention(state)
        case .closed, .cancelled, .invalidParameter, .unsupported: false
        }
    }

    /// Whether the server may be usable again without anybody's doing, for callers that wait for that.
    package var isTransient: Bool { (isRetryable || isOutcomeUnknown || code == .closed) && !isMisconfigured }

    package var isUniqueViolation: Bool { sqlState == SQLState.uniqueViolation }
    package var isForeignKeyViolation: Bool { sqlState == SQLState.foreignKeyViolation }
    package var isNotNullViolation: Bool { sqlState == SQLState.notNullViolation }
    package var isCheckViolation: Bool { sqlState == SQLState.checkViolation }
    package var isExclusionViolation: Bool { sqlState == SQLState.exclusionViolation }

    /// Whether Postgres chose this transaction as the victim of a deadlock.
    package var isDeadlock: Bool { sqlState == SQLState.deadlockDetected }
    /// Whether a lock was not available within `lock_timeout`, or at once with `NOWAIT`.
    package var isLockNotAvailable: Bool { sqlState == SQLState.lockNotAvailable }
    /// Whether it conflicted with another transaction: a serialization failure, a deadlock or an unavailable lock.
    package var isConflict: Bool {
        sqlState == SQLState.serializationFailure || isDeadlock || isLockNotAvailable
    }

    /// Whether a value is out of range or malformed.
    package var isDataException: Bool { sqlState.map(SQLState.isDataException) ?? false }
    /// Whether the server lacks disk space, memory or connections.
    package var isOutOfResources: Bool { sqlState.map(SQLState.isOutOfResources) ?? false }
    /// Whether the server shuts down, is starting or closed the connection on an administrator's request.
    package var isOperatorIntervention: Bool { sqlState.map(SQLState.isOperatorIntervention) ?? false }
    package var isConnectionException: Bool { sqlState.map(SQLState.isConnectionException) ?? false }
    /// Whether the transaction or the server is read-only.
    package var isReadOnlyServer: Bool { sqlState == SQLState.readOnlyTransaction }
    /// Whether `statement_timeout`, our own cancel request or an administrator cancelled the statement.
    package var isQueryCanceled: Bool { sqlState == SQLState.queryCanceled }
    /// Whether the call timed out here.
    package var isTimeout: Bool { if case .timeout = code { true } else { false } }
    /// Whether the server has no prepared statement with that name.
    package var isPreparedStatementMissing: Bool { sqlState == SQLState.invalidStatementName }

    /// Whether the prepared statement no longer fits the schema or no longer exists, so that it must be prepared again.
    var isStalePreparedStatement: Bool {
        (sqlState == SQLState.featureNotSupported && routine == "RevalidateCachedQuery")
            || (isPreparedStatementMissing && routine == "FetchPreparedStatement")
    }
}

extension PostgresError {
    static let cancelledByCaller = PostgresError(.cancelled, "the caller was cancelled")
    static let poolStopped = PostgresError(.closed, "the pool is stopped")
    static let sessionLost = PostgresError(
        .connectionLost(outcomeUnknown: false), "the session's connection was lost")
    static let notSentInTime = PostgresError(.timeout(outcomeUnknown: false), "not sent in time")
    /// The error of a call that waited too long: without a connection, the reason for that is more useful than the
    /// timeout.
    static func overdue(_ connectError: PostgresError?) -> PostgresError {
        connectError.map { PostgresError(.connectionFailed, $0.message) } ?? .notSentInTime
    }

    static let copyRefused = PostgresError(.unsupported, "COPY is not supported")

    static func timedOut(outcomeUnknown: Bool) -> PostgresError {
        PostgresError(.timeout(outcomeUnknown: outcomeUnknown), "no answer in time")
    }
}
