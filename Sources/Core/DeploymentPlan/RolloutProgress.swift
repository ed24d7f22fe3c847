package import LiveModel

/// The progress of the cluster's nodes with a deployment, according to their own reports.
package struct RolloutProgress: Sendable, Hashable {
    package struct Waiting: Sendable, Hashable {
        package let node: NodeID
        /// The problem that prevents the node from loading the version; empty if it only needs time.
        package let problem: String

        package init(node: NodeID, problem: String) {
            self.node = node
            self.problem = problem
        }
    }

    package let nodes: Int
    /// Nodes that have not loaded the version; until they have, it must not become current.
    package let loading: [Waiting]
    /// Nodes whose new requests still get another version.
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

/// The nodes that a rollout waits for, from repeated reads of the node list.
///
/// A Redis server that loses its data also loses the list, which makes the cluster look empty or small. Therefore the
/// list is trusted only after two heartbeats of observation, in which every living node renews its entry, and a node
/// that was once listed is waited for until its entry would have expired.
package struct RolloutRoster: Sendable {
    private let settleMs: Int64
    private let ttlMs: Int64
    private var firstMs: Int64?
    private var seen: [NodeID: (record: NodeRecordPayload, atMs: Int64)] = [:]

    /// - Parameters:
    ///   - heartbeatMs: the interval in which every node renews its entry.
    ///   - ttlMs: the time after which an entry that is not renewed expires.
    package init(heartbeatMs: Int64, ttlMs: Int64) {
        self.settleMs = 2 * heartbeatMs
        self.ttlMs = ttlMs
    }

    /// - Parameter records: nil if the list could not be read.
    package mutating func looked(_ records: [NodeRecordPayload]?, nowMs: Int64) {
        guard let records else {
            firstMs = nil
            return
        }
        if firstMs == nil {
            // Entries do not age while the list cannot be read.
            firstMs = nowMs
            seen = seen.mapValues { ($0.record, nowMs) }
        }
        for record in records { seen[record.id] = (record, nowMs) }
        seen = seen.filter { nowMs - $0.value.atMs < ttlMs }
    }

    package var nodes: [NodeRecordPayload] { seen.values.map(\.record).sorted { $0.id < $1.id } }

    package func isSettled(nowMs: Int64) -> Bool { firstMs.map { nowMs - $0 >= settleMs } ?? false }
}
