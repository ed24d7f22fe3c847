package import Broker
package import Streams
import Execution
import LiveModel
import Logging
import Postgres
package import Settings

/// How a node reaches Postgres and Redis, from its settings.
extension ServiceNode {
    func openPostgres(_ wait: StartupGate) async throws(NodeError) -> PostgresPool {
        guard let url = settings.postgres.url else { throw NodeError("postgres.url is not set") }
        let configuration = postgresConfiguration(url)
        let pool = PostgresPool(configuration: configuration, logger: logger)
        pool.begin()
        do throws(NodeError) {
            try await wait.until("Postgres") { (withinMs) -> StartupGate.Attempt<Void> in
                do throws(PostgresError) {
                    try await pool.connected(withinMs: withinMs)
                    try await pool.script(ServiceSchema.sql)
                    return .done(())
                } catch {
                    let isAway = error.isRetryable || error.isOutcomeUnknown || error.code == .closed
                    return isAway && !error.isMisconfigured ? .away(error.sentence) : .refused(error.sentence)
                }
            }
        } catch {
            await pool.stop()
            throw error
        }
        return pool
    }

    /// Only a worker runs things again.
    func openReplicas(_ pool: PostgresPool) -> PostgresReplicas? {
        guard settings.cluster.roles.contains(.worker), !settings.postgres.replicas.isEmpty else { return nil }
        let configurations = settings.postgres.replicas.map { url in
            var configuration = postgresConfiguration(url)
            configuration.readConnections = 1
            configuration.writeConnections = settings.postgres.replicaConnections
            configuration.sessionConnections = 1
            return configuration
        }
        let replicas = PostgresReplicas(
            primary: pool, configurations: configurations, waitMs: settings.postgres.replicaWaitMs, logger: logger)
        replicas.start()
        return replicas
    }

    func openBroker(_ wait: StartupGate) async throws(NodeError) -> any Broker {
        do {
            let configuration = try Self.redisConfiguration(settings)
            let broker = try RedisBroker(
                configuration, keys: try Keys(namespace: settings.cluster.namespace), name: "freshet-\(id)",
                logger: logger)
            let wanted = ClusterMeta(
                shardCount: settings.cluster.shardCount, formatVersion: ClusterFormat.version,
                incarnation: RandomIdentity.uuid())
            let stored: ClusterMeta
            do {
                stored = try await wait.until("Redis") { withinMs in
                    await Self.attempt(broker, withinMs: withinMs) { () async throws(BrokerError) in
                        try await broker.meta(initial: wanted)
                    }
                }
            } catch {
                await broker.close()
                throw error
            }
            guard stored.shardCount == wanted.shardCount else {
                await broker.close()
                throw NodeError(
                    "cluster.shardCount is \(wanted.shardCount), but the cluster was made with \(stored.shardCount)")
            }
            guard stored.formatVersion == wanted.formatVersion else {
                await broker.close()
                throw NodeError(
                    "this version speaks format \(wanted.formatVersion), the cluster format \(stored.formatVersion)")
            }
            return broker
        } catch let error as NodeError {
            throw error
        } catch {
            throw NodeError("Redis: \(error)")
        }
    }

    /// - Returns: `refused` for what no waiting mends.
    static func attempt<Value: Sendable>(
        _ broker: any Broker, withinMs: Int, _ call: () async throws(BrokerError) -> Value
    ) async -> StartupGate.Attempt<Value> {
        // A call would wait for a connection until its time is over, also for one that cannot come.
        let deadline = ContinuousClock.now + .milliseconds(withinMs)
        while true {
            let link = broker.state
            if link.isMisconfigured { return .refused(link.lastConnectError) }
            if link.connected { break }
            if ContinuousClock.now >= deadline || Task.isCancelled { return .away(link.lastConnectError) }
            try? await Task.sleep(for: .milliseconds(10))
        }
        do throws(BrokerError) {
            return .done(try await call())
        } catch {
            return error.isTransient ? .away("\(error)") : .refused("\(error)")
        }
    }

    func postgresConfiguration(_ url: String) -> PostgresConfiguration {
        var configuration = PostgresConfiguration(connectionString: url)
        configuration.readConnections = settings.postgres.readConnections
        let isAPI = settings.cluster.roles.contains(.api)
        configuration.writeConnections = isAPI ? settings.postgres.writeConnections : 1
        configuration.sessionConnections = settings.postgres.sessionConnections
        configuration.queueMax = settings.postgres.queueMax
        configuration.statementTimeoutMs = settings.postgres.statementTimeoutMs
        configuration.connectTimeoutMs = settings.postgres.connectTimeoutMs
        configuration.reconnectBackoffMinMs = settings.postgres.reconnectMinMs
        configuration.reconnectBackoffMaxMs = settings.postgres.reconnectMaxMs
        configuration.applicationName = "freshet \(id)"
        return configuration
    }

    /// - Throws: `NodeError`, or what is wrong with an address.
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
