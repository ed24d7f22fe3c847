import Broker
package import LiveModel
import Postgres
import RoleMachines

package struct PostgresSection: SettingSection {
    package static let doc = "The database. Connection counts are per node."
    package static let declared = PostgresSection()

    package let url = Setting.optional(
        "postgres.url", secret: true,
        "libpq connection string or URL; of several hosts the one that accepts writes; empty: libpq's PG… variables.")
    package let replicas = Setting.list(
        "postgres.replicas", secret: true,
        "Connection strings (without commas) of streaming replicas on which workers re-run live queries.")
    package let replicaConnections = Setting.int(
        "postgres.replicaConnections", 2, in: 1...64, "Pipelined connections to each replica.")
    package let replicaWaitMs = Setting.duration(
        "postgres.replicaWaitMs", 100, in: 0...minute,
        "How long a re-run waits for a replica to catch up with its events before it goes to the primary.")
    package let readConnections = Setting.int(
        "postgres.readConnections", 2, in: 1...64,
        "Pipelined connections for clients' short queries; a node with neither api nor gateway role has one.")
    package let refreshConnections = Setting.int(
        "postgres.refreshConnections", 2, in: 1...64,
        "Pipelined connections for re-runs and housekeeping; a node without the worker role has one.")
    package let moderateConnections = Setting.int(
        "postgres.moderateConnections", 3, in: 0...64,
        "Connections for clients' queries that take 10 ms up to slowAfterMs; 0, or slowConnections 0: pipelined.")
    package let slowConnections = Setting.int(
        "postgres.slowConnections", 2, in: 0...64,
        "Connections for slow queries, as many for slow re-runs and for slow mutations, by the node's roles; 0: none.")
    package let slowAfterMs = Setting.duration(
        "postgres.slowAfterMs", Parts.postgres.slowAfterMs, in: 1...hour,
        "Running time after which a query that others wait for, or a re-run, moves to a slow connection.")
    package let slowMutationAfterMs = Setting.duration(
        "postgres.slowMutationAfterMs", Parts.postgres.slowTransactionAfterMs, in: 1...hour,
        "Running time after which a mutation that others wait for moves; longer, because it may wait for a lock.")
    package let slowQueueMax = Setting.int(
        "postgres.slowQueueMax", Parts.postgres.slowQueueMax, in: 1...100_000,
        "Slow statements waiting, per kind; more are refused.")
    package let slowQueuePerCallerMax = Setting.int(
        "postgres.slowQueuePerCallerMax", Parts.postgres.slowQueuePerSourceMax, in: 1...100_000,
        "Slow statements of one user waiting, twice as many of one address; more are refused.")
    package let writeConnections = Setting.int(
        "postgres.writeConnections", Parts.postgres.writeConnections, in: 1...256,
        "Connections for mutations, one transaction each at a time. A node without the api role has one.")
    package let sessionConnections = Setting.int(
        "postgres.sessionConnections", Parts.postgres.sessionConnections, in: 1...64,
        "Connections for mutations in steps, and for migrations.")
    package let queueMax = Setting.int(
        "postgres.queueMax", Parts.postgres.queueMax, in: 1...1_000_000,
        "Statements waiting per pool; more are refused.")
    package let statementTimeoutMs = Setting.duration(
        "postgres.statementTimeoutMs", Parts.postgres.statementTimeoutMs, in: 10...hour,
        "Timeout of one statement; bounds the wait for its turn and, separately, its execution.")
    package let connectTimeoutMs = Setting.duration(
        "postgres.connectTimeoutMs", Parts.postgres.connectTimeoutMs, in: 100...10 * minute, "Timeout of connecting.")
    package let reconnectMinMs = Setting.duration(
        "postgres.reconnectMinMs", Parts.postgres.reconnectBackoffMinMs, in: 1...minute,
        "First pause before reconnecting; doubles each time.")
    package let reconnectMaxMs = Setting.duration(
        "postgres.reconnectMaxMs", Parts.postgres.reconnectBackoffMaxMs, in: 10...10 * minute,
        "Longest pause before reconnecting.")
}

