/// A mutation's event as a row of the outbox: written in the mutation's own transaction, removed once the broker has
/// it. A row that remains is published by the sweeper of any node.
package struct OutboxRow: Sendable, Hashable {
    /// A UUID.
    package let id: String
    /// The shards that owned a query which the mutation could refresh when its transaction began, by the catalogs of
    /// its node.
    package let shards: [ShardID]
    /// The event's encoding, a JSON text.
    package let event: [UInt8]

    package init(id: String, shards: [ShardID], event: [UInt8]) {
        self.id = id
        self.shards = shards
        self.event = event
    }

    /// Whether the transaction inserts the row only if a deployment exists that the node has not loaded: by those that
    /// it has loaded, the mutation refreshes nothing.
    package var isForLaterDeployments: Bool { shards.isEmpty }

    package init(_ event: MutationEvent, shards: [ShardID]) {
        self.init(id: event.id, shards: shards, event: event.encoded)
    }
}
