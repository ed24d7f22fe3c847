import Catalog
import APINode
import ChangeTailer
import Cluster
import Deployments
import Execution
import FanoutWorker
import Gateway
import Inspection
import LiveModel
import NIOPosix
import Postgres
import PublicAPI
import Recording
import RoleMachines
import Sessions
import Settings
import TraceExport

/// The stage of a start that creates the services of the node's roles; they do not run yet.
struct NodeRoles: Sendable {
    let publisher: EventPublisher
    let sweeper: OutboxSweeper
    /// Nil without the role api.
    let keySweeper: IdempotencySweeper?
    /// Nil without the role api.
    let markers: MarkerCommitter?
    let gateway: GatewayService?
    let worker: FanoutWorker?
    let tailer: ChangeTailer?
    let slot: ChangeSlot
    let sessions: SessionRegistry
    let executor: RequestExecutor
    let recorder: NodeRecorder

    static func open(
        _ node: NodeContext, _ cluster: ClusterMember, _ storage: NodeStorage, _ execution: NodeExecution,
        _ network: NodeNetwork, _ authenticator: NodeAuthenticator, _ parts: ClosingStack
    ) -> NodeRoles {
        let settings = node.settings
        let exporter = node.traceExportSettings.map {
            OTLPExporter($0, node: node.id, sender: network.sender, logger: node.logger)
        }
        var export: (@Sendable ([Span]) -> Void)?
        if let exporter {
            parts.push("export of traces") { await exporter.flush(withinMs: $0.workMs) }
            network.tasks.add { await exporter.run() }
            export = { exporter.noted($0) }
        }
        let recorder = NodeRecorder(node: node.id, settings: node.recorderSettings, export: export)
        execution.catalogs.onReplace { recorder.redact($0.redactedNames) }
        let publisher = EventPublisher(
            broker: cluster.broker, pool: storage.pool, catalogs: execution.catalogs,
            overrideList: cluster.overrideList,
            settings: node.publisherSettings, eventsLengthMax: node.streamLengths.events, recorder: recorder,
            logger: node.logger)
        // Closed after the ports, when the last mutation has ended.
        parts.push("publisher") { await publisher.drain(withinMs: $0.workMs) }
        let roles = settings.cluster.roles
        let slot = ChangeSlot(
            name: settings.tailer.slot, namespace: settings.cluster.namespace, pool: storage.pool,
            holdsOwnEvents: settings.outbox.kind == .wal)
        let tailer = roles.readLog ? tailer(node, cluster, storage, execution, slot, recorder) : nil
        let sweeper = OutboxSweeper(
            broker: cluster.broker, pool: storage.pool, catalogs: execution.catalogs, publisher: publisher,
            overrideList: cluster.overrideList, settings: node.sweeperSettings,
            othersHavePublished: { tailer?.hasPublished ?? false },
            eventsLengthMax: node.streamLengths.events, makeUUID: { RandomIdentity.uuid() }, logger: node.logger)
        return NodeRoles(
            publisher: publisher, sweeper: sweeper,
            keySweeper: roles.contains(.api)
                ? IdempotencySweeper(
                    pool: storage.pool, settings: node.idempotencySweepSettings, logger: node.logger) : nil,
            markers: roles.contains(.api) ? markers(node, cluster, storage, execution, publisher) : nil,
            gateway: roles.contains(.gateway)
                ? gateway(
                    node, cluster, storage, network.group, recorder,
                    outbox: CommittedEvents(
                        pool: storage.pool, catalogs: execution.catalogs, publisher: publisher,
                        overrideList: cluster.overrideList, log: slot)) : nil,
            worker: roles.contains(.worker) ? worker(node, cluster, storage, execution, recorder) : nil,
            tailer: tailer, slot: slot,
            sessions: SessionRegistry(
                admission: node.sessionAdmission, nowMs: { [clock = node.clock] in clock.nowMs() }),
            executor: executor(node, cluster, execution, publisher, authenticator, recorder), recorder: recorder)
    }

