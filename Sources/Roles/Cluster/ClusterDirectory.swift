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
        var orders = ClusterOverrides()
        /// The number of the latest read begun, and of the latest one applied.
        var asked = 0
        var read = 0
    }

    package init(broker: any Broker, shardCount: Int, nowMs: @escaping @Sendable () -> Int64) {
        self.broker = broker
        self.shardCount = shardCount
        self.nowMs = nowMs
    }

    /// The overrides as of the last read.
    package var orders: ClusterOverrides { state.withLock { $0.orders } }

    package func place(of query: LiveQuery) -> ShardRoute {
        ShardRouting.route(of: query, shardCount: shardCount, orders: orders)
    }

    /// Returns the shards that must receive an event which concerns these queries, under the given overrides or those
    /// last read.
    package func shards(of queries: [OperationReference], by orders: ClusterOverrides? = nil) -> [ShardID] {
        ShardRouting.shards(of: queries, shardCount: shardCount, orders: orders ?? self.orders, nowMs: nowMs())
    }

    /// Reads the overrides.
    /// - Returns: whether they changed.
    @discardableResult
    package func refresh() async throws(BrokerError) -> Bool {
        try await read().isNew
    }

    /// Returns the overrides as of some time after the call. Takes one short command when nothing changed.
    package func confirmed() async throws(BrokerError) -> ClusterOverrides {
        let generation = try await broker.ordersGeneration()
        let orders = orders
        return orders.generation == generation ? orders : try await read().orders
    }

    private func read() async throws(BrokerError) -> (orders: ClusterOverrides, isNew: Bool) {
        let ticket = state.withLock { state in
            state.asked += 1
            return state.asked
        }
        let stored = try await broker.orders()
        let orders = ClusterOverrides(generation: stored.generation, fields: stored.fields)
        let isNew = state.withLock { state in
            // Of two concurrent reads, the one begun later counts, even if its generation is lower: a broker that lost
            // its latest data has a lower one, and every node must follow it.
            guard ticket > state.read else { return false }
            state.read = ticket
            guard orders.generation != state.orders.generation else { return false }
            state.orders = orders
            return true
        }
        return (orders, isNew)
    }

    /// Writes overrides. The cluster applies them within a heartbeat, this node at once.
    package func change(_ changes: [OverrideChange]) async throws(BrokerError) {
        try await broker.changeOrders(changes.map { (field: $0.field, value: $0.value) })
        try await refresh()
    }
}
