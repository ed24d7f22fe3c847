import Clocks
import Glibc
import Logging
import Synchronization
import Threads

/// One connection's interface for all other threads: a bounded inbox, a wake-up and counters. The rest is in
/// `ConnectionDriver`, which makes one libpq connection after another.
final class ConnectionHandle: Sendable {
    enum Message {
        case submit(Job)
        case cancel(Job)
        case cancelRequestEnded(generation: Int)
        /// A session could not be reset, so the connection is in an unknown state.
        case reconnect(generation: Int)
        /// Leave this server for another one when everything sent has been answered.
        case leave(generation: Int)
        /// A thread has opened a connection.
        case opened(attempt: Int, OpenedConnection)
        case stop
    }

    enum ServerChange: Sendable {
        /// The timeline found when a connection was set up.
        case timeline(String)
        /// The server no longer accepts writes.
        case readOnly
    }

    private struct Inbox {
        var messages: [Message] = []
        /// Whether the connection's thread waits for its descriptors, so that a message must wake it.
        var isPolling = false
        var isClosed = false
    }

    private struct Lifecycle {
        enum Stage {
            case new, running, over
        }

        var stage = Stage.new
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    let role: ConnectionRole
    let configuration: PostgresConfiguration
    let logger: Logger
    let counters = ConnectionCounters()
    private let thread: DriverThread
    let roundTrip: RoundTripClock
    /// Called by the driver when a connection is ready for use, and when an attempt fails.
    let onConnect: @Sendable (Result<Void, PostgresError>) -> Void
    /// Called by the driver.
    let onServerChange: @Sendable (ServerChange) -> Void
    /// Called on the connection's thread after each turn, with the monotonic time and the reason that the connection is
    /// down, if it is.
    let onTurn: (@Sendable (Int, PostgresError?) -> Void)?
    private let inbox = Mutex(Inbox())
    /// The driver, which belongs to the thread that holds the lock: the connection's, or that of a caller who sends a
    /// job to an idle server. Nil before the connection's thread has taken it over, and when it is over.
    ///
    /// Completions run under the lock. They may submit jobs, since only the connection's thread waits for the lock, and
    /// nobody takes a turn while `isPolling` is false, as it is until a turn ends.
    private let driver = Mutex<ConnectionDriver?>(nil)
    private let lifecycle = Mutex(Lifecycle())

    init(
        role: ConnectionRole, configuration: PostgresConfiguration, logger: Logger, thread: DriverThread,
        roundTrip: RoundTripClock = RoundTripClock(),
        onServerChange: @escaping @Sendable (ServerChange) -> Void = { _ in },
        onTurn: (@Sendable (Int, PostgresError?) -> Void)? = nil,
        onConnect: @escaping @Sendable (Result<Void, PostgresError>) -> Void
    ) {
        self.role = role
        self.thread = thread
        self.roundTrip = roundTrip
        self.configuration = configuration
        self.logger = logger
        self.onConnect = onConnect
        self.onServerChange = onServerChange
        self.onTurn = onTurn
    }

    /// - Returns: false when the system has no thread or descriptor left, or the connection was started before.
    func start() -> Bool {
        let isNew = lifecycle.withLock { lifecycle in
            defer { if lifecycle.stage == .new { lifecycle.stage = .running } }
            return lifecycle.stage == .new
        }
        guard isNew else { return false }
        let isStarted = thread.serve(self)
        if !isStarted { endLife() }
        return isStarted
    }

    func endLife() {
        let waiters = lifecycle.withLock { lifecycle in
            lifecycle.stage = .over
            defer { lifecycle.waiters = [] }
            return lifecycle.waiters
        }
        refuse(close())
        for waiter in waiters { waiter.resume() }
    }

    private func refuse(_ messages: [Message]) {
        for case .submit(let job) in messages {
            counters.vacate(job)
            job.finish(.failure(PostgresError(.closed, "the pool is stopped")))
        }
    }

    /// Submits the job; its completion is called exactly once, here or on the connection's thread.
    func submit(_ job: Job) {
        let load = counters.load.wrappingAdd(1, ordering: .relaxed).newValue
        let loadBytes = counters.loadBytes.wrappingAdd(job.bytes, ordering: .relaxed).newValue
        if job.costUs > 0 { counters.costUs.wrappingAdd(job.costUs, ordering: .relaxed) }
        if load == 1 { counters.progressUs.store(MonotonicClock.nowUs, ordering: .relaxed) }
        var problem: PostgresError?
        if load > configuration.queueMax {
            problem = PostgresError(.queueFull, "\(configuration.queueMax) calls wait for this connection")
        } else if load > 1, loadBytes > configuration.queueBytesMax {
            problem = PostgresError(.queueFull, "\(configuration.queueBytesMax) bytes wait for this connection")
        }
        if problem == nil {
            job.connection.withLock { $0 = self }
            if post(.submit(job), mayTakeTurn: load == 1) { return }
        }
        counters.vacate(job)
        if problem != nil { counters.refused.wrappingAdd(1, ordering: .relaxed) }
        job.finish(.failure(problem ?? PostgresError(.closed, "the pool is stopped")))
    }

    /// Closes the connection once the jobs in flight have finished or `stopTimeoutMs` have passed.
    func stop() async {
        _ = post(.stop)
        let isNew = lifecycle.withLock { lifecycle in
            defer { if lifecycle.stage == .new { lifecycle.stage = .over } }
            return lifecycle.stage == .new
        }
        if isNew { return endLife() }
        await withCheckedContinuation { continuation in
            let isOver = lifecycle.withLock { lifecycle in
                if lifecycle.stage != .over { lifecycle.waiters.append(continuation) }
                return lifecycle.stage == .over
            }
            if isOver { continuation.resume() }
        }
    }

