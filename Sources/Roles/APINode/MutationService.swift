import Catalog
import Clocks
package import Cluster
package import Execution
import JSON
package import LiveModel
package import Logging
import Metrics
import Observability
package import Recording
import RoleMachines
import Sharding
import Synchronization
import Tracing

/// Runs mutations, acknowledges them and publishes their events.
///
/// At most `inFlightMax` mutations run at a time; more are refused with `.unavailable`.
package final class MutationService: Sendable {
    private let catalogs: ServedCatalogs
    private let executor: MutationExecutor
    private let publisher: EventPublisher
    private let overrideList: OverrideList
    private let inFlightMax: Int
    private let outbox: OutboxKind
    private let recorder: NodeRecorder?
    private let makeUUID: @Sendable () -> String
    private let logger: Logger
    private let targetsCache = Mutex(RefreshTargetsCache<ServedCatalogs.Snapshot>())
    private let inFlight = Atomic<Int>(0)
    private let metrics = MutationMetrics()
    private let keyMetrics = IdempotencyMetrics()

    package init(
        catalogs: ServedCatalogs, executor: MutationExecutor, publisher: EventPublisher, overrideList: OverrideList,
        inFlightMax: Int, outbox: OutboxKind = .table,
        makeUUID: @escaping @Sendable () -> String, recorder: NodeRecorder? = nil,
        logger: Logger = Logger(label: "freshet.api")
    ) {
        self.recorder = recorder
        self.logger = logger
        self.catalogs = catalogs
        self.executor = executor
        self.publisher = publisher
        self.overrideList = overrideList
        self.inFlightMax = inFlightMax
        self.outbox = outbox
        self.makeUUID = makeUUID
    }

    /// Runs a mutation. An outcome without a `failure` is committed.
    package func execute(
        _ resolved: ResolvedOperation, traceID: String
    ) async throws(RequestError) -> MutationExecutor.Outcome {
        guard inFlight.wrappingAdd(1, ordering: .relaxed).newValue <= inFlightMax else {
            inFlight.wrappingSubtract(1, ordering: .relaxed)
            metrics.refused.increment()
            throw RequestError(.unavailable, "too many mutations in flight on this node")
        }
        defer { inFlight.wrappingSubtract(1, ordering: .relaxed) }
        let startNs = MonotonicClock.nowNs()
        let isTraced = resolved.isTraced || recorder?.traces(isWanted: false, nowMs: overrideList.nowMs()) ?? false
        let reference = resolved.operation.reference
        let own =
            isTraced || resolved.operation.hasRemoteFields
            ? TraceID(hex: traceID).map { TraceParent(traceID: $0, isSampled: isTraced) } : nil
        // On all nodes a traced mutation is named by its trace and its own span: a client's trace may have several.
        let trace = isTraced ? own.map { "\($0.traceID)-\($0.spanID)" } ?? traceID : traceID
        if isTraced { recorder?.received(trace, reference, parentSpan: resolved.parentSpan) }
        let served = catalogs.begin()
        let targets = targets(of: reference, served)
        let lifecycle = MutationLifecycle(
            of: reference, targets: targets, begunUnder: served.loadedDeployment, outbox: outbox)
        let outcome: MutationExecutor.Outcome
        do throws(RequestError) {
            outcome = try await ServiceContext.within(own) {
                () async throws(RequestError) in
                try await executor.run(
                    resolved.operation, variables: resolved.variables, auth: resolved.auth, caller: resolved.caller,
                    key: resolved.idempotencyKey, sender: resolved.sender,
                    envelope: .init(
                        eventID: makeUUID(), traceID: trace, shards: targets.shards, authReads: targets.authReads,
                        recordedFields: targets.recordedFields, loadedDeployment: targets.loadedDeployment,
                        isTraced: isTraced))
            }
        } catch {
            if isTraced { recorder?.failed(trace, error) }
            perform(lifecycle.ended(committed: nil), served, traceID: traceID)
            if resolved.idempotencyKey != nil { keyMetrics.count(error) }
            throw error
        }
        if isTraced {
            recorder?.committed(
                trace, reference, event: outcome.event?.id, committedAtMs: WallClock.nowMs())
        }
        perform(lifecycle.ended(committed: outcome.event), served, traceID: traceID)
        if let use = outcome.keyUse { keyMetrics.count(use) }
        metrics.duration.recordNanoseconds(Int64(MonotonicClock.nowNs() - startNs))
        return outcome
    }

    private func perform(_ steps: [MutationLifecycle.Step], _ served: ServedCatalogs.Snapshot, traceID: String) {
        for step in steps {
            switch step {
            case .publish(let event):
                logger.debug(
                    "mutation committed", metadata: ["trace": "\(traceID)", "operation": "\(event.mutation)"])
                publisher.publish(event)
            case .end: catalogs.ended(served)
            }
        }
    }

    private func targets(of mutation: OperationReference, _ served: ServedCatalogs.Snapshot) -> RefreshTargets {
        let overrides = overrideList.overrides
        if let known = targetsCache.withLock({ $0.known(mutation, by: served, overrides) }) { return known }
        let targets = RefreshTargets(
            of: mutation, rules: served, overrides: overrides, shardCount: overrideList.shardCount,
            nowMs: overrideList.nowMs())
        targetsCache.withLock { $0.note(targets, of: mutation, by: served, overrides) }
        return targets
    }
}
