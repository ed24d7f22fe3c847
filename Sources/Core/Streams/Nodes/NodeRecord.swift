/// A node that announced itself and has not expired.
package struct NodeRecord: Sendable, Hashable {
    package var id: String
    package var payload: [UInt8]
    package var remainingMs: Int

    package init(id: String, payload: [UInt8], remainingMs: Int) {
        self.id = id
        self.payload = payload
        self.remainingMs = remainingMs
    }
}

/// What every node of a namespace must agree on.
package struct ClusterMeta: Sendable, Hashable {
    package var shardCount: Int
    package var formatVersion: Int
    /// Names this life of the broker's data; a new one means that everything before is lost.
    package var incarnation: String

    package init(shardCount: Int, formatVersion: Int, incarnation: String) {
        self.shardCount = shardCount
        self.formatVersion = formatVersion
        self.incarnation = incarnation
    }
}

/// What operators order stands in a book of its own for each kind, with its own generation.
package enum OverrideTable: Sendable, Hashable, CaseIterable {
    /// Splits, moved shards, drained nodes.
    case cluster
    /// Users, tokens and API keys that are not let in any more.
    case revocations
}

/// What operators ordered of the cluster, field by field. What it means: `Sharding.ClusterOverrides`.
package struct StoredOverrides: Sendable {
    /// Moved on by every change; 0 when nothing was ever ordered.
    package var generation: UInt64
    /// The generation that set it, and the value.
    package var fields: [String: (version: UInt64, value: String)]

    package init(generation: UInt64 = 0, fields: [String: (version: UInt64, value: String)] = [:]) {
        self.generation = generation
        self.fields = fields
    }
}
