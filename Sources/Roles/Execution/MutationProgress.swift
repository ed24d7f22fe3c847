import LiveModel
import Operations
import QuerySQL

/// The progress of a mutation whose fields run one after the other in one transaction: which field is next, what a
/// result or failure means, and what the client gets. A pure value.
///
/// Without `@transaction`, a failed field alone is undone and the others stay; after a failed check, later fields do
/// not run. With it, the first failure undoes everything. Source: docs/reference/sql-connect.md §5.1.
struct MutationProgress: Sendable {
    enum Step: Sendable, Hashable {
        /// Run the field of this index, then report what came of it.
        case field(Int)
        case rollBack
        /// Every field is over.
        case commit
    }

    private enum Failure: Sendable {
        case field(Int, RequestError)
        case whole(RequestError)
    }

    private let responseKeys: [String]
    private let isTransaction: Bool
    /// Fields that are left out of the data, even if they fail.
    private let redacted: Set<String>
    private var overCount = 0
    private var fields: [(String, [UInt8]?)] = []
    private var errors: [RequestError] = []
    private var succeededCount = 0
    /// The failure that undoes everything.
    private var rollback: Failure?
    private(set) var keysWritten: [EntityKey] = []
    /// Nil if a field may have changed any rows.
    private(set) var rows: RowChanges? = RowChanges()
    /// Whether a field stored images of rows in its transaction (`RowImages`).
    private(set) var hasImages = false

    init(responseKeys: [String], isTransaction: Bool, redacted: Set<String> = []) {
        self.responseKeys = responseKeys
        self.isTransaction = isTransaction
        self.redacted = redacted
    }

    init(_ run: MutationRun) {
        self.init(
            responseKeys: run.responseKeys, isTransaction: run.isTransaction,
            redacted: Set(run.responseKeys.filter(run.isRedacted)))
    }

    var step: Step {
        if rollback != nil { return .rollBack }
        return overCount < responseKeys.count ? .field(overCount) : .commit
    }

    /// Whether the mutation has an event: some field took effect, or all were left out, so that none could fail.
    var isKept: Bool { rollback == nil && (succeededCount > 0 || responseKeys.isEmpty) }

    // MARK: What came of the field that `step` named

    mutating func succeeded(
        _ shown: MutationRun.Visible, keysWritten: [EntityKey] = [], rows: RowChanges? = RowChanges(),
        hasImages: Bool = false
    ) {
        if case .value(let json) = shown { fields.append((responseKeys[overCount], json)) }
        self.keysWritten += keysWritten
        self.rows = self.rows?.adding(rows)
        self.hasImages = self.hasImages || hasImages
        succeededCount += 1
        overCount += 1
    }

    /// Handles a failure that undid the field.
    mutating func failed(_ error: RequestError) {
        if isTransaction {
            rollback = .field(overCount, error)
            return
        }
        let key = responseKeys[overCount]
        var error = error
        if error.path.isEmpty { error.path = [.key(key)] }
        errors.append(error)
        if !redacted.contains(key) { fields.append((key, nil)) }
        overCount += 1
    }

    /// Handles a failed check, after which no field runs.
    /// - Parameter hasActed: whether the field could not be undone.
    mutating func checkFailed(_ error: RequestError, hasActed: Bool = false) {
        if hasActed { succeededCount += 1 }
        failed(error)
        while case .field = step { failed(RequestError(.permissionDenied, RequestError.abortedMessage)) }
    }

    /// Handles the failed call of a custom resolver. One that may have acted counts as one that has.
    mutating func resolverFailed(_ error: RequestError) {
        switch error.code {
        case .unavailable, .limitExceeded, .internalError:
            // The request was not sent.
            failed(error)
        case .timeout, .outcomeUnknown:
            succeededCount += 1
            failed(Self.unknown(error))
        default:
            // The resolver answered with its own error.
            succeededCount += 1
            failed(error)
        }
    }

    /// Handles a failed check of the operation as a whole.
    mutating func wholeFailed(_ error: RequestError) { rollback = .whole(error) }

    // MARK: The end

    /// Returns what the client gets after the commit or the rollback.
    /// - Parameter event: the row that was committed.
    func outcome(event: OutboxRow? = nil) -> MutationExecutor.Outcome {
        switch rollback {
        case .field(let index, let error):
            Self.rolledBack(responseKeys, failedStep: index, error, isRedacted: redacted.contains)
        case .whole(let error):
            MutationExecutor.Outcome(body: Array("null".utf8), errors: [error], event: nil, failure: error)
        case nil:
            MutationExecutor.Outcome(
                body: MutationExecutor.object(fields), errors: errors, event: event,
                failure: isKept ? nil : errors.first)
        }
    }

    /// Returns an outcome with every field null and an error for each: the failing field's own, "(rolled back)" for
    /// earlier ones, "(aborted)" for later ones. Source: docs/reference/sql-connect.md §5.1, `@transaction`.
    static func rolledBack(
        _ responseKeys: [String], failedStep: Int, _ error: RequestError,
        isRedacted: (String) -> Bool = { _ in false }
    ) -> MutationExecutor.Outcome {
        var errors: [RequestError] = []
        for (index, key) in responseKeys.enumerated() {
            var fieldError = error
            if index != failedStep || error.path.isEmpty { fieldError.path = [.key(key)] }
            if index != failedStep { fieldError.violation = nil }
            if index < failedStep { fieldError.message = "(rolled back)" }
            if index > failedStep { fieldError.message = RequestError.abortedMessage }
            errors.append(fieldError)
        }
        return MutationExecutor.Outcome(
            body: MutationExecutor.object(responseKeys.filter { !isRedacted($0) }.map { ($0, nil) }), errors: errors,
            event: nil, failure: errors[failedStep])
    }

    /// Returns the error for a transaction that failed after the fields so far, which ran before it.
    func failure(after error: RequestError) -> RequestError { succeededCount > 0 ? Self.unknown(error) : error }

    private static func unknown(_ failure: RequestError) -> RequestError {
        var unknown = RequestError(
            .outcomeUnknown, "a custom resolver may have acted, and then: \(failure.message)", path: failure.path)
        unknown.cause = failure.cause
        return unknown
    }
}
