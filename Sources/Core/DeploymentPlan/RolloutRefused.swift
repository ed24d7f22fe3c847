package import LiveModel

/// The reason that a rollout did nothing, or did not finish.
package enum RolloutRefused: Error, Sendable, Hashable, CustomStringConvertible {
    case underWay
    case nothingBefore
    case notStored(Digest)
    case tooLarge
    case breaking(changes: Int, clientsOf: Digest)
    /// The database is such that operations would fail.
    case harmfulDatabase
    case tooManyVersions(Int, max: Int)
    case nodesWithoutDeployments([RolloutProgress.Waiting])
    /// The migration failed; the text says what became of it.
    case migration(String)
    /// These nodes have not reached the goal; empty: the node list cannot be read.
    case notReached(RolloutWait.Goal, [RolloutProgress.Waiting])
    /// The announcement was withdrawn or has expired.
    case withdrawn(deployment: Int64)

    package var description: String {
        switch self {
        case .underWay: "another deployment is under way"
        case .nothingBefore: "there is no version before the current one"
        case .notStored(let version): "version \(version.shortHex) is not stored any more"
        case .tooLarge: "the project is larger than \(ProjectArchive.bytesMax >> 20) MiB"
        case .breaking(let changes, let version):
            "\(changes) changes would break clients of version \(version.shortHex); nothing was changed. "
                + "--allow-breaking deploys all the same"
        case .harmfulDatabase:
            "operations would fail on the database as it is; nothing was changed. "
                + "--allow-breaking deploys all the same"
        case .tooManyVersions(let count, let max):
            "\(count) versions are still served (deploy.versionsMax is \(max)): wait until "
                + "deploy.keepMs is over for the oldest"
        case .nodesWithoutDeployments(let unable):
            "these nodes load no deployments: "
                + unable.map { "\($0.node) (\($0.problem))" }.joined(separator: ", ") + "; nothing was changed"
        case .migration(let reason): "\(reason); nothing was deployed"
        case .notReached(let goal, let waiting): Self.notReached(goal, waiting)
        case .withdrawn(let id):
            "deployment \(id) was withdrawn or expired before it became current; the previous version stays"
                + " current, and added tables and columns stay"
        }
    }

    private static func notReached(_ goal: RolloutWait.Goal, _ waiting: [RolloutProgress.Waiting]) -> String {
        let names = waiting.map { "\($0.node)" + ($0.problem.isEmpty ? "" : " (\($0.problem))") }
        let reason =
            names.isEmpty
            ? "Redis, where nodes report the versions they \(goal), does not answer"
            : "these nodes do not \(goal) it: \(names.joined(separator: ", "))"
        let outcome =
            goal == .load
            ? "the database was migrated; nothing else changed"
            : "it is current; nodes follow when they can"
        return "\(reason); \(outcome)"
    }
}
