/// The versions that nodes of one cluster must agree on.
package enum ClusterFormat {
    /// The format of streams and messages, and the rules of shard placement. The first node stores it in Redis; a
    /// node of another format does not start. Raise it when an older release could not read what a newer one writes,
    /// or would route a live query to another shard.
    package static let version = 1
    package static let release = "0.1.0"
}