package struct RedisSection: SettingSection {
    package static let doc = "The broker. Stream lengths are per stream and approximate."
    package static let declared = RedisSection()

    package let url = Setting.optional(
        "redis.url", standard: "redis://127.0.0.1:6379", dev: "", secret: true,
        "redis[s]://[user:password@]host[:port][/database] or unix:///path; empty under dev: a private server.")
    package let sentinelAddresses = Setting.list(
        "redis.sentinel.addresses",
        "host:port of the sentinels that monitor the master; redis.url then gives login, database and TLS only.")
    package let sentinelMaster = Setting.optional(
        "redis.sentinel.master", "Name under which the sentinels monitor the master.")
    package let sentinelUser = Setting.optional("redis.sentinel.user", "ACL user for the sentinels.")
    package let sentinelPassword = Setting.optional(
        "redis.sentinel.password", secret: true, "Password for the sentinels; empty: they require none.")
    package let clusterAddresses = Setting.list(
        "redis.cluster.addresses",
        "host:port of some nodes of a Redis Cluster; redis.url then gives login and TLS only.")
    package let tlsCaFile = Setting.optional(
        "redis.tls.caFile", "PEM file of the authorities trusted for rediss://; empty: the system's.")
    package let tlsCertificateFile = Setting.optional(
        "redis.tls.certificateFile", "PEM file of the client certificate that this node presents.")
    package let tlsKeyFile = Setting.optional(
        "redis.tls.keyFile", "PEM file of the key of redis.tls.certificateFile.")
    package let tlsServerName = Setting.optional(
        "redis.tls.serverName", "Name in the server's certificate; empty: the host of its address.")
    package let tlsVerify = Setting.bool(
        "redis.tls.verify", true, "false: the server's certificate is not verified; never in production.")
    package let connectTimeoutMs = Setting.duration(
        "redis.connectTimeoutMs", Parts.redis.connectTimeoutMs, in: 10...minute, "Timeout of connecting to one server.")
    package let reconnectMaxMs = Setting.duration(
        "redis.reconnectMaxMs", Parts.redis.reconnectMaxMs, in: 20...minute, "Longest pause before reconnecting.")
    package let commandTimeoutMs = Setting.duration(
        "redis.commandTimeoutMs", Parts.redis.commandTimeoutMs, in: 10...10 * minute, "Timeout of one command.")
    package let queueMax = Setting.int(
        "redis.queueMax", Parts.redis.queueRequestsMax, in: 1...10_000_000, "Commands waiting; more are refused.")
    package let eventsLengthMax = Setting.int(
        "redis.eventsLengthMax", 100_000, in: 100...100_000_000, "Entries kept of a shard's mutation events.")
    package let eventsAgeMaxMs = Setting.duration(
        "redis.eventsAgeMaxMs", Parts.worker.eventsAgeMaxMs, in: 1000...168 * hour,
        "Age up to which mutation events are kept.")
    package let controlLengthMax = Setting.int(
        "redis.controlLengthMax", 100_000, in: 100...100_000_000, "Entries kept of a shard's control stream.")
    package let inboxLengthMax = Setting.int(
        "redis.inboxLengthMax", Parts.worker.inboxLengthMax, in: 100...100_000_000,
        "Entries kept of a gateway's inbox.")
}

