package import LiveModel

/// A row of the cluster's version history, as operators see it.
package struct RolloutListing: Sendable, Hashable {
    package enum Standing: String, Sendable, Hashable {
        case beforeTheFirst = "until the first deployment"
        case current
        case announced
        case former = "former, still served"
    }

    package let deployment: Deployment
    /// Nil for a version that is no longer served, and for all but the last row of a version.
    package let standing: Standing?
    /// The nodes that serve the version; only in its last row.
    package let nodes: [NodeID]

    /// - Returns: the rows, newest first.
    package static func all(
        _ history: [Deployment], _ schedule: DeploymentSchedule, nodes: [NodeRecordPayload]
    ) -> [RolloutListing] {
        history.reversed().map { deployment in
            let isLatest = history.last { $0.version == deployment.version } == deployment
            let serving = nodes.filter { $0.project == deployment.version.hex }.map(\.id).sorted()
            return RolloutListing(
                deployment: deployment, standing: isLatest ? standing(of: deployment, schedule) : nil,
                nodes: isLatest ? serving : [])
        }
    }

    private static func standing(of deployment: Deployment, _ schedule: DeploymentSchedule) -> Standing? {
        if schedule.current == nil, deployment.origin == .folder { return .beforeTheFirst }
        if schedule.current == deployment.version { return .current }
        if deployment.activeAtMs == nil, deployment.origin == .deploy { return .announced }
        return schedule.others.contains(deployment.version) ? .former : nil
    }
}
