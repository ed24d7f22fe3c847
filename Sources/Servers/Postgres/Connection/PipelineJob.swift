/// The part of a job that `PipelineMachine` reads. Its completion and its results stay with the driver.
protocol PipelineJob {
    var kind: JobKind { get }
    /// Empty for a script only.
    var steps: [PostgresStep] { get }
    /// Until when the job may wait for its turn. Without `runTimeoutMs`, until when it must be answered.
    var deadlineMs: Int { get }
    /// Time from its turn, when it becomes first in its connection's pipeline. Nil: `deadlineMs` bounds the whole.
    var runTimeoutMs: Int? { get }
    /// A job first in its pipeline for this long is slow: once others wait behind it, it is cancelled and rerouted.
    /// Nil: it stays where it is.
    var slowAfterMs: Int? { get }
    /// The connection's generation that a session belongs to: after a reconnect its transaction is gone.
    var generation: Int? { get }
}

enum JobKind {
    /// One statement, answered at its result.
    case read
    /// One implicit transaction, answered at its sync, where it commits.
    case transaction
    /// Statements of a session, answered at their sync; never repeated.
    case session
    /// Any number of statements by the simple protocol, answered at the end; never repeated.
    case script(String)

    var isRead: Bool {
        if case .read = self { true } else { false }
    }

    var isScript: Bool {
        if case .script = self { true } else { false }
    }
}

/// Identifies a job in one connection's `JobTable`. An id of a job that is gone matches nothing.
struct JobID: Hashable, Sendable {
    fileprivate let slot: Int
    fileprivate let serial: Int
}

/// The jobs that a connection has queued or in flight. Each occupies a numbered slot by which the queues refer to it;
/// slots are reused, so that a job costs no allocation here. Bounded by `ConnectionHandle.submit`.
struct JobTable<Job: PipelineJob> {
    typealias Slot = Int

    struct Entry {
        /// Nil while the slot is free.
        fileprivate var held: Job?
        let kind: JobKind
        var deadlineMs: Int
        /// Sent and not fully answered.
        var isInFlight = false
        /// The caller has its answer; the queue or the server is not done with the job yet.
        var isAnswered = false
        var isCancelRequested = false
        /// Reported as slow.
        var isSlow = false
        /// A cancel request was decided so that the job can be rerouted.
        var isRerouting = false
        /// The server skipped it because of an earlier error in its group.
        var isAborted = false
        /// Aborted by a neighbour's error before: gets a sync of its own when it is sent again.
        var isIsolated = false
        /// In flight while a cancel request aimed at another job was under way.
        var isExposedToCancel = false
        var hasResults = false
        var connectionLosses = 0
        var repeats = 0
        fileprivate(set) var hasError = false
        /// The server closes the connection after its error.
        fileprivate(set) var hasFatalError = false

        var job: Job {
            guard let held else { preconditionFailure("a \(kind) that is gone") }
            return held
        }
    }

    private var entries: [Entry] = []
    private var serials: [Int] = []
    /// Apart from the entries, which stay small: few jobs have one.
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

    /// Nil when the job is gone.
    func slot(of id: JobID) -> Slot? {
        serials.indices.contains(id.slot) && serials[id.slot] == id.serial ? id.slot : nil
    }

    func error(of slot: Slot) -> PostgresError? { errors[slot] }

    /// Records the first error of a job, which is the cause; later ones are its consequences.
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
