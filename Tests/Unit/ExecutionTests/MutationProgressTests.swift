import JSON
import LiveModel
import QuerySQL
import Testing

@testable import Execution

@Suite struct MutationProgressTests {
    /// The outcome of a field.
    enum Event: Sendable {
        case done(String)
        case redacted
        case failed
        case checkFailed
        case actedCheckFailed
        case resolver(ErrorCode)
    }

    private static let error = RequestError(.databaseError, "no")

    /// Reports one event for each field that is to run, of fields named a, b, …; field r is redacted.
    /// - Returns: the indices of the fields that ran.
    private func run(_ progress: inout MutationProgress, _ events: [Event]) -> [Int] {
        var ran: [Int] = []
        while case .field(let index) = progress.step, index < events.count {
            ran.append(index)
            switch events[index] {
            case .done(let json): progress.succeeded(.value(Array(json.utf8)), keysWritten: [key(index)])
            case .redacted: progress.succeeded(.nothing)
            case .failed: progress.failed(Self.error)
            case .checkFailed: progress.checkFailed(Self.error)
            case .actedCheckFailed: progress.checkFailed(Self.error, hasActed: true)
            case .resolver(let code): progress.resolverFailed(RequestError(code, "no"))
            }
        }
        return ran
    }

    private func key(_ index: Int) -> EntityKey { EntityKey(table: "T", values: [.string("\(index)")]) }

    private func progress(_ keys: [String], isTransaction: Bool = false) -> MutationProgress {
        MutationProgress(responseKeys: keys, isTransaction: isTransaction, redacted: ["r"])
    }

    private func text(_ outcome: MutationExecutor.Outcome) -> [String] {
        [String(decoding: outcome.body, as: UTF8.self)]
            + outcome.errors.map { error in
                let path = error.path.map { if case .key(let key) = $0 { key } else { "?" } }
                return "\(path.joined(separator: ".")) \(error.code.rawValue) \(error.message)"
            }
    }

    @Test(
        arguments: [
            (["a", "b"], [.done("1"), .done("2")], [#"{"a":1,"b":2}"#]),
            (["a", "r"], [.done("1"), .redacted], [#"{"a":1}"#]),
            (["a", "b"], [.failed, .done("2")], [#"{"a":null,"b":2}"#, "a DATABASE_ERROR no"]),
            (["a", "r"], [.done("1"), .failed], [#"{"a":1}"#, "r DATABASE_ERROR no"]),
            (
                ["a", "b", "r"], [.done("1"), .checkFailed],
                [#"{"a":1,"b":null}"#, "b DATABASE_ERROR no", "r PERMISSION_DENIED (aborted)"]
            ),
            ([], [], ["{}"]),
        ] as [([String], [Event], [String])])
    func aFailedFieldLeavesTheOthers(_ keys: [String], _ events: [Event], _ expected: [String]) {
        var progress = progress(keys)
        let ran = run(&progress, events)
        let outcome = progress.outcome()
        #expect(ran == Array(events.indices) && progress.step == .commit)
        #expect(text(outcome) == expected && outcome.failure == nil && progress.isKept)
    }

    @Test(
        arguments: [[.failed, .failed], [.checkFailed], [.resolver(.unavailable), .resolver(.limitExceeded)]]
            as [[Event]])
    func nothingIsKeptWhenEveryFieldFailed(_ events: [Event]) {
        var progress = progress(["a", "b"])
        _ = run(&progress, events)
        let outcome = progress.outcome()
        #expect(progress.step == .commit && !progress.isKept)
        #expect(outcome.failure == outcome.errors.first && outcome.errors.count == 2)
    }

    @Test(arguments: [.failed, .checkFailed] as [Event])
    func aTransactionEndsWithItsFirstFailure(_ event: Event) {
        var progress = progress(["a", "b", "r"], isTransaction: true)
        let ran = run(&progress, [.done("1"), event, .done("3")])
        #expect(ran == [0, 1] && progress.step == .rollBack && !progress.isKept)
        let outcome = progress.outcome()
        #expect(
            text(outcome) == [
                #"{"a":null,"b":null}"#, "a DATABASE_ERROR (rolled back)", "b DATABASE_ERROR no",
                "r DATABASE_ERROR (aborted)",
            ])
        #expect(outcome.failure != nil)
    }

    @Test func rolledBackFieldsKeepTheViolationAndPathOfTheFailedOneOnly() {
        var error = RequestError(.constraintViolation, "taken", path: [.key("b"), .key("name")])
        error.violation = ConstraintViolation(table: "T", constraint: "u", fields: [], givenFields: [])
        let outcome = MutationProgress.rolledBack(["a", "b", "c"], failedStep: 1, error)
        #expect(
            text(outcome) == [
                #"{"a":null,"b":null,"c":null}"#, "a CONSTRAINT_VIOLATION (rolled back)",
                "b.name CONSTRAINT_VIOLATION taken", "c CONSTRAINT_VIOLATION (aborted)",
            ])
        #expect(outcome.errors.map { $0.violation != nil } == [false, true, false])
        #expect(outcome.failure == outcome.errors[1])
    }

    @Test func aFailedCheckOfTheWholeUndoesEverything() {
        var progress = progress(["a"])
        _ = run(&progress, [.done("1")])
        progress.wholeFailed(Self.error)
        #expect(progress.step == .rollBack && !progress.isKept)
        let outcome = progress.outcome()
        #expect(text(outcome) == ["null", " DATABASE_ERROR no"] && outcome.failure == Self.error)
    }

    @Test(
        arguments: [
            (.resolver(.unavailable), false, .unavailable), (.resolver(.limitExceeded), false, .limitExceeded),
            (.resolver(.internalError), false, .internalError), (.resolver(.timeout), true, .outcomeUnknown),
            (.resolver(.outcomeUnknown), true, .outcomeUnknown), (.resolver(.resolverFailed), true, .resolverFailed),
            (.actedCheckFailed, true, .databaseError), (.checkFailed, false, .databaseError),
        ] as [(Event, Bool, ErrorCode)])
    func aResolverThatMayHaveActedCounts(_ event: Event, _ mayHaveActed: Bool, _ code: ErrorCode) {
        var progress = progress(["a"])
        _ = run(&progress, [event])
        #expect(progress.isKept == mayHaveActed && progress.outcome().errors.map(\.code) == [code])
        #expect(progress.failure(after: Self.error).code == (mayHaveActed ? .outcomeUnknown : .databaseError))
    }

    @Test func onlyFieldsThatStayWriteKeys() {
        var progress = progress(["a", "b", "c"])
        _ = run(&progress, [.done("1"), .failed, .done("3")])
        #expect(progress.keysWritten == [key(0), key(2)])
    }
}
