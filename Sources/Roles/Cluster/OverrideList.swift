package import Broker
package import Streams
package import LiveModel
package import Sharding
import Synchronization

/// A node's copy of the cluster overrides.
///
/// Read with every heartbeat, and when the broker reports another generation. The copy may be outdated;
/// `ClusterOverrides` explains why that is harmless.
package final class OverrideList: Sendable {
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

    /// Reads the overrides.
    /// - Returns: whether they changed.
    @discardableResult
    package func refresh() async throws(BrokerError) -> Bool {
        try await read(latest.withLock { $0.begin() }).isNew
    }

    /// Returns the overrides as of some time after the call. Takes one short command when nothing changed.
    package func confirmed() async throws(BrokerError) -> ClusterOverrides {
        let generation = try await broker.overridesGeneration()
        switch latest.withLock({ $0.generationRead(generation) }) {
        case .useCopy(let overrides): return overrides
        case .read(let ticket): return try await read(ticket).overrides
        }
    }

    private func read(
        _ ticket: LatestRead<ClusterOverrides>.Ticket
    ) async throws(BrokerError) -> (overrides: ClusterOverrides, isNew: Bool) {
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
