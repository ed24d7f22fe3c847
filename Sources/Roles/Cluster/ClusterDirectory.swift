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
    private let latest: Mutex<LatestRead<ClusterOverrides>>

    package init(broker: any Broker, shardCount: Int, nowMs: @escaping @Sendable () -> Int64) {
        self.broker = broker
        self.shardCount = shardCount
        self.nowMs = nowMs
        let none = ClusterOverrides()
        latest = Mutex(LatestRead(none, generation: none.generation))
    }

    /// The overrides as of the last read.
    package var overrides: ClusterOverrides { latest.withLock { $0.value } }

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
        let known = latest.withLock { $0.isOf(generation: generation) ? $0.value : nil }
        if let known { return known }
        return try await read().overrides
    }

    private func read() async throws(BrokerError) -> (overrides: ClusterOverrides, isNew: Bool) {
        let ticket = latest.withLock { $0.begin() }
        let stored = try await broker.overrides()
        let overrides = ClusterOverrides(generation: stored.generation, fields: stored.fields)
        let former = latest.withLock { $0.end(ticket, overrides, generation: overrides.generation) }
        return (overrides, former.map { $0.generation != overrides.generation } ?? false)
    }

    /// Writes overrides. The cluster applies them within a heartbeat, this node at once.
    package func change(_ changes: [OverrideChange]) async throws(BrokerError) {
        try await broker.changeOverrides(changes.map { (field: $0.field, value: $0.value) })
        try await refresh()
    }
}
