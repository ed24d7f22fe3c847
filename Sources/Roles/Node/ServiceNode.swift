import Admin
import APINode
import Broker
package import Catalog
import Clocks
import Cluster
import Deployments
import Execution
import FanoutWorker
import Gateway
import GRPC
import HTTPServer
package import LiveModel
package import Logging
import NIOCore
import NIOPosix
package import Observability
import OutboundHTTP
import RemoteServices
package import Settings
import Postgres
import PublicAPI
import Sessions
import Sharding
import Streams
import Synchronization
import Tokens

/// One process of the cluster: opens Postgres, the broker and the port, and runs the roles that its settings name.
///
/// `start` once, then `drain` (from any task). Order of a drain: not ready → a pause → shards handed over → sessions told
/// to come back elsewhere, staggered → what is in flight finishes → everything closed.
package final class ServiceNode: Sendable {
    package struct Address: Sendable {
        package let publicPort: Int
        package let adminPort: Int?
    }

    package let id: NodeID
    /// Of the folder it was started with.
    package let catalog: Catalog
    private let folder: ProjectArchive?
    let settings: Settings
    let clock: ServiceClock
    let startedAtMs: Int64
    let logger: Logger
    private let metrics: PrometheusMetrics
    let page: [UInt8]?
    /// A developer's own: answers what tools ask an emulator for.
    let isDevelopment: Bool
    let running = Mutex<Running?>(nil)
    private let isReady = Atomic<Bool>(false)
    /// Still serves, but says not ready: see `drain`.
    let isLeaving = Atomic<Bool>(false)
    let isDraining = Atomic<Bool>(false)
    /// An operator wants this node without shards and sessions.
    let isDrainOrdered = Atomic<Bool>(false)
    /// Of the orders by which the gateway placed its live queries last.
    let placedGeneration = Atomic<UInt64>(0)
    /// Lets the heartbeat come early.
    let bell = AsyncNotify()

    struct Running: Sendable {
        let pool: PostgresPool
        let replicas: PostgresReplicas?
        let sender: HTTPSender
        let embeddings: HTTPEmbeddings?
        let broker: any Broker
        let directory: ClusterDirectory
        let publisher: EventPublisher
        let sweeper: OutboxSweeper
        let worker: FanoutWorker?
        let gateway: GatewayService?
        let sessions: SessionRegistry
        let server: HTTPServer
        let grpc: GRPCServer
        let admin: HTTPServer?
        let group: MultiThreadedEventLoopGroup
        let publicPort: Int
        let adminPort: Int?
        let catalogs: ServedCatalogs
        /// Nil for a node that follows no deployments.
        let deployments: DeploymentWatch?
        var tasks: [Task<Void, Never>]
    }

    /// - Parameter folder: what `catalog` was compiled from: the node serves it until something is deployed, and follows
    ///   deployments from then on. Nil: it serves `catalog`, whatever is deployed.
    package init(
        settings: Settings, catalog: Catalog, folder: ProjectArchive? = nil, metrics: PrometheusMetrics,
        page: [UInt8]? = nil, isDevelopment: Bool = false, logger: Logger
    ) {
        self.isDevelopment = isDevelopment
        self.settings = settings
        self.catalog = catalog
        self.folder = folder
        self.metrics = metrics
        self.page = page
        self.id = NodeID(settings.cluster.nodeId ?? RandomIdentity.nodeName())
        self.clock = .system()
        self.startedAtMs = clock.nowMs()
        var logger = logger
        logger[metadataKey: "node"] = "\(id)"
        self.logger = logger
    }

    private var isServing: Bool {
        isReady.load(ordering: .acquiring) && !isDraining.load(ordering: .acquiring)
            && !isDrainOrdered.load(ordering: .acquiring)
    }

    // MARK: Start

    /// - Throws: `NodeError` with one clear line.
    package func start() async throws(NodeError) -> Address {
        let wait = StartupGate(settings: settings, logger: logger)
        do throws(NodeError) {
            return try await start(wait)
        } catch {
            await wait.end()
            throw error
        }
    }

    private func start(_ wait: StartupGate) async throws(NodeError) -> Address {
        let pool = try await openPostgres(wait)
        let broker: any Broker
        do {
            broker = try await openBroker(wait)
        } catch {
            await pool.stop()
            throw error
        }
        do {
            return try await start(pool, broker, wait)
        } catch {
            await broker.close()
            await pool.stop()
            throw error
        }
    }

    private func start(
        _ pool: PostgresPool, _ broker: any Broker, _ wait: StartupGate
    ) async throws(NodeError) -> Address {
        guard TrustedProxies(settings.http.trustedProxies) != nil else {
            throw NodeError("http.trustedProxies takes addresses and networks such as 10.0.0.0/8")
        }
        let loops = settings.http.eventLoops > 0 ? settings.http.eventLoops : System.coreCount
        let group = MultiThreadedEventLoopGroup(numberOfThreads: loops)
        let sender = HTTPSender(group: group, connectionsPerHostMax: connectionsPerHostMax)
        let issuers = try await openIssuers(KeyDownloads(sender))
        let apiKeys = try openAPIKeys()
        let revocations = RevocationList(
            broker: broker, countMax: settings.auth.revocationsMax, nowMs: { [clock] in clock.nowMs() },
            makeMark: { RandomIdentity.uuid() })
        let roles = settings.cluster.roles
        let shardCount = settings.cluster.shardCount
        let replicas = openReplicas(pool)
        let resolvers = HTTPResolvers(resolverSettings, sender: sender)
        let embeddings = embeddingEndpoint.map { HTTPEmbeddings($0, embeddingSettings, sender: sender, logger: logger) }
        let queries = QueryExecutor(
            pool: pool, replicas: replicas, clock: clock, resolvers: resolvers, embeddings: embeddings)
        let directory = ClusterDirectory(broker: broker, shardCount: shardCount, nowMs: { [clock] in clock.nowMs() })
        _ = try await wait.until("Redis") { withinMs in
            await Self.attempt(broker, withinMs: withinMs) { () async throws(BrokerError) in
                try await directory.refresh()
                try await revocations.refresh()
            }
        }
        let deployments = try await followDeployments(pool, wait)
        let catalogs = deployments?.catalogs ?? ServedCatalogs(catalog)
        try await awaitSchema(pool, catalogs, deployments, wait)
        if embeddings == nil { warnOfEmbeddings(in: catalogs.set.current.catalog) }
        let publisher = EventPublisher(
            broker: broker, pool: pool, catalogs: catalogs, directory: directory, settings: publisherSettings,
            eventsLengthMax: settings.redis.eventsLengthMax, logger: logger)
        let sweeper = OutboxSweeper(
            broker: broker, pool: pool, catalogs: catalogs, publisher: publisher, directory: directory,
            settings: sweeperSettings, eventsLengthMax: settings.redis.eventsLengthMax,
            makeUUID: { RandomIdentity.uuid() }, logger: logger)
        let mutations = MutationService(
            catalogs: catalogs,
            executor: MutationExecutor(
                pool: pool, clock: clock, makeUUID: { RandomIdentity.uuid() }, resolvers: resolvers,
                embeddings: embeddings),
            publisher: publisher, directory: directory, inFlightMax: settings.api.requestsInFlightMax,
            makeUUID: { [clock] in RandomIdentity.orderedUUID(nowMs: clock.nowMs()) }, logger: logger)
        let gateway: GatewayService? =
            roles.contains(.gateway)
            ? GatewayService(
                node: id, broker: broker, group: group, settings: gatewaySettings,
                controlLengthMax: settings.redis.controlLengthMax,
                deltas: DeltaCache(
                    bytesMax: settings.gateway.deltaBytesMax, resultBytesMax: settings.gateway.deltaResultBytesMax),
                placeOf: { directory.place(of: $0) }, clock: clock, logger: logger) : nil
        let worker: FanoutWorker? =
            roles.contains(.worker)
            ? FanoutWorker(
                node: id, broker: broker, catalogs: catalogs, queries: queries,
                epochs: ShardEpochs(
                    pool: pool, namespace: settings.cluster.namespace, timeoutMs: settings.cluster.leaseTtlMs),
                shardCount: shardCount,
                settings: workerSettings, clock: clock, logger: logger,
                loadCatalogs: { await deployments?.poll() }, onNews: { [bell] in bell.ring() }) : nil
        let sessions = SessionRegistry(admission: sessionAdmission, nowMs: { [clock] in clock.nowMs() })
        let executor = RequestExecutor(
            clock: clock, catalogs: catalogs,
            authenticator: NodeAuthenticator(
                issuers: issuers, apiKeys: apiKeys, revocations: revocations, clock: clock), queries: queries,
            mutations: mutations, isAPI: roles.contains(.api),
            limits: VariableLimits(
                depthMax: settings.limits.variablesDepthMax, bytesMax: settings.limits.variablesBytesMax),
            resultBytesMax: settings.gateway.resultBytesMax,
            quotas: QuotaGate(quotaLimits, requestsMax: settings.api.requestsInFlightMax))
        let watch = ReadinessProbe(
            ReadinessRule(
                roles: roles, limitMs: Int64(settings.cluster.unreadyAfterMs),
                nowMs: MonotonicClock.nowMs()),
            pool: pool, broker: broker, logger: logger)
        let endpoint = PublicRouter(
            executor: executor,
            gateway: gateway, settings: endpointSettings, sessions: sessions, logger: logger,
            isReady: { [self] in isServing }, isAdvertised: { [self] in isAdvertised && watch.problem == nil },
            problem: { watch.problem })
        let grpc = GRPCServer(configuration: grpcConfiguration, handler: endpoint)
        let tls: ServerTLS?
        do throws(NodeError) {
            tls = try openTLS()
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
        let server = HTTPServer(
            configuration: httpConfiguration, handler: endpoint, logger: logger, group: group, http2: grpc.setup,
            tls: tls?.handlers)
        let port: Int
        await wait.end()
        do {
            port = try await server.start()
        } catch {
            try? await group.shutdownGracefully()
            throw NodeError("cannot listen on \(settings.http.host):\(settings.http.port): \(Self.reason(error))")
        }
        let inspector = NodeInspector(
            node: id, roles: roles.map(\.rawValue).sorted(), broker: broker, catalogs: catalogs, worker: worker,
            gateway: gateway, sweeper: sweeper, sessions: sessions, directory: directory, revocations: revocations,
            clock: clock, metrics: metrics, isReady: { [self] in isAdvertised && watch.problem == nil },
            problem: { watch.problem })
        var admin: HTTPServer?
        var adminPort: Int?
        if roles.contains(.admin) {
            var configuration = HTTPServerConfiguration()
            configuration.host = settings.admin.host
            configuration.port = settings.admin.port
            configuration.connectionsMax = 64
            let adminServer = HTTPServer(
                configuration: configuration,
                handler: AdminEndpoint(
                    inspector: inspector,
                    operator: NodeOperator(
                        broker: broker, catalogs: catalogs, directory: directory, revocations: revocations,
                        sessions: sessions, clock: clock, ordersChanged: { [self] in await ordersChanged() }),
                    operations: AdministratorOperations(executor: executor), token: settings.admin.token,
                    nowMs: { [clock] in clock.nowMs() }, logger: logger),
                logger: logger, group: group)
            do {
                adminPort = try await adminServer.start()
                admin = adminServer
            } catch {
                await server.shutdown(graceMs: 0)
                try? await group.shutdownGracefully()
                throw NodeError(
                    "cannot listen on \(settings.admin.host):\(settings.admin.port) (admin): \(Self.reason(error))")
            }
        }
        var parts = Running(
            pool: pool, replicas: replicas, sender: sender, embeddings: embeddings, broker: broker,
            directory: directory, publisher: publisher,
            sweeper: sweeper, worker: worker, gateway: gateway, sessions: sessions, server: server, grpc: grpc,
            admin: admin, group: group, publicPort: port, adminPort: adminPort, catalogs: catalogs,
            deployments: deployments, tasks: [])
        // A gateway is in the node list before it announces any interest: see FanoutWorker.start.
        _ = await announce(parts, publicPort: port, adminPort: adminPort)
        if let deployments {
            // Whoever announced a deployment before this node was in the list did not wait for it.
            await deployments.poll()
            let moveMs = Int64(settings.deploy.moveMs)
            parts.tasks.append(
                Task { [logger] in
                    await deployments.run { staying in
                        let count = await sessions.drain(except: staying, overMs: moveMs)
                        if count > 0 {
                            logger.info(
                                "sessions of former versions told to come back", metadata: ["sessions": "\(count)"])
                        }
                    }
                })
        }
        parts.tasks.append(Task { await watch.run() })
        parts.tasks.append(Task { await self.followRevocations(revocations, sessions) })
        parts.tasks.append(Task { await self.followAPIKeys(apiKeys, sessions) })
        if let tls { parts.tasks.append(Task { await self.followTLSFiles(tls) }) }
        if let gateway {
            gateway.forgetFormer(shardCount: shardCount)
            parts.tasks.append(Task { await gateway.run() })
        }
        if let worker { parts.tasks.append(Task { await worker.run() }) }
        if roles.contains(.api) || roles.contains(.worker) { parts.tasks.append(Task { await sweeper.run() }) }
        NodeMetrics.observe(
            metrics, roles: roles.map(\.rawValue), sessions: { sessions.count },
            peersCutOff: { [server] in server.counters.peersCutOffTotal },
            isReady: { [self] in isAdvertised && watch.problem == nil })
        if roles.contains(.worker) {
            parts.tasks.append(
                Task { [metrics, logger] in
                    await NodeMetrics.sample(inspector, shardCount: shardCount, metrics, logger)
                })
        }
        let heartbeat = parts
        parts.tasks.append(Task { await self.beat(heartbeat, publicPort: port, adminPort: adminPort) })
        running.withLock { $0 = parts }
        isReady.store(true, ordering: .releasing)
        return Address(publicPort: port, adminPort: adminPort)
    }

    private func followDeployments(_ pool: PostgresPool, _ wait: StartupGate) async throws(NodeError)
        -> DeploymentWatch?
    {
        guard let folder else { return nil }
        return try await wait.until("deployments") { [self] _ in
            do throws(DeploymentError) {
                return .done(
                    try await DeploymentWatch.start(
                        store: DeploymentStore(pool: pool), folder: folder, catalog: catalog, node: id,
                        settings: deploymentSettings, logger: logger))
            } catch {
                return error.isTransient ? .away("\(error)") : .refused("\(error)")
            }
        }
    }

    /// Looks for deployments now rather than at the next poll.
    /// - Returns: the greatest one that every mutation under way began by; 0 for a node that follows none.
    package func loadDeployments() async -> Int64 {
        guard let parts = running.withLock({ $0 }), let deployments = parts.deployments else { return 0 }
        await deployments.poll()
        return parts.catalogs.generationReached
    }

    /// Of the project that requests get; nil before the start.
    package var servedVersion: Digest? { running.withLock { $0 }?.catalogs.set.current.version }

    private var isAdvertised: Bool {
        isServing && !isLeaving.load(ordering: .acquiring)
    }

    static func reason(_ error: any Error) -> String {
        if let error = error as? IOError { return error.errnoCode == 98 ? "the port is in use" : error.description }
        return "\(error)"
    }
}

/// What nodes of one cluster must agree on.
package enum ClusterFormat {
    /// Of streams and messages; a node of another format does not start.
    package static let version = 1
    package static let release = "0.1.0"
}
