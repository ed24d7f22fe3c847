import Cluster

/// Whether a node takes clients, and whether it reports ready to load balancers.
struct NodeReadiness: Sendable {
    let phase: NodePhase
    let membership: Membership
    let probe: ReadinessProbe

    /// Whether the node takes clients. It does so until it drains, even if it reports not ready or a server is down.
    var isServing: Bool { phase.isStarted && !phase.isDraining && !membership.isDrainedByOperator }
    /// The readiness reported to load balancers.
    var isReady: Bool { isServing && !phase.isLeaving && problem == nil }
    /// The server that has been down for long; nil while all answer.
    var problem: String? { probe.problem }
}