    private static func markers(
        _ node: NodeContext, _ cluster: ClusterMember, _ storage: NodeStorage, _ execution: NodeExecution,
        _ publisher: EventPublisher
    ) -> MarkerCommitter {
        MarkerCommitter(
            schedule: MarkerSchedule(node: node.id, everyMs: Int64(node.settings.lag.markerEveryMs)),
            pool: storage.pool, catalogs: execution.catalogs, publisher: publisher,
            overrideList: cluster.overrideList, outbox: node.settings.outbox.kind,
            nodes: { [membership = cluster.membership] in try? await membership.liveNodes().nodes },
            makeUUID: { [clock = node.clock] in RandomIdentity.orderedUUID(nowMs: clock.nowMs()) },
            logger: node.logger)
    }

    private static func gateway(
        _ node: NodeContext, _ cluster: ClusterMember, _ storage: NodeStorage, _ group: MultiThreadedEventLoopGroup,
        _ recorder: NodeRecorder, outbox: CommittedEvents
    ) -> GatewayService {
        GatewayService(
            node: node.id, broker: cluster.broker, group: group, settings: node.gatewaySettings,
            controlLengthMax: node.streamLengths.control, eventsLengthMax: node.streamLengths.events,
            meter: node.meter, deltas: node.deltaCache, epochs: epochs(node, storage),
            ensureEvent: { event, ms throws(RequestError) in try await outbox.ensureAppended(event, withinMs: ms) },
            recorder: recorder, clock: node.clock, logger: node.logger)
    }

    private static func worker(
        _ node: NodeContext, _ cluster: ClusterMember, _ storage: NodeStorage, _ execution: NodeExecution,
        _ recorder: NodeRecorder
    ) -> FanoutWorker {
        FanoutWorker(
            node: node.id, broker: cluster.broker, catalogs: execution.catalogs, queries: execution.queries,
            epochs: epochs(node, storage),
            shardCount: node.settings.cluster.shardCount, settings: node.workerSettings, clock: node.clock,
            meter: node.meter, logger: node.logger, recorder: recorder,
            loadCatalogs: { [deployments = execution.deployments] in await deployments?.poll()?.description },
            onNodesOrLeasesChanged: { [membership = cluster.membership] in membership.wake() })
    }

    private static func tailer(
        _ node: NodeContext, _ cluster: ClusterMember, _ storage: NodeStorage, _ execution: NodeExecution,
        _ slot: ChangeSlot, _ recorder: NodeRecorder
    ) -> ChangeTailer {
        ChangeTailer(
            broker: cluster.broker, configuration: storage.pool.configuration, slot: slot,
            catalogs: execution.catalogs, overrideList: cluster.overrideList, settings: node.tailerSettings,
            streamSettings: node.tailerStreamSettings, eventsLengthMax: node.streamLengths.events,
            outbox: node.settings.outbox.kind, recorder: recorder,
            makeUUID: { RandomIdentity.uuid() },
            loadCatalogs: { [deployments = execution.deployments] in await deployments?.poll() }, logger: node.logger)
    }

    private static func epochs(_ node: NodeContext, _ storage: NodeStorage) -> ShardEpochs {
        let settings = node.settings.cluster
        return ShardEpochs(pool: storage.pool, namespace: settings.namespace, timeoutMs: settings.leaseTtlMs)
    }

    private static func executor(
        _ node: NodeContext, _ cluster: ClusterMember, _ execution: NodeExecution, _ publisher: EventPublisher,
        _ authenticator: NodeAuthenticator, _ recorder: NodeRecorder
    ) -> RequestExecutor {
        let settings = node.settings
        let mutations = MutationService(
            catalogs: execution.catalogs, executor: execution.mutations, publisher: publisher,
            overrideList: cluster.overrideList, inFlightMax: settings.api.requestsInFlightMax,
            outbox: settings.outbox.kind,
            makeUUID: { [clock = node.clock] in RandomIdentity.orderedUUID(nowMs: clock.nowMs()) },
            recorder: recorder, logger: node.logger)
        return RequestExecutor(
            RequestParts(
                clock: node.clock, catalogs: execution.catalogs, authenticator: authenticator,
                queries: execution.queries, mutations: mutations, isAPI: settings.cluster.roles.contains(.api),
                disclosesConstraints: node.isDevelopment,
                recorder: recorder, limits: node.variableLimits, resultBytesMax: settings.gateway.resultBytesMax,
                quotas: QuotaGate(node.quotaLimits, requestsMax: settings.api.requestsInFlightMax), meter: node.meter,
                invalidations: { [list = cluster.invalidations] in list.current }))
    }
}
