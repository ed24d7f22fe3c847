import Catalog
import DeploymentPlan
import Execution
import LiveModel
import Logging
import Observability
import Settings
import Synchronization

/// What every stage of a node's start needs to know: identity, settings, and how far its life has come.
struct NodeContext: Sendable {
    let id: NodeID
    let settings: Settings
    /// Compiled from the folder that the node was started with.
    let catalog: Catalog
    /// What `catalog` was compiled from; nil for a node that follows no deployments.
    let folder: ProjectArchive?
    let metrics: PrometheusMetrics
    /// Served at `/`.
    let page: [UInt8]?
    /// A developer's own node: answers what tools ask an emulator for.
    let isDevelopment: Bool
    let clock: ServiceClock
    let startedAtMs: Int64
    let logger: Logger
    let phase = NodePhase()

    var roleNames: [String] { settings.cluster.roles.map(\.rawValue).sorted() }
}

/// Where a node stands between its start and its end. Each step is taken once.
final class NodePhase: Sendable {
    private let started = Atomic<Bool>(false)
    private let leaving = Atomic<Bool>(false)
    private let draining = Atomic<Bool>(false)

    var isStarted: Bool { started.load(ordering: .acquiring) }
    /// The node still serves, but tells load balancers that it is not ready.
    var isLeaving: Bool { leaving.load(ordering: .acquiring) }
    var isDraining: Bool { draining.load(ordering: .acquiring) }

    func start() { started.store(true, ordering: .releasing) }
    /// - Returns: whether this call took the step.
    func leave() -> Bool { !leaving.exchange(true, ordering: .acquiringAndReleasing) }
    /// - Returns: whether this call took the step.
    func drain() -> Bool { !draining.exchange(true, ordering: .acquiringAndReleasing) }
}
