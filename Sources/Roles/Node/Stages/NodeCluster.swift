import Broker
import Cluster
import Execution
import LiveModel
import Settings
import Streams

/// The stage of a start that reads the cluster's overrides, revocations and invalidations. The node joins later, when
/// it can serve.
enum NodeCluster {
    static func open(
        _ node: NodeContext, _ broker: any Broker, _ gate: StartupGate, _ parts: ClosingStack
    ) async throws(NodeError) -> ClusterMember {
        let (settings, clock) = (node.settings, node.clock)
        let overrideList = OverrideList(
            broker: broker, shardCount: settings.cluster.shardCount, nowMs: { clock.nowMs() })
        let revocations = RevocationList(
            broker: broker, countMax: node.revocationSettings.countMax, nowMs: { clock.nowMs() },
            makeMark: { RandomIdentity.uuid() }, logger: node.logger)
        let invalidations = InvalidationList(
            broker: broker, countMax: settings.gateway.invalidationsMax, makeMark: { RandomIdentity.uuid() })
        _ = try await gate.until("Redis") { withinMs in
            await NodeStorage.attempt(broker, withinMs: withinMs) { () async throws(BrokerError) in
                try await overrideList.refresh()
                try await revocations.refresh()
                try await invalidations.refresh()
            }
        }
        let membership = Membership(
            node: node.id, broker: broker, overrideList: overrideList, settings: node.membershipSettings,
            logger: node.logger)
        parts.push("cluster entry") { _ in await membership.close() }
        return ClusterMember(
            broker: broker, overrideList: overrideList, revocations: revocations, invalidations: invalidations,
            membership: membership)
    }
}
