package import Broker
package import Streams
package import LiveModel
package import Sharding
import Synchronization

/// A node's copy of the cluster overrides; routes live queries and events by them.
///
/// Read with every heartbeat, and when the broker reports another generation. The copy may be outdated;
/// `ClusterOverrides` explains why that is harmless.
package final class ClusterDirectory: Sendable {
    package let shardCount: Int
    private let broker: any Broker
    package let nowMs: @Sendable () -> Int64
    private let state = Mutex(State())

    private struct State {
        var overrides = ClusterOverrides()
        /// The number of the latest read begun, and of the latest one applied.
        var lastBegun = 0
        var lastApplied = 0
    }

    package init(broker: any Broker, shardCount: Int, nowMs: @escaping @Sendable () -> Int64) {
        self.broker = broker
        self.shardCount = shardCount
        self.nowMs = nowMs
    }

    /// The overrides as of the last read.
    package var overrides: ClusterOverrides { state.withLock { $0.overrides } }

    package func route(of query: LiveQuery) -> ShardRoute {
        ShardRouting.route(of: query, shardCount: shardCount, overrides: overrides)
    }

    /// Returns the shards that must receive an event which concerns these queries, under the given overrides or those
    /// last read.
    package func shards(of queries: [OperationReference], by overrides: ClusterOverrides? = nil) -> [ShardID] {
        ShardRouting.shards(of: queries, shardCount: shardCount, overrides: overrides ?? self.overrides, nowMs: nowMs())
    }

    /// Reads the overrides.
    /// - Returns: whether they changed.
    @discardableResult
    package func refresh() async throws(BrokerError) -> Bool {
        try await read().isNew
    }

    /// Returns the overrides as of some time after the call. Takes one short command when nothing changed.
    package func confirmed() async throws(BrokerError) -> ClusterOverrides {
        let generation = try await broker.overridesGeneration()
        let overrides = overrides
        return overrides.generation == generation ? overrides : try await read().overrides
    }

    private func read() async throws(BrokerError) -> (overrides: ClusterOverrides, isNew: Bool) {
        let ticket = state.withLock { state in
            state.lastBegun += 1
            return state.lastBegun
        }
        let stored = try await broker.overrides()
        let overrides = ClusterOverrides(generation: stored.generation, fields: stored.fields)
        let isNew = state.withLock { state in
            // Of two concurrent reads, the one begun later counts, even if its generation is lower: a broker that lost
            // its latest data has a lower one, and every node must follow it.
            guard ticket > state.lastApplied else { return false }
            state.lastApplied = ticket
            guard overrides.generation != state.overrides.generation else { return false }
            state.overrides = overrides
            return true
        }
        return (overrides, isNew)
    }

    /// Writes overrides. The cluster applies them within a heartbeat, this node at once.
    package func change(_ changes: [OverrideChange]) async throws(BrokerError) {
        try await broker.changeOverrides(changes.map { (field: $0.field, value: $0.value) })
        try await refresh()
    }
}
