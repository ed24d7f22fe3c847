import Catalog
import DeploymentPlan
import Execution
import LiveModel
import Logging
import Observability
import Settings
import Synchronization

/// The data that every stage of a node's start needs: identity, settings and the phase of its life.
struct NodeContext: Sendable {
    let id: NodeID
    let settings: Settings
    /// The catalog compiled from the start-up folder.
    let catalog: Catalog
    /// The folder that `catalog` was compiled from; nil for a node that follows no deployments.
    let folder: ProjectArchive?
    let metrics: PrometheusMetrics
    /// Whether this is a developer's own node, which also answers the emulator calls of tools.
    let isDevelopment: Bool
    let clock: ServiceClock
    let startedAtMs: Int64
    let logger: Logger
    let phase = NodePhase()
    let meter: OperationMeter

    var roles: Set<Role> { settings.cluster.roles }
}

/// The phase of a node between its start and its end. Each step is taken once.
final class NodePhase: Sendable {
    private let started = Atomic<Bool>(false)
    private let leaving = Atomic<Bool>(false)
    private let draining = Atomic<Bool>(false)

    var isStarted: Bool { started.load(ordering: .acquiring) }
    /// Whether the node reports not ready to load balancers while it still serves.
    var isLeaving: Bool { leaving.load(ordering: .acquiring) }
    var isDraining: Bool { draining.load(ordering: .acquiring) }

    func start() { started.store(true, ordering: .releasing) }
    /// - Returns: whether this call made the step.
    func leave() -> Bool { !leaving.exchange(true, ordering: .acquiringAndReleasing) }
    /// - Returns: whether this call made the step.
    func drain() -> Bool { !draining.exchange(true, ordering: .acquiringAndReleasing) }
}
