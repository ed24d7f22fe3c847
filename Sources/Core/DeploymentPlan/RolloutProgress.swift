package import LiveModel

/// How far the nodes of the cluster are with a deployment, by what they say of themselves.
package struct RolloutProgress: Sendable, Hashable {
    package struct Waiting: Sendable, Hashable {
        package let node: NodeID
        /// What keeps it from loading the version; empty if it only needs time.
        package let problem: String

        package init(node: NodeID, problem: String) {
            self.node = node
            self.problem = problem
        }
    }

    package let nodes: Int
    /// Nodes that have not loaded it: it must not become current.
    package let loading: [Waiting]
    /// Nodes whose new requests get another version.
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

/// The nodes that a rollout waits for, by repeated looks at the list of nodes.
///
/// A Redis that loses its data loses the list, too, which makes a cluster look empty or small. So a list counts only
/// after some time, in which every living node renews its entry, and a node that was once in it is waited for until its
/// entry would have expired.
package struct RolloutRoster: Sendable {
    private let settleMs: Int64
    private let ttlMs: Int64
    private var firstMs: Int64?
    private var seen: [NodeID: (record: NodeRecordPayload, atMs: Int64)] = [:]

    /// - Parameters:
    ///   - heartbeatMs: in which every node renews its entry.
    ///   - ttlMs: after which an entry expires that is not renewed.
    package init(heartbeatMs: Int64, ttlMs: Int64) {
        self.settleMs = 2 * heartbeatMs
        self.ttlMs = ttlMs
    }

    /// - Parameter records: nil when the list could not be read.
    package mutating func looked(_ records: [NodeRecordPayload]?, nowMs: Int64) {
        guard let records else {
            firstMs = nil
            return
        }
        if firstMs == nil {
            // No entry grew old while the list could not be read.
            firstMs = nowMs
            seen = seen.mapValues { ($0.record, nowMs) }
        }
        for record in records { seen[record.id] = (record, nowMs) }
        seen = seen.filter { nowMs - $0.value.atMs < ttlMs }
    }

    package var nodes: [NodeRecordPayload] { seen.values.map(\.record).sorted { $0.id < $1.id } }

    package func isSettled(nowMs: Int64) -> Bool { firstMs.map { nowMs - $0 >= settleMs } ?? false }
}
