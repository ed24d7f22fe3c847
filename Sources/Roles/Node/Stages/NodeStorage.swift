package import Broker
import Clocks
import Execution
import LiveModel
import Logging
import Postgres
package import Settings
import Streams

/// The second stage of a start, which connects to Postgres, its replicas and Redis.
struct NodeStorage: Sendable {
    let pool: PostgresPool
    let replicas: PostgresReplicas?
    let broker: any Broker

    static func open(
        _ node: NodeContext, _ gate: StartupGate, _ parts: ClosingStack
    ) async throws(NodeError) -> NodeStorage {
        let pool = try await openPostgres(node, gate, parts)
        DatabaseMetrics.observe(pool, in: node.metrics)
        ConnectionMetrics.observe(pool, in: node.metrics)
        let replicas = openReplicas(node, pool, parts)
        return NodeStorage(pool: pool, replicas: replicas, broker: try await openBroker(node, gate, parts))
    }

    // MARK: Postgres

    private static func openPostgres(
        _ node: NodeContext, _ gate: StartupGate, _ parts: ClosingStack
    ) async throws(NodeError) -> PostgresPool {
        guard let url = node.settings.postgres.url else { throw NodeError("postgres.url is not set") }
        let pool = PostgresPool(configuration: node.postgresConfiguration(url), logger: node.logger)
        pool.begin()
        parts.push("Postgres") { _ in await pool.stop() }
        try await gate.until("Postgres") { (withinMs) -> StartupGate.Attempt<Void> in
            do throws(PostgresError) {
                try await pool.connected(withinMs: withinMs)
                try await pool.script(ServiceSchema.sql)
                return .done(())
            } catch {
                return error.isTransient ? .away(error.sentence) : .refused(error.sentence)
            }
        }
        return pool
    }

    /// Connects to the replicas of a worker; only re-runs use them.
    private static func openReplicas(
        _ node: NodeContext, _ pool: PostgresPool, _ parts: ClosingStack
    ) -> PostgresReplicas? {
        let settings = node.settings.postgres
        guard node.settings.cluster.roles.contains(.worker), !settings.replicas.isEmpty else { return nil }
        let replicas = PostgresReplicas(
            primary: pool, configurations: node.replicaConfigurations, waitMs: settings.replicaWaitMs,
            logger: node.logger)
        replicas.start()
        parts.push("replicas") { _ in await replicas.stop() }
        return replicas
    }

    // MARK: Redis

    private static func openBroker(
        _ node: NodeContext, _ gate: StartupGate, _ parts: ClosingStack
    ) async throws(NodeError) -> any Broker {
        let broker: RedisBroker
        do {
            broker = try RedisBroker(
                try ServiceNode.redisConfiguration(node.settings),
                keys: try node.keys(), name: "freshet-\(node.id)",
                logger: node.logger)
        } catch let error as NodeError {
            throw error
        } catch {
            throw NodeError("Redis: \(error)")
        }
        parts.push("Redis") { _ in await broker.close() }
        let wanted = ClusterMeta(
            shardCount: node.settings.cluster.shardCount, formatVersion: ClusterFormat.version,
            incarnation: RandomIdentity.uuid())
        let (stored, living) = try await gate.until("Redis") { withinMs in
            await attempt(broker, withinMs: withinMs) { () async throws(BrokerError) -> (ClusterMeta, [String]) in
                let stored = try await broker.meta(initial: wanted)
                if stored.formatVersion == wanted.formatVersion { return (stored, []) }
                let living = try await broker.nodes().map(\.id)
                return (stored, living)
            }
        }
        guard stored.shardCount == wanted.shardCount else {
            throw NodeError(
                "cluster.shardCount is \(wanted.shardCount), but the cluster was created with \(stored.shardCount)")
        }
        switch ClusterFormat.start(stored: stored.formatVersion, living: living) {
        case .join: break
        case .raise:
            _ = try await gate.until("Redis") { withinMs in
                await attempt(broker, withinMs: withinMs) { () async throws(BrokerError) in
                    try await broker.raiseFormat(from: stored.formatVersion, to: wanted.formatVersion)
                }
            }
            node.logger.notice(
                "the cluster's format was raised",
                metadata: ["from": "\(stored.formatVersion)", "to": "\(wanted.formatVersion)"])
        case .refuse(let reason): throw NodeError(reason)
        }
        return broker
    }

    /// Makes a call as soon as the broker is connected.
    /// - Returns: `refused` for errors that waiting does not cure.
    static func attempt<Value: Sendable>(
        _ broker: any Broker, withinMs: Int, _ call: () async throws(BrokerError) -> Value
    ) async -> StartupGate.Attempt<Value> {
        // A call would wait for a connection until its deadline, even for one that can never succeed.
        let deadline = Deadline(afterMs: withinMs)
        while true {
            let state = broker.state
            if state.isMisconfigured { return .refused(state.lastConnectError) }
            if state.connected { break }
            if deadline.isReached || Task.isCancelled { return .away(state.lastConnectError) }
            try? await Task.sleep(for: .milliseconds(10))
        }
        do throws(BrokerError) {
            return .done(try await call())
        } catch {
            return error.isTransient ? .away("\(error)") : .refused("\(error)")
        }
    }
}

