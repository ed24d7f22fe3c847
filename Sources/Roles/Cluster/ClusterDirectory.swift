package import Broker
package import Streams
package import LiveModel
package import Sharding
import Synchronization

/// A node's copy of the cluster overrides, and where live queries and events belong by them.
///
/// Read with every heartbeat, and whenever the broker turns out to have another generation. It may be old;
/// `ClusterOverrides` says why that is harmless.
package final class ClusterDirectory: Sendable {
    package let shardCount: Int
    private let broker: any Broker
    package let nowMs: @Sendable () -> Int64
    private let state = Mutex(State())

    private struct State {
        var orders = ClusterOverrides()
        /// The number of reads begun, and the latest read that has ended.
        var asked = 0
        var read = 0
    }

    package init(broker: any Broker, shardCount: Int, nowMs: @escaping @Sendable () -> Int64) {
        self.broker = broker
        self.shardCount = shardCount
        self.nowMs = nowMs
    }

    /// The overrides as last read.
    package var orders: ClusterOverrides { state.withLock { $0.orders } }

    package func place(of query: LiveQuery) -> ShardRoute {
        ShardRouting.route(of: query, shardCount: shardCount, orders: orders)
    }

    /// The shards that must receive an event which concerns these queries, by the given overrides or those last read.
    package func shards(of queries: [OperationReference], by orders: ClusterOverrides? = nil) -> [ShardID] {
        ShardRouting.shards(of: queries, shardCount: shardCount, orders: orders ?? self.orders, nowMs: nowMs())
    }

    /// Reads the overrides.
    /// - Returns: whether they have changed.
    @discardableResult
    package func refresh() async throws(BrokerError) -> Bool {
        try await read().isNew
    }

    /// The overrides as of some moment after the call. Costs one short command when nothing changed.
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
            // Of two concurrent reads the one that began later counts, whichever generation is greater: a broker that
            // lost its latest data has an older one, and every node has to follow it.
            guard ticket > state.read else { return false }
            state.read = ticket
            guard orders.generation != state.orders.generation else { return false }
            state.orders = orders
            return true
        }
        return (orders, isNew)
    }

    /// Writes overrides. The whole cluster acts on them within a heartbeat, this node at once.
    package func change(_ changes: [OverrideChange]) async throws(BrokerError) {
        try await broker.changeOrders(changes.map { (field: $0.field, value: $0.value) })
        try await refresh()
    }
}
