import Cluster

/// Whether a node takes clients, and whether it says so to load balancers.
struct NodeReadiness: Sendable {
    let phase: NodePhase
    let membership: Membership
    let probe: ReadinessProbe

    /// Takes clients. A node that is about to leave still does, and so does one whose servers are away.
    var isServing: Bool { phase.isStarted && !phase.isDraining && !membership.isDrainedByOperator }
    /// What load balancers learn.
    var isReady: Bool { isServing && !phase.isLeaving && problem == nil }
    /// Which server has been away for long; nil while all answer.
    var problem: String? { probe.problem }
}