package struct OutboxSection: SettingSection {
    package static let doc = "The events of mutations between their commit and the streams."
    package static let declared = OutboxSection()

    package let kind = Setting.choice(
        "outbox.kind", OutboxKind.table,
        "Where mutations leave their events: table, or wal for the database's log alone.")
    package let sweepMs = Setting.duration(
        "outbox.sweepMs", Parts.sweeper.sweepMs, in: 10...10 * minute,
        "Interval at which left-over rows are looked for.")
    package let sweepAgeMs = Setting.duration(
        "outbox.sweepAgeMs", Parts.sweeper.sweepAgeMs, in: 10...10 * minute,
        "Age from which a row counts as left over.")
    package let batchMax = Setting.int(
        "outbox.batchMax", Parts.sweeper.batchMax, in: 1...100_000, "Rows published or deleted in one statement.")
    package let deleteBatchMs = Setting.duration(
        "outbox.deleteBatchMs", Parts.publisher.deleteBatchMs, in: 0...minute,
        "How long published rows are gathered before deletion.")
    package let rowsMax = Setting.int(
        "outbox.rowsMax", Parts.sweeper.rowsMax, in: 100...1_000_000_000,
        "Rows past which the oldest are folded into one that refreshes everything.")
    package let alarmRows = Setting.int(
        "outbox.alarmRows", Parts.sweeper.alarmRows, in: 1...1_000_000_000,
        "Waiting rows from which an error is logged.")
    package let alarmAgeMs = Setting.duration(
        "outbox.alarmAgeMs", Parts.sweeper.alarmAgeMs, in: 100...hour,
        "Age of a waiting row from which an error is logged.")
}

package struct TailerSection: SettingSection {
    package static let doc =
        "Reading of the write-ahead log, for source: wal or both in refresh.yaml, and for outbox.kind: wal."
    package static let declared = TailerSection()

    package let slot = Setting.optional(
        "tailer.slot", "Name of the replication slot, the same on all nodes; empty: freshet_DATABASE_NAMESPACE.")
    package let standbyMs = Setting.duration(
        "tailer.standbyMs", Parts.tailer.standbyMs, in: 50...minute,
        "How often a node asks whether the slot is free while another one reads it.")
    package let silenceMs = Setting.duration(
        "tailer.silenceMs", Parts.tailer.silenceMs, in: 2000...hour,
        "Silence of the node that reads, as the database sees it, after which another one takes over.")
    package let serverSilenceMs = Setting.duration(
        "tailer.serverSilenceMs", Parts.stream.silenceMs, in: 2000...hour,
        "Silence of the database after which the reader connects again.")
    package let retryMaxMs = Setting.duration(
        "tailer.retryMaxMs", Parts.tailer.retryMaxMs, in: 100...10 * minute,
        "Longest pause before the log is read again after a failure.")
    package let loadingMaxMs = Setting.duration(
        "tailer.loadingMaxMs", Parts.tailer.loadingMaxMs, in: 500...10 * minute,
        "Time in which the reader must have loaded a new deployment before it leaves the slot to others.")
    package let appendRetryMaxMs = Setting.duration(
        "tailer.appendRetryMaxMs", Parts.tailer.appendRetryMaxMs, in: 20...minute,
        "Longest pause before events are appended again that Redis refused.")
    package let appendingMaxMs = Setting.duration(
        "tailer.appendingMaxMs", Parts.tailer.appendingMaxMs, in: 500...10 * minute,
        "Time in which the reader must have appended events before it leaves the slot to others.")
    package let inspectMs = Setting.duration(
        "tailer.inspectMs", Parts.tailer.inspectMs, in: 100...hour,
        "How often the reader looks at its slot and publications.")
    package let confirmMs = Setting.duration(
        "tailer.confirmMs", Parts.tailer.confirmMs, in: 10...minute,
        "How often the database is told what it need not keep.")
    package let idleConfirmMs = Setting.duration(
        "tailer.idleConfirmMs", Parts.tailer.idleConfirmMs, in: 10...hour, "The same while nothing is published.")
    package let batchMax = Setting.int(
        "tailer.batchMax", Parts.tailer.batchMax, in: 1...100_000, "Transactions published together.")
    package let queueMax = Setting.int(
        "tailer.queueMax", Parts.tailer.queueMax, in: 1...10_000_000,
        "Transactions waiting for publication, past which the rest stays in the database.")
    package let queuedChangesMax = Setting.int(
        "tailer.queuedChangesMax", Parts.tailer.queuedChangesMax, in: 256...100_000_000,
        "Changes of rows waiting for publication, past which the rest stays in the database.")
    package let queuedBytesMax = Setting.bytes(
        "tailer.queuedBytesMax", Parts.tailer.queuedBytesMax, in: 1 << 16...1 << 40,
        "Bytes of mutations' events waiting for publication, past which the rest stays in the database.")
}