    /// - Parameter mayTakeTurn: whether this thread may send the job itself while the connection's thread waits: to an
    ///   idle server that saves waking a thread. With other jobs under way, jobs that are sent together cost less.
    @discardableResult
    func post(_ message: Message, mayTakeTurn: Bool = false) -> Bool {
        let (isAccepted, mustWake) = inbox.withLock { inbox in
            if inbox.isClosed { return (false, false) }
            inbox.messages.append(message)
            defer { inbox.isPolling = false }
            return (true, inbox.isPolling)
        }
        if mustWake, !(mayTakeTurn && takeTurn()) { thread.wakeup.signal() }
        return isAccepted
    }

    /// Performs a turn in place of the connection's thread.
    /// - Returns: false if that thread must be woken nevertheless.
    private func takeTurn() -> Bool {
        // Not available if that thread has been woken meanwhile.
        let turn = driver.withLockIfAvailable { driver -> ConnectionDriver.CallerTurn in
            guard let turn = driver?.turnForCaller(Int(MonotonicClock.nowMs())) else { return .mustGoOn }
            if case .done(let wakeAtMs?) = turn { thread.timer.fire(atMs: wakeAtMs) }
            return prepareToPoll() ? turn : .mustGoOn
        }
        if case .done = turn { return true }
        return false
    }

    // MARK: the connection's thread

    /// Takes the connection over.
    func begin() { driver.withLock { $0 = ConnectionDriver(self) } }

    /// - Returns: true in the last turn.
    func turn(_ nowMs: Int) -> Bool {
        driver.withLock { driver in
            endPolling()
            guard driver?.turn(nowMs) ?? true else { return false }
            driver = nil
            return true
        }
    }

    func socketIsReady(_ events: Int16) {
        driver.withLock { driver in
            endPolling()
            driver?.socketIsReady(events)
        }
    }

    /// Returns the descriptor to poll for and the time to poll at most, -1 for any: 0 if messages have arrived.
    func beginPolling(_ nowMs: Int) -> (descriptor: pollfd, timeoutMs: Int32) {
        driver.withLock { driver in
            let timeoutMs = prepareToPoll() ? driver?.timeoutMs(nowMs) : 0
            return (driver?.descriptor ?? pollfd(fd: -1, events: 0, revents: 0), timeoutMs ?? -1)
        }
    }

    /// Swaps the waiting messages with an empty array, so that both arrays keep their storage.
    func takeMessages(into messages: inout [Message]) {
        inbox.withLock { swap(&$0.messages, &messages) }
    }

    /// - Returns: false when messages have arrived, so that polling must not block.
    private func prepareToPoll() -> Bool {
        inbox.withLock { inbox in
            inbox.isPolling = inbox.messages.isEmpty
            return inbox.isPolling
        }
    }

    private func endPolling() {
        inbox.withLock { $0.isPolling = false }
    }

    /// Closes the inbox.
    /// - Returns: the messages still in it.
    func close() -> [Message] {
        inbox.withLock { inbox in
            inbox.isClosed = true
            defer { inbox.messages = [] }
            return inbox.messages
        }
    }
}

/// Numbers that other threads read. Gauges: `load`, `loadBytes`, `costUs`, `inFlight`, `isConnected`, `isHeldUp`,
/// `progressUs`, `answerUs`, `cancelThreads`; the rest only grow.
final class ConnectionCounters: Sendable {
    /// Jobs queued and in flight.
    let load = Atomic<Int>(0)
    let loadBytes = Atomic<Int>(0)
    /// The sum of `Job.costUs`.
    let costUs = Atomic<Int>(0)
    let inFlight = Atomic<Int>(0)
    let isConnected = Atomic<Bool>(false)
    /// Whether the server has been busy with one statement for a while.
    let isHeldUp = Atomic<Bool>(false)
    /// The time of the server's last answer, or of a job that came while there was none; microseconds of the monotonic
    /// clock.
    let progressUs = Atomic<Int>(0)
    /// The moving average of the time for which the server was busy with a command (`BusyTime`); microseconds.
    let answerUs = Atomic<Int>(0)
    /// The number of connections made so far; a session is bound to one.
    let generation = Atomic<Int>(0)
    let completed = Atomic<Int>(0)
    let failed = Atomic<Int>(0)
    let refused = Atomic<Int>(0)
    let timeouts = Atomic<Int>(0)
    let cancelRequests = Atomic<Int>(0)
    let repeated = Atomic<Int>(0)
    let reconnects = Atomic<Int>(0)
    let connectFailures = Atomic<Int>(0)
    let prepared = Atomic<Int>(0)
    /// Cancel requests in progress. One that is stuck on a dead network can outlive its connection.
    let cancelThreads = Atomic<Int>(0)
    static let cancelThreadsMax = 4

    /// Records that the server has answered this number of commands, and how long it was busy with them.
    func answered(_ count: Int, inUs us: Int, atUs nowUs: Int) {
        let average = answerUs.load(ordering: .relaxed)
        answerUs.store(average + (us / count - average) / 8, ordering: .relaxed)
        progressUs.store(nowUs, ordering: .relaxed)
    }

    /// Removes the job from the load.
    func vacate(_ job: Job) {
        load.wrappingSubtract(1, ordering: .relaxed)
        loadBytes.wrappingSubtract(job.bytes, ordering: .relaxed)
        if job.costUs > 0 { costUs.wrappingSubtract(job.costUs, ordering: .relaxed) }
        job.leftConnection()
    }
}

extension MonotonicClock {
    static var nowUs: Int { Int(nowNs() / 1_000) }
}
