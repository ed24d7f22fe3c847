/// The field names of stream entries. No other code spells one.
package enum StreamField {
    /// A message between a gateway and the owner of a shard: one JSON object.
    package static let message = "m"
    /// The body of a result, in a gateway's inbox.
    package static let body = "b"
    /// The entity ids of a result, in a gateway's inbox.
    package static let entities = "e"
    /// A mutation event, in a shard's events stream.
    package static let event = "e"
    /// A resync marker, in a shard's events stream: an entry without an event that makes the shard re-run everything.
    package static let resync = "doubt"
    /// A probe of a node that checks whether its own stream can be used. Readers drop it.
    package static let probe = "probe"
    /// The node that announces a change of nodes or leases, in the stream that wakes workers.
    package static let node = "node"
}