extension NodeContext {
    /// The connections to the primary that run clients' requests and live queries.
    var databaseConnections: Int {
        let postgres = settings.postgres
        let roles = settings.cluster.roles
        var count = 0
        if roles.contains(.worker) { count += postgres.refreshConnections + postgres.slowConnections }
        if !roles.isDisjoint(with: [.api, .gateway]) {
            count += postgres.readConnections + postgres.moderateConnections + postgres.slowConnections
        }
        if roles.contains(.api) { count += postgres.writeConnections + postgres.slowConnections }
        return count
    }

    func postgresConfiguration(_ url: String) -> PostgresConfiguration {
        var configuration = PostgresConfiguration(connectionString: url)
        let roles = settings.cluster.roles
        let slow = settings.postgres.slowConnections
        if roles.contains(.worker) {
            configuration.refreshConnections = settings.postgres.refreshConnections
            configuration.slowRefreshConnections = slow
        } else {
            configuration.refreshConnections = 1
        }
        if roles.contains(.api) || roles.contains(.gateway) {
            configuration.readConnections = settings.postgres.readConnections
            configuration.moderateReadConnections = settings.postgres.moderateConnections
            configuration.slowReadConnections = slow
        }
        if roles.contains(.api) { configuration.slowWriteConnections = slow }
        configuration.slowAfterMs = settings.postgres.slowAfterMs
        configuration.slowTransactionAfterMs = settings.postgres.slowMutationAfterMs
        configuration.slowQueueMax = settings.postgres.slowQueueMax
        configuration.slowQueuePerSourceMax = settings.postgres.slowQueuePerCallerMax
        configuration.writeConnections = roles.contains(.api) ? settings.postgres.writeConnections : 1
        configuration.sessionConnections = settings.postgres.sessionConnections
        configuration.queueMax = settings.postgres.queueMax
        configuration.statementTimeoutMs = settings.postgres.statementTimeoutMs
        configuration.connectTimeoutMs = settings.postgres.connectTimeoutMs
        configuration.reconnectBackoffMinMs = settings.postgres.reconnectMinMs
        configuration.reconnectBackoffMaxMs = settings.postgres.reconnectMaxMs
        configuration.applicationName = "freshet \(id)"
        return configuration
    }
}

extension NodeContext {
    /// One for each replica. Only re-runs use them.
    var replicaConfigurations: [PostgresConfiguration] {
        settings.postgres.replicas.map { url in
            var configuration = postgresConfiguration(url)
            configuration.readConnections = 1
            (configuration.moderateReadConnections, configuration.slowReadConnections) = (0, 0)
            configuration.refreshConnections = 0
            // Re-runs are transactions there, because each is preceded by a check of the replica's position.
            configuration.slowWriteConnections = settings.postgres.slowConnections
            configuration.writeConnections = settings.postgres.replicaConnections
            configuration.sessionConnections = 1
            return configuration
        }
    }
}

extension ServiceNode {
    /// - Throws: `NodeError`, or the error in an address.
    package static func redisConfiguration(_ settings: Settings) throws -> RedisConfiguration {
        guard let url = settings.redis.url else { throw NodeError("redis.url is not set") }
        var configuration = try RedisConfiguration(url: url)
        configuration.commandTimeoutMs = settings.redis.commandTimeoutMs
        configuration.connectTimeoutMs = settings.redis.connectTimeoutMs
        configuration.reconnectMaxMs = settings.redis.reconnectMaxMs
        configuration.queueRequestsMax = settings.redis.queueMax
        let sentinels = try settings.redis.sentinelAddresses.map { address in
            try RedisConfiguration.address(address, defaultPort: 26_379)
        }
        let nodes = try settings.redis.clusterAddresses.map { try RedisConfiguration.address($0) }
        if !sentinels.isEmpty {
            configuration.topology = .sentinel(
                addresses: sentinels, master: settings.redis.sentinelMaster ?? "", user: settings.redis.sentinelUser,
                password: settings.redis.sentinelPassword)
        } else if !nodes.isEmpty {
            configuration.topology = .cluster(addresses: nodes)
        }
        if configuration.tls != nil {
            configuration.tls?.caFile = settings.redis.tlsCaFile
            configuration.tls?.certificateFile = settings.redis.tlsCertificateFile
            configuration.tls?.keyFile = settings.redis.tlsKeyFile
            configuration.tls?.serverName = settings.redis.tlsServerName
            configuration.tls?.isVerified = settings.redis.tlsVerify
        }
        return configuration
    }
}
