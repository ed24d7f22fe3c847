package import LiveModel
package import Postgres

extension RequestError {
    /// A database error as clients see it: its kind, never the server's words, which can quote other rows.
    package init(_ error: PostgresError) {
        switch error.code {
        case .server(let state): self = Self.server(state, error)
        case .timeout(outcomeUnknown: false): self.init(.timeout, "the statement took longer than its time-out")
        case .timeout(outcomeUnknown: true), .connectionLost(outcomeUnknown: true):
            self.init(.outcomeUnknown, "the connection to the database broke; the mutation may have been committed")
        case .connectionFailed, .connectionLost(outcomeUnknown: false), .closed, .cancelled:
            self.init(.unavailable, "the database cannot be reached")
        case .queueFull: self.init(.unavailable, "the node has too many statements waiting")
        case .invalidParameter: self.init(.invalidVariable, "a value cannot be stored: text must not contain NUL")
        case .unsupported: self.init(.internalError, "the statement is not supported")
        }
        if code == .databaseError || code == .internalError { cause = "\(error)" }
    }

    private static func server(_ state: String, _ error: PostgresError) -> RequestError {
        switch state {
        case _ where error.isUniqueViolation:
            RequestError(.constraintViolation, "a row with the same unique values already exists")
        case _ where error.isForeignKeyViolation:
            RequestError(.constraintViolation, "the row refers to one that does not exist, or is referred to")
        case _ where error.isNotNullViolation:
            RequestError(.constraintViolation, "a required field has no value")
        case _ where error.isCheckViolation || error.isExclusionViolation:
            RequestError(.constraintViolation, "a constraint of the table does not hold")
        case _ where error.isQueryCanceled:
            RequestError(.timeout, "the statement took longer than its time-out")
        case _ where error.isConflict:
            RequestError(.unavailable, "the row is being changed by others, try again")
        case _ where state.hasPrefix("22"):
            RequestError(.invalidVariable, "a value is out of range or malformed")
        // Resources, shutdown, connection; a read-only server; a prepared statement that is gone.
        case _ where state.hasPrefix("53") || state.hasPrefix("57P") || state.hasPrefix("08"),
            _ where error.isReadOnlyServer, "26000":
            RequestError(.unavailable, "the database cannot be reached")
        default: RequestError(.databaseError, "the database refused the statement")
        }
    }
}
