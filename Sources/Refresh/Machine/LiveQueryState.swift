internal import DequeModule
internal import LiveModel

/// One registered live query of a worker.
struct LiveQueryState: Sendable {
    struct Subscriber: Sendable {
        /// Digest of the result that this gateway holds; nil when it holds none.
        var digest: Digest?
        /// True until its latest announcement was answered.
        var awaitsAnswer: Bool
        /// The number of that announcement.
        var ask: UInt64
        /// Only runs of the shard after this one are for the gateway (`Ask.isFresh`).
        var afterRun: UInt64 = 0
        /// Is told of runs of a timer that change nothing (`Ask.wantsTicks`).
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
        case running(batch: UInt64, again: Bool)

        var name: PhaseCounts.Name {
            switch self {
            case .idle: .idle
            case .waiting: .waiting
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

    init(query: LiveQuery, shard: ShardID, everyMs: Int64?) {
        self.query = query
        self.shard = shard
        self.everyMs = everyMs
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

/// One shard that this worker owns.
struct ShardState: Sendable {
    let epoch: UInt64
    /// Positions of earlier epochs cannot be judged at all.
    let trustedEpoch: UInt64
    let ownedSinceMs: Int64
    /// Events up to here are applied.
    var lastEventID: StreamID
    /// Positions below this cannot be judged from `history`.
    var historyFloor: StreamID
    var history: Deque<HistoryEntry> = []
    var runs: UInt64 = 0
    var slots: Set<Int32> = []
    /// What gateways announced and this worker could not take: bounded by their own bounds on live queries.
    var refused: [NodeID: Set<LiveQueryKey>] = [:]
    /// Of subscribers and of the refused.
    var interest = InterestSums()
    /// Up to where each gateway was told that what it holds is fresh.
    var settledThrough: [NodeID: StreamID] = [:]
    var events: UInt64 = 0
    var matches: UInt64 = 0
    var lastEventMs: Int64 = 0
    var lastRefreshMs: Int64 = 0
    var takeOver = TakeOverCounts()
    var phases = PhaseCounts()

    struct HistoryEntry: Sendable {
        let id: StreamID
        let event: MutationEvent
    }

    /// An entry of the shard's event stream.
    /// - Returns: false when it is applied already.
    mutating func applies(_ id: StreamID, nowMs: Int64) -> Bool {
        guard id > lastEventID else { return false }
        lastEventID = id
        if historyFloor == .max { historyFloor = id }
        events += 1
        lastEventMs = nowMs
        return true
    }

    mutating func remember(_ event: MutationEvent, id: StreamID, countMax: Int) {
        history.append(HistoryEntry(id: id, event: event))
        guard history.count > countMax else { return }
        history.removeFirst()
        historyFloor = history.first?.id ?? id
    }
}
