import DeploymentPlan

/// The reason that a rollout did nothing, or did not finish.
package struct RolloutRefused: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }

    init(_ goal: RolloutWait.Goal, _ waiting: [RolloutProgress.Waiting]) {
        let names = waiting.map { "\($0.node)" + ($0.problem.isEmpty ? "" : " (\($0.problem))") }
        let reason =
            names.isEmpty
            ? "Redis, where nodes report the versions they \(goal), does not answer"
            : "these nodes do not \(goal) it: \(names.joined(separator: ", "))"
        let outcome =
            goal == .load
            ? "the database was migrated; nothing else changed"
            : "it is current; nodes follow when they can"
        description = "\(reason); \(outcome)"
    }
}
