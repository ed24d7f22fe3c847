/// The calls of one statement: the number of executions under way, and the calls that wait to run together. A pure
/// value.
///
/// A few executions may be under way at once. Calls that arrive meanwhile wait for the first answer and then run in one
/// statement, so the more calls there are, the less each costs; a call that finds the database idle never waits.
struct CallQueue<Call: Sendable>: Sendable {
    struct Limits: Sendable {
        /// The executions under way at which calls begin to wait.
        var runningMax = 4
        /// The most calls in one statement; 1: calls never wait.
        var batchMax = 1
        /// The longest time that a call waits for the executions under way, which may be held up by a lock.
        var waitMs: Int64 = 20
        /// The time for which calls run alone after a statement with several failed.
        var aloneMs: Int64 = 1_000
    }

    enum Arrival: Sendable {
        /// The call runs at once, alone. Report its end.
        case runs
        /// - Parameter isFirst: whether nothing waited before; ask `overdue` from now on.
        case waits(isFirst: Bool)
        /// These calls run now, in one statement. Report its end.
        case completes([Call])
    }

    private let limits: Limits
    private var running = 0
    /// The time until which calls run alone.
    private var aloneUntilMs: Int64 = 0
    private var waiting: [Call] = []
    /// When the first call that waits arrived.
    private var waitingSinceMs: Int64 = 0

    init(_ limits: Limits) { self.limits = limits }

    var isEmpty: Bool { waiting.isEmpty }

    /// Whether calls may run together now.
    func mayBatch(nowMs: Int64) -> Bool { nowMs >= aloneUntilMs }

    /// Reports that a statement with several calls failed, so that calls run alone for a while.
    mutating func batchFailed(nowMs: Int64) { aloneUntilMs = nowMs + limits.aloneMs }

    /// Takes a call's place if it may run at once.
    mutating func start() -> Bool {
        guard running < limits.runningMax, waiting.isEmpty else { return false }
        running += 1
        return true
    }

    /// - Parameter batchMax: the most calls in one statement now, at most that of the limits.
    mutating func add(_ call: Call, batchMax: Int, nowMs: Int64) -> Arrival {
        if start() { return .runs }
        if waiting.isEmpty { waitingSinceMs = nowMs }
        waiting.append(call)
        if waiting.count >= min(batchMax, limits.batchMax) { return .completes(next()) }
        return .waits(isFirst: waiting.count == 1)
    }

    /// Reports the end of an execution.
    /// - Returns: the calls that run now, in one statement.
    mutating func ended() -> [Call] {
        running -= 1
        return waiting.isEmpty || running >= limits.runningMax ? [] : next()
    }

    /// Returns the calls that have waited long enough; they run now, in one statement.
    mutating func overdue(nowMs: Int64) -> [Call] {
        waiting.isEmpty || nowMs - waitingSinceMs < limits.waitMs ? [] : next()
    }

    private mutating func next() -> [Call] {
        running += 1
        defer { waiting = [] }
        return waiting
    }
}
