/// Names of the fields of stream entries. Nothing else may spell one.
package enum StreamField {
    /// A message between a gateway and the owner of a shard: one JSON object.
    package static let message = "m"
    /// The body of a result, in a gateway's inbox.
    package static let body = "b"
    /// The entity ids of a result, in a gateway's inbox.
    package static let entities = "e"
    /// A mutation event, in a shard's stream of events.
    package static let event = "e"
    /// A resync marker, in a shard's stream of events: no event, so everything in the shard runs again.
    package static let resync = "doubt"
    /// The node that has news for workers.
    package static let node = "node"
}
