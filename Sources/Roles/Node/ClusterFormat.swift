/// The versions that nodes of one cluster must agree on.
package enum ClusterFormat {
    /// The format of streams and messages, and the rules of routing and assignment. The first node stores it in Redis;
    /// a node of another format does not start. Raise it when an older release could not read what a newer one writes,
    /// or would route a live query to another shard.
    package static let version = 2
    package static let release = "0.1.0"

    /// The reaction of a starting node to the format that the cluster has stored.
    enum Start: Equatable {
        case join
        /// Raise the stored format: every node of the older release has stopped.
        case raise
        case refuse(reason: String)
    }

    /// - Parameter living: the nodes of the cluster that have not expired.
    static func start(stored: Int, living: [String]) -> Start {
        if stored == version { return .join }
        let mismatch = "this release speaks format \(version), the cluster format \(stored)"
        if stored > version { return .refuse(reason: mismatch) }
        if living.isEmpty { return .raise }
        return .refuse(reason: "\(mismatch); stop its nodes first: \(living.joined(separator: ", "))")
    }
}
