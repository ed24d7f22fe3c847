import LiveModel

/// The stored deployments at one moment.
package struct DeploymentHistory: Sendable, Hashable {
    /// Ordered by id.
    package let deployments: [Deployment]
    /// The database's time, in milliseconds since 1970.
    package let nowMs: Int64

    package init(deployments: [Deployment], nowMs: Int64) {
        self.deployments = deployments
        self.nowMs = nowMs
    }

    /// The active deployment; nil before the first.
    package var lastActive: Deployment? { deployments.last { $0.origin == .deploy && $0.activeAtMs != nil } }

    /// Whether a node started with this folder must record it again: before the first deployment, a folder that no node
    /// has recorded for long would count as former.
    func isNoteDue(of folder: Digest, keepMs: Int64) -> Bool {
        if lastActive != nil { return false }
        guard let mine = deployments.last(where: { $0.origin == .folder && $0.version == folder }) else { return true }
        return nowMs > mine.seenAtMs + keepMs / 4
    }
}
