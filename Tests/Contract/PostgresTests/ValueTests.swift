import Testing

@testable import Postgres

/// Values without a server.
@Suite struct ValueTests {
    @Test func arrayLiteralQuotesEverything() {
        #expect(PostgresArray.literal([]) == "{}")
        #expect(PostgresArray.literal(["a", nil, "NULL", ""]) == #"{"a",NULL,"NULL",""}"#)
        #expect(PostgresArray.literal([#"q"b\s,{}"#, "é\n"]) == "{\"q\\\"b\\\\s,{}\",\"é\n\"}")
    }

    @Test func statementsAreEqualByText() {
        #expect(Statement("SELECT 1") == Statement("SELECT 1"))
        #expect(Statement("SELECT 1") != Statement("SELECT 2"))
        #expect(Set([Statement("a"), Statement("a"), Statement("b")]).count == 2)
    }

    @Test func descriptionHoldsNoUserData() {
        var error = PostgresError(.server(sqlState: "23505"), "duplicate: secret@example.org")
        error.detail = "Key (email)=(secret@example.org) already exists."
        error.constraint = "users_email_key"
        error.stepIndex = 1
        #expect("\(error)".contains("secret") == false)
        #expect("\(error)".contains("users_email_key") && "\(error)".contains("23505") && "\(error)".contains("step 1"))
        #expect(error.isUniqueViolation)
        #expect(!error.isRetryable && !error.isOutcomeUnknown)
        #expect(PostgresError(.timeout(outcomeUnknown: true), "").isOutcomeUnknown)
        #expect(PostgresError(.server(sqlState: "40001"), "").isRetryable)
    }

    /// Callers that wait for the server do not wait for what only an operator can change.
    @Test func transientErrorsPassByThemselves() {
        for code in [
            .connectionFailed, .closed, .timeout(outcomeUnknown: true), .connectionLost(outcomeUnknown: false),
        ]
            as [PostgresError.Code]
        {
            #expect(PostgresError(code, "").isTransient)
        }
        #expect(!PostgresError(.server(sqlState: "42501"), "").isTransient, "a missing privilege")
        var wrongPassword = PostgresError(.connectionFailed, "")
        wrongPassword.isMisconfigured = true
        #expect(!wrongPassword.isTransient)
    }

    @Test func preparedStatementsAreUsedOnlyWhenCertain() {
        var statements = PreparedStatements(countMax: 2)
        #expect(statements.use("a", group: 0) == .prepareFirst("s1"))
        #expect(statements.use("a", group: 0) == .named("s1"))
        // Group 0 may yet fail.
        #expect(statements.use("a", group: 1) == .unprepared)
        statements.confirm("a", name: "s1")
        #expect(statements.use("a", group: 1) == .named("s1"))

        #expect(statements.use("b", group: 1) == .prepareFirst("s2"))
        statements.forget("b", name: "s2")
        #expect(statements.use("b", group: 2) == .prepareFirst("s3"))
        // A late answer for an earlier try says nothing about this one.
        statements.confirm("b", name: "s2")
        #expect(statements.use("b", group: 3) == .unprepared)
    }

    @Test func leastRecentlyUsedIsDeallocated() {
        var statements = PreparedStatements(countMax: 2)
        for (index, text) in ["a", "b"].enumerated() {
            _ = statements.use(Statement(text), group: 0)
            statements.confirm(Statement(text), name: "s\(index + 1)")
        }
        _ = statements.use("a", group: 1)
        #expect(statements.use("c", group: 1) == .prepareFirst("s3"))
        #expect(statements.takeDiscarded() == "s2")
        #expect(statements.use("d", group: 1) == .prepareFirst("s4"))
        #expect(statements.takeDiscarded() == "s1")
        // Both are in doubt: nothing can go.
        #expect(statements.use("e", group: 1) == .unprepared)
        #expect(statements.count == 2)
    }

    @Test func jobsThatCannotBeSentAreRefused() {
        func problem(_ statement: Statement, _ parameters: [Parameter]) -> PostgresError.Code? {
            let job = Job(.read, [(statement, parameters)], timeoutMs: 1) { _ in }
            do {
                try job.validate(requestBytesMax: 1000)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(problem("SELECT $1::text", ["a"]) == nil)
        #expect(problem("SELECT $1::text", ["a\0b"]) == .invalidParameter)
        #expect(problem("SELECT '\0'", []) == .invalidParameter)
        #expect(problem("SELECT $1::bytea", [.binary([0])]) == nil)
        #expect(problem("SELECT 1", Array(repeating: .null, count: 65_536)) == .invalidParameter)
        #expect(problem("SELECT 1", [.binary(Array(repeating: 1, count: 1000))]) == .invalidParameter)
    }
}
