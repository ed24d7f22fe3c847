import DequeModule
import LiveModel

/// One registered live query of a worker.
struct LiveQueryState: Sendable {
    struct Subscriber: Sendable {
        /// Digest of the result that this gateway holds; nil when it holds none.
        var digest: Digest?
        /// True until its latest announcement was answered.
        var awaitsAnswer: Bool
        /// The number of that announcement.
        var ask: UInt64
        /// Only runs of the shard after this one are for the gateway (`AnnouncementID.isFresh`).
        var afterRun: UInt64 = 0
        /// Is told of runs of a timer that change nothing (`AnnouncementID.wantsTicks`).
        var wantsTicks = false
    }

    /// At most one run in flight; a trigger meanwhile asks for one more.
    enum Phase: Sendable {
        case idle
        /// Triggered, but the gap or a back-off is not over: due at that time.
        case waiting(untilMs: Int64)
        /// In the due queue.
        case queued
        /// In the queue of those that run again without an event, at a pace.
        case paced
        /// Waits to hear whether an event older than those remembered touched it.
        case judged
        case running(batch: UInt64, again: Bool)

        var name: PhaseCounts.Name {
            switch self {
            case .idle: .idle
            case .waiting, .judged: .waiting
            case .queued: .queued
            case .paced: .paced
            case .running: .running
            }
        }
    }

    /// The oldest event that no finished run covers.
    struct Cause: Sendable {
        var traceID: String
        var committedAtMs: Int64

        static let none = Cause(traceID: "", committedAtMs: 0)
    }

    let query: LiveQuery
    let shard: ShardID
    let everyMs: Int64?
    let lane: RunPool.Name
    var subscribers: [NodeID: Subscriber] = [:]
    var phase = Phase.idle
    var cause: Cause?
    /// The cause that the run in flight serves.
    var runningCause: Cause?
    var digest: Digest?
    var position: Position?
    var lastStartMs: Int64 = .min / 2
    var lastFinishMs: Int64 = 0
    var lastTriggerMs: Int64 = 0
    var lastRunMs: Int64 = 0
    var intervalDueMs: Int64?
    /// A timer is among the causes of the next run, of the run in flight.
    var isTickDue = false
    var isTickRunning = false
    var failures = 0
    /// When a run that failed for good is tried again.
    var retryDueMs: Int64?
    var runs: UInt64 = 0

    init(query: LiveQuery, shard: ShardID, everyMs: Int64?, lane: RunPool.Name) {
        self.query = query
        self.shard = shard
        self.everyMs = everyMs
        self.lane = lane
    }

    var group: DueQueue.Group {
        DueQueue.Group(
            operation: query.operation, version: query.version, hasFailed: lane == .remote && failures > 0)
    }

    /// What the gateway holds, if that is the result as of all events that are applied.
    func settledDigest(of gateway: NodeID) -> Digest? {
        guard case .idle = phase, failures == 0, let digest, let subscriber = subscribers[gateway],
            !subscriber.awaitsAnswer, subscriber.digest == digest
        else { return nil }
        return digest
    }

    /// The digest that every subscriber holds, if they all hold the same.
    var sharedDigest: Digest? {
        guard let first = subscribers.values.first?.digest else { return nil }
        return subscribers.values.allSatisfy { $0.digest == first } ? first : nil
    }
}

/// Live queries of a shard by phase.
struct PhaseCounts: Sendable {
    enum Name: Int, CaseIterable { case idle, waiting, queued, paced, running }

    private var counts = Array(repeating: 0, count: Name.allCases.count)

    subscript(name: Name) -> Int {
        get { counts[name.rawValue] }
        set { counts[name.rawValue] = newValue }
    }
}
