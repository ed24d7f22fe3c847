package import LiveModel
package import Postgres

extension RequestError {
    /// What a client is told of a database error: the kind, never the server's words, which can quote other rows.
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
        case "23505": RequestError(.constraintViolation, "a row with the same unique values already exists")
        case "23503": RequestError(.constraintViolation, "the row refers to one that does not exist, or is referred to")
        case "23502": RequestError(.constraintViolation, "a required field has no value")
        case "23514", "23P01": RequestError(.constraintViolation, "a constraint of the table does not hold")
        case "57014": RequestError(.timeout, "the statement took longer than its time-out")
        case "40001", "40P01", "55P03": RequestError(.unavailable, "the row is being changed by others, try again")
        case _ where state.hasPrefix("22"): RequestError(.invalidVariable, "a value is out of range or malformed")
        case _ where state.hasPrefix("53"), _ where state.hasPrefix("57P"), _ where state.hasPrefix("08"), "25006",
            "26000":
            RequestError(.unavailable, "the database cannot be reached")
        default: RequestError(.databaseError, "the database refused the statement")
        }
    }
}
