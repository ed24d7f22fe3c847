package import LiveModel
package import Postgres

extension RequestError {
    /// The error that clients see for a database error: its kind, never the server's message, which can quote other
    /// rows.
    package init(_ error: PostgresError) {
        switch error.code {
        case .server: self = Self.server(error)
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

    private static func server(_ error: PostgresError) -> RequestError {
        if error.isUniqueViolation {
            return RequestError(.constraintViolation, "a row with the same unique values already exists")
        }
        if error.isForeignKeyViolation {
            return RequestError(
                .constraintViolation, "the row refers to one that does not exist, or is referred to")
        }
        if error.isNotNullViolation { return RequestError(.constraintViolation, "a required field has no value") }
        if error.isCheckViolation || error.isExclusionViolation {
            return RequestError(.constraintViolation, "a constraint of the table does not hold")
        }
        if error.isQueryCanceled { return RequestError(.timeout, "the statement took longer than its time-out") }
        if error.isConflict {
            return RequestError(.unavailable, "the row is being changed by others, try again")
        }
        if error.isDataException {
            return RequestError(.invalidVariable, "a value is out of range or malformed")
        }
        if error.isServerUnavailable || error.isReadOnlyServer || error.isPreparedStatementMissing {
            return RequestError(.unavailable, "the database cannot be reached")
        }
        return RequestError(.databaseError, "the database refused the statement")
    }
}
