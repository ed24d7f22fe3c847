package import Broker
internal import Execution
internal import LiveModel
internal import Logging
internal import Postgres
package import Settings

/// How a node reaches Postgres and Redis, from its settings.
extension ServiceNode {
    func openPostgres() async throws(NodeError) -> PostgresPool {
        guard let url = settings.postgres.url else { throw NodeError("postgres.url is not set") }
        let configuration = postgresConfiguration(url)
        let pool = PostgresPool(configuration: configuration, logger: logger)
        do {
            try await pool.start()
            try await pool.script(ServiceSchema.sql)
        } catch {
            await pool.stop()
            throw NodeError("Postgres: \(error) \(error.message)")
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

    func openBroker() async throws(NodeError) -> any Broker {
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
                stored = try await broker.meta(initial: wanted)
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
