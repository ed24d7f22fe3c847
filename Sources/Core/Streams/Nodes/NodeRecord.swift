/// The unexpired entry of a node that announced itself.
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

/// The values that every node of a namespace must agree on.
package struct ClusterMeta: Sendable, Hashable {
    package var shardCount: Int
    package var formatVersion: Int
    /// Identifies the broker's data set; a new value means that all earlier data is lost.
    package var incarnation: String

    package init(shardCount: Int, formatVersion: Int, incarnation: String) {
        self.shardCount = shardCount
        self.formatVersion = formatVersion
        self.incarnation = incarnation
    }
}

/// A table of operators' decisions, with its own generation.
package enum OverrideTable: Sendable, Hashable, CaseIterable {
    /// Splits, moved shards, drained nodes.
    case cluster
    /// Revoked users, tokens and API keys.
    case revocations
    /// The parts of their caches that clients are to drop.
    case invalidations
}

/// The stored fields of an override table. `Sharding.ClusterOverrides` interprets those of the cluster.
package struct StoredOverrides: Sendable {
    /// Increased by every change; 0 before the first.
    package var generation: UInt64
    /// The generation that set each field, and its value.
    package var fields: [String: (version: UInt64, value: String)]

    package init(generation: UInt64 = 0, fields: [String: (version: UInt64, value: String)] = [:]) {
        self.generation = generation
        self.fields = fields
    }
}
