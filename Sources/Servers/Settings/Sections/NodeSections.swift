/// The sections. What each setting means, its unit, range and default: `SettingTable`.
extension Settings {
    package struct Cluster: Sendable, Hashable {
        package var namespace: String
        /// Nil when empty.
        package var nodeId: String?
        package var shardCount: Int
        package var roles: Set<Role>
        /// Nil when empty.
        package var advertiseAddress: String?
        package var heartbeatMs: Int
        package var nodeTtlMs: Int
        package var leaseTtlMs: Int
        package var leaseRenewMs: Int
        package var awaitFormerOwners: Bool
        /// 0: no bound.
        package var startWaitMs: Int
        /// 0: never.
        package var unreadyAfterMs: Int

        init(_ values: SettingValues) {
            namespace = values.string("cluster.namespace")
            nodeId = values.text("cluster.nodeId")
            shardCount = values.int("cluster.shardCount")
            roles = Set(values.list("cluster.roles").compactMap(Role.init(rawValue:)))
            advertiseAddress = values.text("cluster.advertiseAddress")
            heartbeatMs = values.int("cluster.heartbeatMs")
            nodeTtlMs = values.int("cluster.nodeTtlMs")
            leaseTtlMs = values.int("cluster.leaseTtlMs")
            leaseRenewMs = values.int("cluster.leaseRenewMs")
            awaitFormerOwners = values.bool("cluster.awaitFormerOwners")
            startWaitMs = values.int("cluster.startWaitMs")
            unreadyAfterMs = values.int("cluster.unreadyAfterMs")
        }
    }

    package struct HTTP: Sendable, Hashable {
        package var host: String
        package var port: Int
        package var eventLoops: Int
        package var connectionsMax: Int
        package var bodyBytesMax: Int
        package var bodiesBytesMax: Int
        package var headerBytesMax: Int
        package var pipelinedMax: Int
        package var idleTimeoutMs: Int
        package var headerTimeoutMs: Int
        package var writeStallTimeoutMs: Int
        package var corsOrigins: [String]
        package var trustedProxies: [String]
        package var grpcCallsMax: Int
        package var grpcIdleTimeoutMs: Int
        /// Nil when empty.
        package var tlsCertificateFile: String?
        /// Nil when empty.
        package var tlsKeyFile: String?
        package var tlsPollMs: Int

        /// What addresses of the port begin with.
        package var scheme: String { tlsCertificateFile == nil ? "http" : "https" }

        init(_ values: SettingValues) {
            host = values.string("http.host")
            port = values.int("http.port")
            eventLoops = values.int("http.eventLoops")
            connectionsMax = values.int("http.connectionsMax")
            bodyBytesMax = values.int("http.bodyBytesMax")
            bodiesBytesMax = values.int("http.bodiesBytesMax")
            headerBytesMax = values.int("http.headerBytesMax")
            pipelinedMax = values.int("http.pipelinedMax")
            idleTimeoutMs = values.int("http.idleTimeoutMs")
            headerTimeoutMs = values.int("http.headerTimeoutMs")
            writeStallTimeoutMs = values.int("http.writeStallTimeoutMs")
            corsOrigins = values.list("http.corsOrigins")
            trustedProxies = values.list("http.trustedProxies")
            grpcCallsMax = values.int("http.grpc.callsMax")
            grpcIdleTimeoutMs = values.int("http.grpc.idleTimeoutMs")
            tlsCertificateFile = values.text("http.tls.certificateFile")
            tlsKeyFile = values.text("http.tls.keyFile")
            tlsPollMs = values.int("http.tls.pollMs")
        }
    }

