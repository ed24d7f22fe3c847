import Catalog
import Cluster
import Deployments
import Execution
import FanoutWorker
import Gateway
import LiveModel
import Settings

/// The information about a node that it publishes in the node list.
struct NodeAnnouncement: Sendable {
    let node: NodeContext
    let address: String
    let adminAddress: String
    let execution: NodeExecution
    let sessions: SessionRegistry
    let worker: FanoutWorker?

    init(_ node: NodeContext, _ address: ServiceNode.Address, _ execution: NodeExecution, _ roles: NodeRoles) {
        self.node = node
        self.execution = execution
        sessions = roles.sessions
        worker = roles.worker
        let settings = node.settings
        let advertised = node.advertisedAddress(port: address.publicPort)
        self.address = advertised
        adminAddress =
            address.adminPort.map { Self.address(host: settings.admin.host, port: $0, besides: advertised) } ?? ""
    }

    func record(isDraining: Bool) async -> NodeRecordPayload {
        let (catalogs, deployments) = (execution.catalogs, execution.deployments)
        return NodeRecordPayload(
            id: node.id, roles: node.roles, address: address, adminAddress: adminAddress,
            version: ClusterFormat.release, startedAtMs: node.startedAtMs, isDraining: isDraining,
            load: sessions.count, shards: await worker?.shardStatuses ?? [],
            project: catalogs.set.current.version.hex,
            deployment: deployments == nil ? 0 : catalogs.deploymentReached,
            deploymentProblem: deployments?.problem ?? "it serves its folder only", process: LocalProcess.own,
            commitsMarkers: node.roles.contains(.api) && node.settings.lag.markerEveryMs > 0)
    }

    /// The address at which other machines reach a port. If it is open on every address, the host is that of the
    /// advertised address.
    static func address(host: String, port: Int, besides advertised: String) -> String {
        guard ["0.0.0.0", "::"].contains(host) else {
            return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
        return "\(advertised.prefix(upTo: advertised.lastIndex(of: ":") ?? advertised.endIndex)):\(port)"
    }
}
