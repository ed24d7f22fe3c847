package import APINode
package import Execution
package import Gateway
package import LiveModel
import Logging
package import Recording
package import Sessions

/// The parts of a node that its requests share, whatever version of the project they use.
package struct RequestParts: Sendable {
    let clock: ServiceClock
    let catalogs: ServedCatalogs
    let authenticator: any Authenticator
    let queries: QueryExecutor
    let mutations: MutationService
    /// Whether the node runs mutations.
    let isAPI: Bool
    /// Whether clients learn everything about violated constraints, as on a developer's own node.
    let disclosesConstraints: Bool
    let recorder: NodeRecorder?
    let limits: VariableLimits
    /// The size of the largest result.
    let resultBytesMax: Int
    let quotas: QuotaGate
    let meter: OperationMeter
    /// The parts of their caches that clients are to drop.
    let invalidations: @Sendable () -> Invalidations
    let failures = OperationFailureLog(Logger(label: "freshet.requests"))

    package init(
        clock: ServiceClock, catalogs: ServedCatalogs, authenticator: any Authenticator, queries: QueryExecutor,
        mutations: MutationService, isAPI: Bool, disclosesConstraints: Bool = false,
        recorder: NodeRecorder? = nil, limits: VariableLimits, resultBytesMax: Int, quotas: QuotaGate,
        meter: OperationMeter, invalidations: @escaping @Sendable () -> Invalidations = { Invalidations() }
    ) {
        self.clock = clock
        self.catalogs = catalogs
        self.authenticator = authenticator
        self.queries = queries
        self.mutations = mutations
        self.isAPI = isAPI
        self.disclosesConstraints = disclosesConstraints
        self.recorder = recorder
        self.limits = limits
        self.resultBytesMax = resultBytesMax
        self.quotas = quotas
        self.meter = meter
        self.invalidations = invalidations
    }
}
