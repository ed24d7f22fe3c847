/// The part of a job that `PipelineMachine` reads. Its completion and its results stay with the driver.
protocol PipelineJob {
    var kind: JobKind { get }
    /// Empty only for a script.
    var steps: [PostgresStep] { get }
    /// The time until which the job may wait for its turn or, without `runTimeoutMs`, for its answer.
    var deadlineMs: Int { get }
    /// The time limit from its turn, when it becomes first in its connection's pipeline. Nil: `deadlineMs` limits the
    /// whole.
    var runTimeoutMs: Int? { get }
    /// The time for which the job may be first in its pipeline. After that it is slow: once others wait behind it, it
    /// is cancelled and rerouted; a transaction only where commits wait for no standby. Nil: it is never rerouted.
    var slowAfterMs: Int? { get }
    /// Whether the job's statement has proved to be slow, so that it belongs elsewhere: it may have become known after
    /// the job was submitted.
    var isKnownSlow: Bool { get }
    /// Whether the beginning of its execution is reported (`Action.reportStart`).
    var isTimed: Bool { get }
    /// Whether others wait for the job's connection outside of its pipeline.
    var isAwaited: Bool { get }
    /// The connection's generation that a session belongs to; its transaction does not survive a reconnect.
    var generation: Int? { get }
}

enum JobKind {
    /// One statement, answered when its result arrives.
    case read
    /// One implicit transaction, answered at its sync, which commits it.
    case transaction
    /// Statements of a session, answered at their sync; never repeated.
    case session
    /// Any number of statements in the simple protocol, answered at the end; never repeated.
    case script(String)

    var isRead: Bool {
        if case .read = self { true } else { false }
    }

    var isScript: Bool {
        if case .script = self { true } else { false }
    }
}

/// Identifies a job in one connection's `JobTable`. The id of a removed job matches nothing.
struct JobID: Hashable, Sendable {
    fileprivate let slot: Int
    fileprivate let serial: Int
}

/// The jobs queued or in flight on a connection. Each has a numbered slot by which the queues refer to it; slots are
/// reused, so a job costs no allocation here. Bounded by `ConnectionHandle.submit`.
struct JobTable<Job: PipelineJob> {
    typealias Slot = Int

    struct Entry {
        /// The job; nil while the slot is free.
        fileprivate var held: Job?
        let kind: JobKind
        var deadlineMs: Int
        /// Whether the job is sent and not fully answered.
        var isInFlight = false
        /// Whether the caller has its answer although the queue or the server still has the job.
        var isAnswered = false
        var isCancelRequested = false
        /// Whether the job was reported as slow.
        var isSlow = false
        /// Whether a cancel request was decided so that the job can be rerouted.
        var isRerouting = false
        /// Whether the server skipped it because of an earlier error in its group.
        var isAborted = false
        /// Whether a neighbour's error aborted it before: when sent again, it gets a separate sync.
        var isIsolated = false
        /// Whether it was in flight during a cancel request aimed at another job.
        var isExposedToCancel = false
        var hasResults = false
        var connectionLosses = 0
        var repeats = 0
        fileprivate(set) var hasError = false
        /// Whether the server closes the connection after its error.
        fileprivate(set) var hasFatalError = false

        var job: Job {
            guard let held else { preconditionFailure("a \(kind) that is gone") }
            return held
        }
    }

    private var entries: [Entry] = []
    private var serials: [Int] = []
    /// The errors of jobs, stored apart to keep entries small, because few jobs have one.
    private var errors: [Slot: PostgresError] = [:]
    private var free: [Slot] = []

    var count: Int { entries.count - free.count }

    mutating func insert(_ job: Job) -> Slot {
        let entry = Entry(held: job, kind: job.kind, deadlineMs: job.deadlineMs)
        if let slot = free.popLast() {
            entries[slot] = entry
            return slot
        }
        entries.append(entry)
        serials.append(0)
        return entries.count - 1
    }

    mutating func remove(_ slot: Slot) {
        check(slot)
        entries[slot].held = nil
        forgetError(of: slot)
        serials[slot] += 1
        free.append(slot)
    }

    func id(of slot: Slot) -> JobID { JobID(slot: slot, serial: serials[slot]) }

    /// Returns the job's slot; nil when the job is gone.
    func slot(of id: JobID) -> Slot? {
        serials.indices.contains(id.slot) && serials[id.slot] == id.serial ? id.slot : nil
    }

    func error(of slot: Slot) -> PostgresError? { errors[slot] }

    /// Records a job's first error, which is the cause; later ones are consequences.
    mutating func fail(_ slot: Slot, _ error: PostgresError, step: Int?) {
        if entries[slot].hasError { return }
        setError(of: slot, error)
        errors[slot]?.stepIndex = step
    }

    mutating func setError(of slot: Slot, _ error: PostgresError) {
        errors[slot] = error
        entries[slot].hasError = true
        entries[slot].hasFatalError = error.isFatal
    }

    mutating func forgetError(of slot: Slot) {
        guard entries[slot].hasError else { return }
        errors[slot] = nil
        entries[slot].hasError = false
        entries[slot].hasFatalError = false
    }

    subscript(slot: Slot) -> Entry {
        _read {
            check(slot)
            yield entries[slot]
        }
        _modify {
            check(slot)
            yield &entries[slot]
        }
    }

    private func check(_ slot: Slot) {
        precondition(entries[slot].held != nil, "no job in slot \(slot) of \(entries.count), free are \(free)")
    }
}
