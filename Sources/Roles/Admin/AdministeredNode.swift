package import APINode
package import ChangeTailer
package import Cluster
package import Execution
package import FanoutWorker
package import Gateway
package import LiveModel
package import Observability
package import Recording

/// The parts of a node that operators look at and change through its admin port.
package struct AdministeredNode: Sendable {
    /// The parts of the node's roles.
    package struct Components: Sendable {
        package let sweeper: OutboxSweeper
        package let sessions: SessionRegistry
        package let gateway: GatewayService?
        package let worker: FanoutWorker?
        package let tailer: ChangeTailer?
        /// The slot that the cluster's tailers read, whatever the node's roles.
        package let slot: ChangeSlot
        package let recorder: NodeRecorder
        package let queries: QueryExecutor

        package init(
            sweeper: OutboxSweeper, sessions: SessionRegistry, gateway: GatewayService?, worker: FanoutWorker?,
            tailer: ChangeTailer?, slot: ChangeSlot, recorder: NodeRecorder, queries: QueryExecutor
        ) {
            self.recorder = recorder
            self.queries = queries
            self.sweeper = sweeper
            self.sessions = sessions
            self.gateway = gateway
            self.worker = worker
            self.tailer = tailer
            self.slot = slot
        }
    }

    package struct Readiness: Sendable {
        package let isReady: Bool
        /// The servers that keep it from being ready, as text; nil if none does.
        package let problem: String?

        package init(isReady: Bool, problem: String?) {
            self.isReady = isReady
            self.problem = problem
        }
    }

    package let id: NodeID
    package let roles: Set<Role>
    package let cluster: ClusterMember
    package let catalogs: ServedCatalogs
    package let components: Components
    package let clock: ServiceClock
    /// Milliseconds since 1970.
    package let startedAtMs: Int64
    package let metrics: PrometheusMetrics
    package let meter: OperationMeter
    /// The connections to the primary that run clients' requests and live queries.
    package let databaseConnections: Int
    /// The history of the project's versions; nil for a node that follows no deployments.
    package let deployments: DeploymentReports?
    /// Whether this is a developer's own node.
    package let isDevelopment: Bool
    package let folder: FolderState
    package let readiness: @Sendable () -> Readiness

    package init(
        id: NodeID, roles: Set<Role>, cluster: ClusterMember, catalogs: ServedCatalogs, components: Components,
        clock: ServiceClock, startedAtMs: Int64, metrics: PrometheusMetrics, meter: OperationMeter,
        databaseConnections: Int, deployments: DeploymentReports?, isDevelopment: Bool, folder: FolderState,
        readiness: @escaping @Sendable () -> Readiness
    ) {
        self.id = id
        self.roles = roles
        self.cluster = cluster
        self.catalogs = catalogs
        self.components = components
        self.clock = clock
        self.startedAtMs = startedAtMs
        self.metrics = metrics
        self.meter = meter
        self.databaseConnections = databaseConnections
        self.deployments = deployments
        self.isDevelopment = isDevelopment
        self.folder = folder
        self.readiness = readiness
    }
}