    package struct Postgres: Sendable, Hashable {
        /// Nil when empty.
        package var url: String?
        package var replicas: [String]
        package var replicaConnections: Int
        package var replicaWaitMs: Int
        package var readConnections: Int
        package var writeConnections: Int
        package var sessionConnections: Int
        package var queueMax: Int
        package var statementTimeoutMs: Int
        package var connectTimeoutMs: Int
        package var reconnectMinMs: Int
        package var reconnectMaxMs: Int

        init(_ values: SettingValues) {
            url = values.text("postgres.url")
            replicas = values.list("postgres.replicas")
            replicaConnections = values.int("postgres.replicaConnections")
            replicaWaitMs = values.int("postgres.replicaWaitMs")
            readConnections = values.int("postgres.readConnections")
            writeConnections = values.int("postgres.writeConnections")
            sessionConnections = values.int("postgres.sessionConnections")
            queueMax = values.int("postgres.queueMax")
            statementTimeoutMs = values.int("postgres.statementTimeoutMs")
            connectTimeoutMs = values.int("postgres.connectTimeoutMs")
            reconnectMinMs = values.int("postgres.reconnectMinMs")
            reconnectMaxMs = values.int("postgres.reconnectMaxMs")
        }
    }

    package struct Redis: Sendable, Hashable {
        /// Nil when empty.
        package var url: String?
        package var connectTimeoutMs: Int
        package var commandTimeoutMs: Int
        package var reconnectMaxMs: Int
        package var queueMax: Int
        package var eventsLengthMax: Int
        package var eventsAgeMaxMs: Int
        package var controlLengthMax: Int
        package var inboxLengthMax: Int
        package var sentinelAddresses: [String]
        /// Nil when empty.
        package var sentinelMaster: String?
        /// Nil when empty.
        package var sentinelUser: String?
        /// Nil when empty.
        package var sentinelPassword: String?
        package var clusterAddresses: [String]
        /// Nil when empty.
        package var tlsCaFile: String?
        /// Nil when empty.
        package var tlsCertificateFile: String?
        /// Nil when empty.
        package var tlsKeyFile: String?
        /// Nil when empty.
        package var tlsServerName: String?
        package var tlsVerify: Bool

        init(_ values: SettingValues) {
            url = values.text("redis.url")
            connectTimeoutMs = values.int("redis.connectTimeoutMs")
            reconnectMaxMs = values.int("redis.reconnectMaxMs")
            sentinelAddresses = values.list("redis.sentinel.addresses")
            sentinelMaster = values.text("redis.sentinel.master")
            sentinelUser = values.text("redis.sentinel.user")
            sentinelPassword = values.text("redis.sentinel.password")
            clusterAddresses = values.list("redis.cluster.addresses")
            tlsCaFile = values.text("redis.tls.caFile")
            tlsCertificateFile = values.text("redis.tls.certificateFile")
            tlsKeyFile = values.text("redis.tls.keyFile")
            tlsServerName = values.text("redis.tls.serverName")
            tlsVerify = values.bool("redis.tls.verify")
            commandTimeoutMs = values.int("redis.commandTimeoutMs")
            queueMax = values.int("redis.queueMax")
            eventsLengthMax = values.int("redis.eventsLengthMax")
            eventsAgeMaxMs = values.int("redis.eventsAgeMaxMs")
            controlLengthMax = values.int("redis.controlLengthMax")
            inboxLengthMax = values.int("redis.inboxLengthMax")
        }
    }

    package struct Admin: Sendable, Hashable {
        package var host: String
        package var port: Int
        /// Nil when empty.
        package var token: String?

        init(_ values: SettingValues) {
            host = values.string("admin.host")
            port = values.int("admin.port")
            token = values.text("admin.token")
        }
    }

    package struct Log: Sendable, Hashable {
        package enum Format: String, Sendable, CaseIterable {
            case text, json
        }

        package var level: String
        package var format: Format

        init(_ values: SettingValues) {
            level = values.string("log.level")
            format = values.choice("log.format")
        }
    }

    package struct Dev: Sendable, Hashable {
        package var dataDirectory: String

        init(_ values: SettingValues) {
            dataDirectory = values.string("dev.dataDirectory")
        }
    }

    package struct Limits: Sendable, Hashable {
        package var variablesDepthMax: Int
        package var variablesBytesMax: Int

        init(_ values: SettingValues) {
            variablesDepthMax = values.int("limits.variablesDepthMax")
            variablesBytesMax = values.int("limits.variablesBytesMax")
        }
    }
}
