import LiveModel
import Streams

/// The state that the negotiations of a worker share (`EpochNegotiation`), and their results.
struct Negotiations: Sendable {
    /// The database's timeline as last known; empty until then.
    private(set) var timeline = ""
    /// The broker's grant for the lease of each shard.
    private var grants: [ShardID: LeaseGrant] = [:]
    /// The last reason why no epoch could be negotiated.
    private var problem = ""

    mutating func timelineRead(_ timeline: String) { self.timeline = timeline }

    /// Records a grant. A late one may be older than the current one.
    mutating func granted(_ grant: LeaseGrant, _ shard: ShardID) {
        problem = ""
        if grant.epoch > grants[shard]?.epoch ?? 0 { grants[shard] = grant }
    }

    /// Records why a negotiation failed.
    /// - Returns: whether to log it: a repeated reason is logged once.
    mutating func failed(_ problem: String) -> Bool {
        defer { self.problem = problem }
        return problem != self.problem
    }

    /// Returns the grant under which the shard is held; nil if it has another epoch.
    func grant(of shard: ShardID, _ epoch: UInt64) -> LeaseGrant? {
        grants[shard].flatMap { $0.epoch == epoch ? $0 : nil }
    }

    mutating func ended(_ shard: ShardID, _ epoch: UInt64) {
        if grants[shard]?.epoch == epoch { grants[shard] = nil }
    }
}
