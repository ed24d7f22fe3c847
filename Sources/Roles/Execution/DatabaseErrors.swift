import Catalog
package import LiveModel
package import Postgres

extension RequestError {
    /// The error that clients see for a database error: its kind, never the server's message, which can quote other
    /// rows.
    package init(_ error: PostgresError) {
        switch error.code {
        case .server: self = Self.server(error)
        case .timeout(outcomeUnknown: false): self.init(.timeout, "the statement took longer than its timeout")
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

    /// The error of a statement of a mutation.
    init(_ error: PostgresError, of operation: StoredOperation) {
        self.init(error)
        guard code == .constraintViolation else { return }
        violation = operation.violation(
            table: error.table, constraint: error.constraint, columns: error.constraintColumns,
            isForeignKey: error.isForeignKeyViolation)
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
        if error.isQueryCanceled { return RequestError(.timeout, "the statement took longer than its timeout") }
        if error.isConflict {
            return RequestError(.unavailable, "the row is being changed concurrently, try again")
        }
        if error.isDataException {
            return RequestError(.invalidVariable, "a value is out of range or malformed")
        }
        if let reason = error.unavailability {
            var unavailable = RequestError(.unavailable, reason)
            // The server's message is about the server here, not about rows.
            unavailable.cause = error.sentence
            return unavailable
        }
        return RequestError(.databaseError, "the database refused the statement")
    }
}

extension PostgresError {
    /// The message for clients of an error that concerns the server rather than the statement; nil for others.
    fileprivate var unavailability: String? {
        if isOutOfResources { return "the database is out of disk space, memory or connections" }
        if isOperatorIntervention { return "the database is stopping or starting" }
        if isConnectionException { return "the connection to the database broke" }
        if isReadOnlyServer { return "the database refused a write: the transaction is read-only" }
        if isPreparedStatementMissing { return "the database does not have the prepared statement" }
        return nil
    }

    /// The columns that a violated constraint concerns, as far as the server names them: `column`, else those of the
    /// detail of a key, such as `Key (a, b)=(1, x) already exists.` Translated details have the same form. Details of
    /// other constraints hold users' values: `Failing row contains (x)=(1, …).`
    var constraintColumns: [String] {
        if let column { return [column] }
        guard isUniqueViolation || isForeignKeyViolation || isExclusionViolation, let detail,
            let begin = detail.firstIndex(of: "("), let end = detail.firstRange(of: ")=("),
            begin < end.lowerBound
        else { return [] }
        return detail[detail.index(after: begin)..<end.lowerBound].split(separator: ",")
            .map { String($0.drop { " \"".contains($0) }.reversed().drop { " \"".contains($0) }.reversed()) }
    }
}
