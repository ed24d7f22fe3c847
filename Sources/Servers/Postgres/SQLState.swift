/// The SQLSTATE codes that this project uses (PostgreSQL, Appendix A). Other modules use `PostgresError`'s properties.
enum SQLState {
    static let featureNotSupported = "0A000"
    static let notNullViolation = "23502"
    static let foreignKeyViolation = "23503"
    static let uniqueViolation = "23505"
    static let checkViolation = "23514"
    static let exclusionViolation = "23P01"
    static let readOnlyTransaction = "25006"
    static let failedTransaction = "25P02"
    static let invalidStatementName = "26000"
    static let invalidCatalogName = "3D000"
    static let serializationFailure = "40001"
    static let deadlockDetected = "40P01"
    static let insufficientPrivilege = "42501"
    static let lockNotAvailable = "55P03"
    static let queryCanceled = "57014"

    // Classes: the first two characters, or three.

    static func isConnectionException(_ state: String) -> Bool { state.hasPrefix("08") }
    static func isDataException(_ state: String) -> Bool { state.hasPrefix("22") }
    static func isInvalidAuthorization(_ state: String) -> Bool { state.hasPrefix("28") }
    static func isOutOfResources(_ state: String) -> Bool { state.hasPrefix("53") }
    /// Shutdown, crash, or not ready for connections; not a cancelled query.
    static func isOperatorIntervention(_ state: String) -> Bool { state.hasPrefix("57P") }
}
