import Admin
package import Catalog
package import DeploymentPlan
import Clocks
import Cluster
import Deployments
import Execution
import FanoutWorker
import Gateway
package import LiveModel
package import Logging
import NIOCore
package import Observability
import PublicAPI
package import SchemaModel
package import Settings
import Synchronization

/// One process of the cluster: connects to Postgres and Redis, opens its ports, and runs the roles in its settings.
///
/// Call `start` once, and `drain` at any time, from any task. A start runs the stages in `Stages/`; a later stage that
/// fails, and `drain`, close what they started in the reverse order (`ClosingStack`).
package final class ServiceNode: Sendable {
    package struct Address: Sendable {
        package let publicPort: Int
        package let adminPort: Int?
    }

    /// The parts of a running node that its methods use.
    private struct Running {
        let execution: NodeExecution
        let sessions: SessionRegistry
    }

    private enum Lifecycle {
        case new
        case starting(Task<Result<Address, NodeError>, Never>)
        case running(Running)
        /// Failed to start, or stopped.
        case ended

        var running: Running? { if case .running(let running) = self { running } else { nil } }
    }

    let context: NodeContext
    private let folder = FolderState()
    private let parts = ClosingStack()
    private let lifecycle = Mutex(Lifecycle.new)

    private var node: NodeContext { context }

    package var id: NodeID { context.id }

    /// Tells the console of a developer's node why the last version of the folder was not loaded.
    package func notReloaded(_ errors: [Diagnostic], reason: String?) {
        folder.problem = .init(errors: errors, reason: reason)
    }

    package func reloaded() { folder.problem = nil }

    /// - Parameters:
    ///   - folder: the source of `catalog`. The node serves it until something is deployed, and follows deployments
    ///     from then on. Nil: it always serves `catalog`.
    ///   - isDevelopment: whether this is a developer's own node, which also answers the emulator calls of tools and
    ///     has the console on its public port.
    package init(
        settings: Settings, catalog: Catalog, folder: ProjectArchive? = nil, metrics: PrometheusMetrics,
        isDevelopment: Bool = false, logger: Logger
    ) {
        let id = NodeID(settings.cluster.nodeId ?? RandomIdentity.nodeName())
        let clock = ServiceClock.system()
        var logger = logger
        logger[metadataKey: "node"] = "\(id)"
        context = NodeContext(
            id: id, settings: settings, catalog: catalog, folder: folder, metrics: metrics,
            isDevelopment: isDevelopment, clock: clock, startedAtMs: clock.nowMs(), logger: logger,
            meter: OperationMeter(clock: clock))
    }

    // MARK: Start

    /// - Throws: `NodeError` with one clear line, after everything opened has been closed; also when the node is
    ///   drained or the calling task cancelled before the start has ended.
    package func start() async throws(NodeError) -> Address {
        let start: Task<Result<Address, NodeError>, Never>? = lifecycle.withLock { lifecycle in
            switch lifecycle {
            case .new:
                let start = Task { await startOrClose() }
                lifecycle = .starting(start)
                return start
            case .ended: return nil
            case .starting, .running: preconditionFailure("node \(id) is started twice")
            }
        }
        guard let start else { throw Self.stopped }
        return try await withTaskCancellationHandler {
            await start.value
        } onCancel: {
            start.cancel()
        }.get()
    }

    private static let stopped = NodeError("the node was stopped before it had started")

    private func startOrClose() async -> Result<Address, NodeError> {
        do throws(NodeError) {
            let (address, running) = try await startStages()
            // A drain cancels this task under the same lock; the caller's cancellation may come at any time.
            let isStopped = lifecycle.withLock { lifecycle in
                let isCancelled = Task.isCancelled
                if !isCancelled { lifecycle = .running(running) }
                return isCancelled
            }
            if isStopped { throw Self.stopped }
            return .success(address)
        } catch {
            await parts.close()
            lifecycle.withLock { $0 = .ended }
            return .failure(error)
        }
    }

    private func startStages() async throws(NodeError) -> (Address, Running) {
        let gate = StartupGate(settings: node.settings, parts: parts, logger: node.logger)
        let network = NodeNetwork.open(node, parts)
        let storage = try await NodeStorage.open(node, gate, parts)
        let access = try await NodeAccess.open(node, network.sender)
        let cluster = try await NodeCluster.open(node, storage.broker, gate, parts)
        let execution = try await NodeExecution.open(node, storage, network.sender, gate, parts)
        parts.push("tasks") { _ in network.tasks.cancel() }
        let roles = NodeRoles.open(
            node, cluster, storage, execution, network, access.authenticator(cluster.revocations), parts)
        try await EventLogGate(slot: roles.slot).pass(node, gate)
        let readiness = NodeReadiness(
            phase: node.phase, membership: cluster.membership, probe: openProbe(storage, roles))
        let administered = AdministeredNode(
            id: node.id, roles: node.roles, cluster: cluster, catalogs: execution.catalogs,
            components: .init(
                sweeper: roles.sweeper, sessions: roles.sessions, gateway: roles.gateway, worker: roles.worker,
                tailer: roles.tailer, slot: roles.slot, recorder: roles.recorder, queries: execution.queries),
            clock: node.clock, startedAtMs: node.startedAtMs, metrics: node.metrics, meter: node.meter,
            databaseConnections: node.databaseConnections, deployments: execution.deploymentReports,
            isDevelopment: node.isDevelopment, folder: folder,
            readiness: { .init(isReady: readiness.isReady, problem: readiness.problem) })
        let listeners = try await NodeListeners.open(
            node, access, administered, roles, readiness, network, gate, parts)
        let run = NodeRun(
            node: node, cluster: cluster, access: access, execution: execution, roles: roles, listeners: listeners,
            readiness: readiness, broker: storage.broker, inspector: NodeInspector(administered), tasks: network.tasks,
            parts: parts)
        await run.start()
        node.phase.start()
        return (listeners.address, Running(execution: execution, sessions: roles.sessions))
    }

    private func openProbe(_ storage: NodeStorage, _ roles: NodeRoles) -> ReadinessProbe {
        let (worker, phase) = (roles.worker, node.phase)
        var probesRead: (@Sendable () -> Int)?
        if let gateway = roles.gateway { probesRead = { gateway.probesRead } }
        let streams = StreamProbe(
            broker: storage.broker, node: node.id, inboxLengthMax: node.settings.redis.inboxLengthMax,
            probesRead: probesRead, failedReads: { worker?.failedReads ?? 0 }, isDraining: { phase.isDraining })
        return ReadinessProbe(
            ReadinessRule(
                roles: node.settings.cluster.roles, limitMs: Int64(node.settings.cluster.unreadyAfterMs),
                nowMs: MonotonicClock.nowMs()),
            pool: storage.pool, streams: streams, logger: node.logger)
    }

    // MARK: Stop

    /// Stops the node: it reports not ready, pauses, hands its shards over, asks its sessions to reconnect (staggered),
    /// finishes work in flight, and closes everything. A node that is starting gives the start up and closes at once.
    /// - Parameters:
    ///   - delayMs: the pause in which load balancers notice that the node is not ready, while it serves as before. A
    ///     node without clients skips it.
    ///   - sessionsOverMs: the time over which the sessions are asked to reconnect.
    ///   - graceMs: the time limit for work in flight after that.
    package func drain(delayMs: Int64 = 0, sessionsOverMs: Int64, graceMs: Int64) async {
        guard node.phase.leave() else { return }
        if let start = cancelStart() {
            node.logger.info("stopping during the start")
            _ = node.phase.drain()
            _ = await start.value
            return
        }
        if delayMs > 0, !node.settings.cluster.roles.isDisjoint(with: [.api, .gateway]) {
            node.logger.info("leaving", metadata: ["delayMs": "\(delayMs)"])
            try? await Task.sleep(for: .milliseconds(delayMs))
        }
        guard node.phase.drain() else { return }
        // No other task can reach the parts that are closed below.
        let running = lifecycle.withLock { lifecycle in
            defer { lifecycle = .ended }
            return lifecycle.running
        }
        guard let sessions = running?.sessions else { return }
        node.logger.info("draining", metadata: ["sessions": "\(sessions.count)"])
        await parts.close(.init(sessionsOverMs: sessionsOverMs, workMs: graceMs))
        node.logger.info("stopped")
    }

    /// Returns the start in progress, cancelled.
    private func cancelStart() -> Task<Result<Address, NodeError>, Never>? {
        lifecycle.withLock { lifecycle in
            guard case .starting(let start) = lifecycle else { return nil }
            start.cancel()
            return start
        }
    }

    // MARK: What it serves

    /// Looks for deployments now instead of at the next poll.
    /// - Returns: the last deployment that applies to every mutation in progress; 0 for a node that follows none.
    package func loadDeployments() async -> Int64 {
        guard let execution = lifecycle.withLock({ $0.running?.execution }), let deployments = execution.deployments
        else { return 0 }
        await deployments.poll()
        return execution.catalogs.deploymentReached
    }

    /// The version of the project that serves new requests; nil before the start and after the stop.
    package var servedVersion: Digest? { lifecycle.withLock { $0.running }?.execution.catalogs.set.current.version }

    static func reason(_ error: any Error) -> String {
        if let error = error as? IOError { return error.errnoCode == 98 ? "the port is in use" : error.description }
        return "\(error)"
    }
}
