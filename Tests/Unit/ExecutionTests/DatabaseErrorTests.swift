import LiveModel
import Postgres
import Testing

@testable import Execution

/// Database errors as clients see them: the kind, never the server's text.
@Suite struct DatabaseErrorTests {
    private static let secret = "Key (email)=(ann@example.com) already exists."

    @Test(
        "Each SQLSTATE has its code",
        arguments: [
            ("23505", ErrorCode.constraintViolation), ("23503", .constraintViolation), ("23502", .constraintViolation),
            ("23514", .constraintViolation), ("23P01", .constraintViolation), ("57014", .timeout),
            ("40001", .unavailable), ("40P01", .unavailable), ("55P03", .unavailable), ("22003", .invalidVariable),
            ("22P02", .invalidVariable), ("53300", .unavailable), ("57P01", .unavailable), ("08006", .unavailable),
            ("25006", .unavailable), ("26000", .unavailable), ("42P01", .databaseError), ("XX000", .databaseError),
        ])
    func server(state: String, code: ErrorCode) {
        var error = PostgresError(.server(sqlState: state), Self.secret)
        error.sqlState = state
        error.detail = Self.secret
        let seen = RequestError(error)
        #expect(seen.code == code)
        #expect(!seen.message.contains("ann@example.com"))
        let isOfServer = code == .unavailable && !error.isConflict
        #expect((seen.cause != nil) == (code == .databaseError || isOfServer))
    }

    @Test(
        "Errors of the server say what is wrong with it, and their cause has SQLSTATE and message",
        arguments: [
            ("53100", "disk space, memory or connections"), ("53300", "disk space, memory or connections"),
            ("57P01", "stopping or starting"), ("57P03", "stopping or starting"), ("08006", "connection"),
            ("25006", "read-only"), ("26000", "prepared statement"),
        ])
    func unavailability(state: String, phrase: String) {
        let seen = RequestError(PostgresError(.server(sqlState: state), "No space\nleft"))
        #expect(seen.message.contains(phrase))
        #expect(seen.cause == "the database returned an error (SQLSTATE \(state)): No space left")
    }

    @Test("Conflicts with other transactions have no cause: they are not the server's")
    func conflicts() {
        for state in ["40001", "40P01", "55P03"] {
            #expect(RequestError(PostgresError(.server(sqlState: state), "m")).cause == nil)
        }
    }

    @Test("Columns are read from the detail of a key only: that of a CHECK holds the values of the row")
    func columnsOfDetails() {
        func columns(_ state: String, _ detail: String) -> [String] {
            var error = PostgresError(.server(sqlState: state), "m")
            error.detail = detail
            return error.constraintColumns
        }
        for state in ["23505", "23503", "23P01"] {
            #expect(columns(state, #"Key (email, "b c")=(ann@example.com, 1) already exists."#) == ["email", "b c"])
        }
        #expect(columns("23514", "Failing row contains (7, call (ann)=(secret), x).") == [])
        #expect(columns("23502", "Failing row contains (7, (ann)=(secret)).") == [])
    }

    @Test(
        "Each error of the connection has its code",
        arguments: [
            (PostgresError.Code.timeout(outcomeUnknown: false), ErrorCode.timeout),
            (.timeout(outcomeUnknown: true), .outcomeUnknown), (.connectionLost(outcomeUnknown: true), .outcomeUnknown),
            (.connectionLost(outcomeUnknown: false), .unavailable), (.connectionFailed, .unavailable),
            (.closed, .unavailable), (.cancelled, .unavailable), (.queueFull, .unavailable),
            (.invalidParameter, .invalidVariable), (.unsupported, .internalError),
        ])
    func connection(code: PostgresError.Code, expected: ErrorCode) {
        #expect(RequestError(PostgresError(code, "m")).code == expected)
    }

    @Test("Certain failures are never reported as of unknown outcome")
    func certainFailures() {
        for code in [PostgresError.Code.queueFull, .closed, .connectionFailed, .timeout(outcomeUnknown: false)] {
            #expect(RequestError(PostgresError(code, "m")).code != .outcomeUnknown)
        }
    }
}
