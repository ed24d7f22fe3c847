package import LiveModel

/// How far the nodes of the cluster are with a deployment, by what they tell of themselves.
package struct RolloutProgress: Sendable, Hashable {
    package struct Waiting: Sendable, Hashable {
        package let node: NodeID
        /// What keeps it; empty if nothing but time.
        package let problem: String

        package init(node: NodeID, problem: String) {
            self.node = node
            self.problem = problem
        }
    }

    package let nodes: Int
    /// Those that have not loaded it: it must not become current.
    package let loading: [Waiting]
    /// Those whose new requests get another version.
    package let switching: [Waiting]

    package init(_ records: [NodeRecordPayload], deployment: Int64, version: Digest) {
        func waiting(_ isBehind: (NodeRecordPayload) -> Bool) -> [Waiting] {
            records.filter(isBehind).sorted { $0.id < $1.id }.map { .init(node: $0.id, problem: $0.deploymentProblem) }
        }
        nodes = records.count
        loading = waiting { $0.deployment < deployment }
        switching = waiting { $0.project != version.hex }
    }
}
