import LiveModel
import Streams

/// Negotiates an epoch for a shard's lease that is higher than all others and recorded as such: read the floor, request
/// the lease, record the epoch, confirm.
///
/// The broker grants leases but may lose its data, so an epoch counts only once the database has recorded it above all
/// previously recorded ones. What a former owner read counts only on the same timeline of the database, because that
/// owner may have died unaware of a failover. Therefore the lease request names the timeline, and a grant counts only
/// if the database is still on that timeline when it records the epoch.
///
/// The floor is the newest recorded epoch or the database's clock, whichever is greater: if the database and the broker
/// both lost epochs, or these were recorded by an earlier version, the clock is ahead of every granted epoch.
struct EpochNegotiation: Sendable {
    /// One retry if the broker knows a newer epoch or another worker recorded one meanwhile; the next tick starts over.
    static let triesMax = 2

    private enum Step: Sendable {
        case readingFloor
        case asking
        case recording(LeaseGrant)
        case readingFloorAgain(above: UInt64)
    }

    let shard: ShardID
    /// When the shard was requested.
    let requestedMs: Int64
    private var step = Step.readingFloor
    private var floor: UInt64 = 0
    private var basis = ""
    private var tries = 0
    /// When the last lease request was sent; the lease's lifetime counts from then.
    private(set) var sentMs: Int64

    init(shard: ShardID, requestedMs: Int64) {
        self.shard = shard
        self.requestedMs = requestedMs
        sentMs = requestedMs
    }

    enum Action: Sendable {
        case database(WorkerMachine.DatabaseCall)
        case requestLease(basis: String, epoch: UInt64)
        /// The lease was granted and its epoch recorded, or another worker holds it.
        case end(LeaseAnswer)
        /// The negotiation failed. A granted but unrecorded lease is not released, because this worker may hold the
        /// shard through another request. `problem`, if any, is reported to operators.
        case giveUp(problem: String?)
    }

    func begin() -> Action { .database(.readEpochs(shard)) }

    /// - Parameters:
    ///   - timeline: the database's timeline as known with this answer.
    ///   - isRequested: whether this request for the shard is still current.
    mutating func databaseAnswered(
        _ reply: WorkerMachine.DatabaseReply, timeline: String, isRequested: Bool, nowMs: Int64
    ) -> Action {
        switch (step, reply) {
        case (_, .failed(let problem)): return .giveUp(problem: problem)
        case (.readingFloor, .epochs(let recorded, let clockMs)):
            floor = max(recorded, clockMs)
            return request(timeline, isRequested: isRequested, nowMs: nowMs)
        case (.recording(let grant), .recorded(let isRecorded)):
            if isRecorded, timeline == basis { return .end(.granted(grant)) }
            guard tries < Self.triesMax else { return .giveUp(problem: Self.raced) }
            step = .readingFloorAgain(above: grant.epoch)
            return .database(.readEpochs(shard))
        case (.readingFloorAgain(let granted), .epochs(let recorded, let clockMs)):
            floor = max(granted, recorded, clockMs)
            return request(timeline, isRequested: isRequested, nowMs: nowMs)
        case (.readingFloor, _), (.asking, _), (.recording, _), (.readingFloorAgain, _):
            preconditionFailure("\(reply) does not answer \(step) of \(shard)")
        }
    }

    /// - Parameter timeline: the database's timeline as known with this answer.
    mutating func brokerAnswered(
        _ reply: WorkerMachine.BrokerReply, timeline: String, isRequested: Bool, nowMs: Int64
    ) -> Action {
        guard case .asking = step else { preconditionFailure("\(reply) does not answer \(step) of \(shard)") }
        switch reply {
        case .failed: return .giveUp(problem: nil)
        case .lease(.held(let forMs)): return .end(.held(forMs: forMs))
        case .lease(.outdated(let newest)):
            guard tries < Self.triesMax else { return .giveUp(problem: Self.raced) }
            floor = max(floor, newest)
            return request(timeline, isRequested: isRequested, nowMs: nowMs)
        case .lease(.granted(let grant)):
            step = .recording(grant)
            return .database(.recordEpoch(grant.epoch, shard))
        case .lastID, .entries, .nodes, .unfollowed, .done:
            preconditionFailure("\(reply) does not answer \(step) of \(shard)")
        }
    }

    /// Requests the lease, unless this request is outdated because the database took too long: several requests for one
    /// shard would fence each other off.
    private mutating func request(_ timeline: String, isRequested: Bool, nowMs: Int64) -> Action {
        guard isRequested else { return .giveUp(problem: nil) }
        tries += 1
        step = .asking
        basis = timeline
        sentMs = nowMs
        return .requestLease(basis: timeline, epoch: floor + 1)
    }

    static let raced = "other workers requested the lease at the same time"
}
