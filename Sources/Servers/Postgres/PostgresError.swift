/// Why a statement, transaction, session or connection attempt failed.
///
/// `description` and logs carry codes and the names of database objects only; `message`, `detail` and `hint` are the
/// server's words, can quote user data, and are for callers that decide what may be shown.
package struct PostgresError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// No connection could be made (in time). Nothing was sent.
        case connectionFailed
        /// The connection broke. `outcomeUnknown`: the work was sent and may have been committed.
        case connectionLost(outcomeUnknown: Bool)
        /// The server refused the statement; whatever was sent with it was rolled back.
        case server(sqlState: String)
        /// The deadline passed. `outcomeUnknown`: the server did not confirm that it stopped, a commit is possible.
        case timeout(outcomeUnknown: Bool)
        /// The connection's queue is at its bound. Nothing was sent.
        case queueFull
        /// The pool is stopped, or the session has ended. Nothing was sent.
        case closed
        /// The caller's task was cancelled, and nothing was committed.
        case cancelled
        /// A parameter or statement cannot be sent as it is: a NUL inside text, too many or too large parameters.
        case invalidParameter
        /// The statement asks for what this client does not do (COPY).
        case unsupported
    }

    package var code: Code
    /// Five characters, when the server answered.
    package var sqlState: String?
    package var message: String
    package var detail: String?
    package var hint: String?
    package var schema: String?
    package var table: String?
    package var column: String?
    package var constraint: String?
    package var dataType: String?
    /// Position in the statement's text where the server saw the error, in characters from 1.
    package var position: Int?
    /// Which step of a transaction failed, from 0; nil when it failed as a whole (at commit, or by its connection).
    package var stepIndex: Int?
    /// Of a connection: trying again helps only after somebody has changed a setting, here or at the server.
    package internal(set) var isMisconfigured = false
    /// The server ends the connection with this error.
    var isFatal = false
    /// The server's function that raised the error: tells apart what one SQLSTATE covers, in any language.
    var routine: String?

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
        if case .server(let state) = code { sqlState = state }
    }

    package var description: String {
        var text = "PostgresError \(code)"
        if let sqlState, code != .server(sqlState: sqlState) { text += " SQLSTATE \(sqlState)" }
        for (label, value) in [("table", table), ("column", column), ("constraint", constraint)] {
            if let value { text += " \(label) \(value)" }
        }
        if let stepIndex { text += " step \(stepIndex)" }
        return text
    }
}

extension PostgresError {
    /// One line for whoever runs a command or a node: what happened and the server's own words. Can quote user data, so
    /// not for clients.
    package var sentence: String {
        let words = message.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let what =
            switch code {
            case .connectionFailed: "cannot connect to the database"
            case .connectionLost(let unknown):
                unknown
                    ? "the connection to the database broke, the work may be done"
                    : "the connection to the database broke"
            case .server(let state): "the database refused (SQLSTATE \(state))"
            case .timeout(let unknown):
                unknown
                    ? "the database did not answer in time, the work may be done"
                    : "the database did not answer in time"
            case .queueFull: "too much waits for the database"
            case .closed: "the connection to the database is closed"
            case .cancelled: "cancelled"
            case .invalidParameter: "a value cannot be sent to the database"
            case .unsupported: "this client cannot do that"
            }
        return words.isEmpty ? what : "\(what): \(words)"
    }

    /// The work may have been committed although it failed: only the caller can find out.
    package var isOutcomeUnknown: Bool {
        switch code {
        case .connectionLost(let unknown), .timeout(let unknown): unknown
        case .connectionFailed, .server, .queueFull, .closed, .cancelled, .invalidParameter, .unsupported: false
        }
    }

    /// Trying the same work again, later, can succeed and cannot do it twice.
    package var isRetryable: Bool {
        switch code {
        case .connectionFailed, .queueFull: true
        case .connectionLost(let unknown), .timeout(let unknown): !unknown
        case .server(let state):
            state == "40001" || state == "40P01" || state == "55P03" || state.hasPrefix("53")
                || state.hasPrefix("57P")
        case .closed, .cancelled, .invalidParameter, .unsupported: false
        }
    }

    package var isUniqueViolation: Bool { sqlState == "23505" }
    package var isForeignKeyViolation: Bool { sqlState == "23503" }
    package var isNotNullViolation: Bool { sqlState == "23502" }
    package var isCheckViolation: Bool { sqlState == "23514" }

    /// 25006: the transaction is read-only, or the server is.
    var isReadOnlyServer: Bool { sqlState == "25006" }

    /// 57014: statement_timeout, our own cancel request or an administrator's.
    var isQueryCanceled: Bool { sqlState == "57014" }

    /// The prepared statement no longer fits the schema, or is gone from the server: preparing again cures it.
    var isStalePreparedStatement: Bool {
        (sqlState == "0A000" && routine == "RevalidateCachedQuery")
            || (sqlState == "26000" && routine == "FetchPreparedStatement")
    }
}
