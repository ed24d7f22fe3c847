package import LiveModel

/// Decides how long a rollout waits until every node has loaded, or serves, a deployment, from repeated reads of the
/// node list.
package struct RolloutWait: Sendable {
    package enum Goal: String, Sendable, Hashable {
        case load, serve
    }

    /// The time between two reads of the node list.
    package static let lookMs: Int64 = 200
    /// A node that reports a problem for this long is considered stuck.
    package static let problemMs: Int64 = 10_000

    private let goal: Goal
    private let deployment: Int64
    private let version: Digest
    /// Reused in the wait for the next goal.
    package private(set) var roster: RolloutRoster
    private let startMs: Int64
    private let timeoutMs: Int64
    private var reportedBehind: Int?
    private var problemSinceMs: Int64?

    package init(
        for goal: Goal, _ deployment: Int64, _ version: Digest, _ roster: RolloutRoster, timeoutMs: Int64, nowMs: Int64
    ) {
        self.goal = goal
        self.deployment = deployment
        self.version = version
        self.roster = roster
        self.timeoutMs = timeoutMs
        startMs = nowMs
    }

    package enum Action: Sendable, Hashable {
        /// The number of nodes that have reached the goal has changed.
        case report(done: Int, nodes: Int)
        /// Read the node list again after `lookMs`.
        case lookAgain
        /// Every node has reached the goal.
        case finish(nodes: Int)
        /// These nodes have not reached the goal, and waiting is too late or pointless; empty: the list cannot be read.
        case giveUp([RolloutProgress.Waiting])
    }

    /// - Parameter records: nil if the list could not be read.
    package mutating func looked(_ records: [NodeRecordPayload]?, nowMs: Int64) -> [Action] {
        roster.looked(records, nowMs: nowMs)
        let progress = RolloutProgress(roster.nodes, deployment: deployment, version: version)
        let behind = goal == .load ? progress.loading : progress.switching
        var actions: [Action] = []
        if reportedBehind != behind.count, progress.nodes > 0 {
            reportedBehind = behind.count
            actions.append(.report(done: progress.nodes - behind.count, nodes: progress.nodes))
        }
        if behind.isEmpty, roster.isSettled(nowMs: nowMs) { return actions + [.finish(nodes: progress.nodes)] }
        problemSinceMs = behind.contains { !$0.problem.isEmpty } ? problemSinceMs ?? nowMs : nil
        let isHopeless = problemSinceMs.map { nowMs - $0 > Self.problemMs } ?? false
        return actions + [nowMs - startMs > timeoutMs || isHopeless ? .giveUp(behind) : .lookAgain]
    }
}
