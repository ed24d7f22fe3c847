import Synchronization

/// One caller's work on its way through a connection: queued, sent, answered. Its completion is called exactly once.
///
/// Unchecked: made ready by the caller, and from its submission on touched by the connection's thread alone, except
/// `cancelRequested`.
final class Job: @unchecked Sendable {
    enum Kind {
        /// One statement, answered at its result.
        case read
        /// One implicit transaction, answered at its sync, because it commits there.
        case transaction
        /// The same for one statement of a session; never repeated.
        case session
        /// Simple protocol, any number of statements, answered at the end.
        case script(String)
    }

    typealias Completion = @Sendable (Result<[ResultSet], PostgresError>) -> Void

    let kind: Kind
    let steps: [PostgresStep]
    let timeoutMs: Int
    /// The connection's generation that a session belongs to: after a reconnect its transaction is gone.
    let generation: Int?
    let enqueuedMs: Int
    var deadlineMs: Int
    let cancelRequested = Atomic<Bool>(false)

    private var completion: Completion?
    /// SQL and parameters; known after `validate`.
    private(set) var bytes = 0
    var results: [ResultSet] = []
    var error: PostgresError?
    /// Counted in the connection's load.
    var occupiesSlot = false
    /// Its completion works on the connection's thread: until that is done the connection is not free for others.
    var isWorkedOnHere = false
    /// Between sending and the last answer.
    var isInFlight = false
    /// The server skipped it because of an error before it in its group.
    var isAborted = false
    /// A neighbour's error aborted it: it is sent again with a sync of its own.
    var isIsolated = false
    /// In flight while a cancel request aimed at another job was on its way.
    var isExposedToCancel = false
    var connectionLosses = 0
    var repeats = 0

    init(
        _ kind: Kind, _ steps: [PostgresStep], timeoutMs: Int, generation: Int? = nil,
        completion: Completion? = nil
    ) {
        self.kind = kind
        self.steps = steps
        self.timeoutMs = timeoutMs
        self.generation = generation
        self.completion = completion
        enqueuedMs = monotonicMs()
        deadlineMs = enqueuedMs + timeoutMs
    }

    /// Before it is submitted.
    func onCompletion(_ completion: @escaping Completion) {
        self.completion = completion
    }

    var isFinished: Bool { completion == nil }

    var isRead: Bool {
        if case .read = kind { true } else { false }
    }

    /// The first error is the cause; what follows it are its consequences.
    func fail(_ error: PostgresError, step: Int?) {
        guard self.error == nil else { return }
        var error = error
        error.stepIndex = step
        self.error = error
    }

    /// Before it is sent again.
    func forgetAnswers() {
        results = []
        error = nil
        isAborted = false
        isExposedToCancel = false
    }

    func finish(_ result: Result<[ResultSet], PostgresError>) {
        guard let completion else { return }
        self.completion = nil
        results = []
        completion(result)
    }

    /// What libpq could not send faithfully, found before anything is sent.
    func validate(requestBytesMax: Int) throws(PostgresError) {
        var total = 0
        if case .script(let sql) = kind {
            total = sql.utf8.count
            if sql.utf8.contains(0) { throw PostgresError(.invalidParameter, "the script contains a NUL") }
        }
        for (index, step) in steps.enumerated() {
            var problem: String?
            if step.statement.containsNUL { problem = "the statement contains a NUL" }
            if step.parameters.count > 65_535 { problem = "more than 65535 parameters" }
            total += step.statement.sql.utf8.count
            for parameter in step.parameters {
                switch parameter {
                case .null: break
                case .text(let text):
                    total += text.utf8.count
                    if text.containsNUL { problem = "a text parameter contains a NUL" }
                case .binary(let bytes): total += bytes.count
                }
            }
            if let problem {
                var error = PostgresError(.invalidParameter, problem)
                error.stepIndex = index
                throw error
            }
        }
        // Postgres takes no message above 1 GiB.
        let bytesMax = min(requestBytesMax, 1 << 30)
        if total > bytesMax { throw PostgresError(.invalidParameter, "the request has more than \(bytesMax) bytes") }
        bytes = total
    }
}
