/// Every setting there is, in the order in which they are documented. Parsing, checks, `freshet config --print` and
/// `config/freshet.yaml` all come from here; the struct `Settings` reads from here and a test compares the two.
package enum SettingTable {
    package static let keys: [SettingKey] =
        cluster + http + postgres + redis + worker + gateway + api + outbox + auth + admin + drain + deploy + migrate
        + resolvers + embeddings
        + log + dev
        + limits

    package static let byPath: [String: SettingKey] = Dictionary(
        keys.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })

    /// Sections in their order, each with the sentence that stands above it.
    package static let sections: [(name: String, doc: String)] = [
        ("cluster", "Who this node is and how nodes find each other; the same on all nodes but for nodeId and roles."),
        ("http", "The port that clients talk to."),
        ("postgres", "The database. Every connection count is per node."),
        ("redis", "The broker. Stream lengths are per stream and approximate."),
        ("worker", "How live queries are run again."),
        ("gateway", "What sessions and subscriptions may take."),
        ("api", "Queries and mutations."),
        ("outbox", "How mutation events whose publication was interrupted are published after all."),
        ("auth", "How bearer tokens are verified."),
        ("admin", "Health, metrics and the admin page."),
        ("drain", "How a node leaves on SIGTERM. Whoever ends it must allow the sum of the three, and some seconds."),
        ("deploy", "How a version of the project gives way to the next one; the same on all nodes."),
        ("migrate", "How `freshet migrate --concurrently` gives way to writers."),
        ("resolvers", "Requests to custom resolvers; where they are and their time-outs say dataconnect.yaml."),
        ("embeddings", "The server that makes vectors of texts, for `_embed` and `compare_embed`."),
        ("log", "What is written to standard error."),
        ("dev", "Only for `freshet dev`."),
        ("limits", "What a single request may carry."),
    ]

    static let roles = ["api", "worker", "gateway", "admin"]
    static let logLevels = ["trace", "debug", "info", "notice", "warning", "error", "critical"]
}

private let kib = 1024
private let mib = 1024 * 1024
private let minute = 60_000
private let hour = 3_600_000

extension SettingTable {
    private static let cluster: [SettingKey] = [
        .string("cluster.namespace", "fr", "Prefix of every Redis key: letters, digits, - and _, at most 32."),
        .string("cluster.nodeId", "", "Name of this node, unique in the cluster; empty: generated at each start."),
        .int("cluster.shardCount", 64, in: 1...4096, "Shards of the namespace; fixed by the first node that starts."),
        .list("cluster.roles", roles, choices: roles, "Roles that this node plays."),
        .string(
            "cluster.advertiseAddress", "", "host:port under which others reach this node; empty: http.host and port."),
        .duration("cluster.heartbeatMs", 1000, in: 50...minute, "Interval at which a node renews its entry."),
        .duration("cluster.nodeTtlMs", 5000, in: 200...10 * minute, "Age at which a silent node counts as gone."),
        .duration("cluster.leaseTtlMs", 5000, in: 200...10 * minute, "Age at which a shard's lease ends by itself."),
        .duration("cluster.leaseRenewMs", 1000, in: 50...minute, "Interval at which a worker renews its leases."),
        .bool(
            "cluster.awaitFormerOwners", true, dev: false,
            "Let a shard rest for one lease when Redis forgot its owner; false where one worker runs."),
        .duration(
            "cluster.startWaitMs", 0, in: 0...24 * 60 * minute,
            "Time for which a node that starts waits for Postgres and Redis to answer; 0: as long as it takes."),
        .duration(
            "cluster.unreadyAfterMs", 30_000, in: 0...24 * 60 * minute,
            "Time after which a node is not ready because Postgres or Redis, as its roles need, is away; 0: never."),
    ]

    private static let http: [SettingKey] = [
        .string("http.host", "127.0.0.1", "Address to listen on; 0.0.0.0 or :: for all."),
        .int("http.port", 9399, in: 0...65_535, "Port to listen on; 0: the system chooses."),
        .int("http.eventLoops", 0, in: 0...256, "Threads for connections; 0: one per core."),
        .int("http.connectionsMax", 20_000, in: 1...1_000_000, "Open connections; further ones are refused."),
        .bytes("http.bodyBytesMax", 4 * mib, in: kib...256 * mib, "Size of a request's body."),
        .bytes(
            "http.bodiesBytesMax", 256 * mib, in: mib...1024 * 1024 * mib,
            "Bodies until they are answered and messages still arriving, of all together; who finds no room is told to come back."
        ),
        .bytes("http.headerBytesMax", 32 * kib, in: kib...mib, "Size of a request's head."),
        .int(
            "http.pipelinedMax", 256, in: 1...100_000,
            "Requests of one HTTP/1.1 connection that wait for those before them; more end it."),
        .duration("http.idleTimeoutMs", 75_000, in: 100...hour, "Silence after which a kept connection is closed."),
        .duration("http.headerTimeoutMs", 10_000, in: 100...10 * minute, "Time in which a request's head must arrive."),
        .duration(
            "http.writeStallTimeoutMs", 30_000, in: 100...hour,
            "Time after which a client that takes nothing of what waits for it is cut off; over gRPC its call alone."),
        .list("http.corsOrigins", ["*"], "Origins of web pages that may call; * for all, none at all if empty."),
        .list(
            "http.trustedProxies", [],
            "Addresses or networks (10.0.0.0/8) of proxies whose X-Forwarded-For names the client's address."),
        .int("http.grpc.callsMax", 128, in: 1...1_000_000, "Calls of one gRPC connection at a time."),
        .duration(
            "http.grpc.idleTimeoutMs", 5 * minute, in: 100...24 * hour,
            "Time after which a gRPC connection without calls is told to go."),
        .string(
            "http.tls.certificateFile", "",
            "PEM file of the port's certificate and those above it; empty: no TLS. Read again when it changes."),
        .string("http.tls.keyFile", "", "PEM file of the key of http.tls.certificateFile."),
        .duration("http.tls.pollMs", minute, in: 50...24 * hour, "Interval at which both files are looked at."),
    ]

    private static let postgres: [SettingKey] = [
        .string(
            "postgres.url", "", secret: true,
            "libpq connection string or URL; several hosts: the one that takes writes; empty: libpq's PG… variables."
        ),
        .list(
            "postgres.replicas", [], secret: true,
            "Connection strings (without commas) of streaming replicas, on which workers run live queries again."),
        .int("postgres.replicaConnections", 2, in: 1...64, "Pipelined connections to each replica."),
        .duration(
            "postgres.replicaWaitMs", 100, in: 0...minute,
            "Time for which a re-run waits for a replica to have every event; then the primary runs it."),
        .int("postgres.readConnections", 1, in: 1...64, "Pipelined connections for queries and re-runs."),
        .int(
            "postgres.writeConnections", 12, in: 1...256,
            "Connections for mutations, one transaction each at a time. A node without the api role has one."),
        .int("postgres.sessionConnections", 4, in: 1...64, "Connections for slow statements and housekeeping."),
        .int("postgres.queueMax", 4096, in: 1...1_000_000, "Statements waiting per pool; more are refused."),
        .duration("postgres.statementTimeoutMs", 15_000, in: 10...hour, "Time limit of one statement."),
        .duration("postgres.connectTimeoutMs", 5000, in: 100...10 * minute, "Time limit of connecting."),
        .duration(
            "postgres.reconnectMinMs", 100, in: 1...minute, "First pause before reconnecting; doubles each time."),
        .duration("postgres.reconnectMaxMs", 5000, in: 10...10 * minute, "Longest pause before reconnecting."),
    ]

    private static let redis: [SettingKey] = [
        .string(
            "redis.url", "redis://127.0.0.1:6379", dev: "", secret: true,
            "redis[s]://[user:password@]host[:port][/database] or unix:///path; empty under dev: a private server."),
        .list(
            "redis.sentinel.addresses", [],
            "host:port of the sentinels that know the master; redis.url then gives login, database and TLS only."),
        .string("redis.sentinel.master", "", "Name under which the sentinels know the master."),
        .string("redis.sentinel.user", "", "ACL user at the sentinels."),
        .string("redis.sentinel.password", "", secret: true, "Password at the sentinels; empty: they ask for none."),
        .list(
            "redis.cluster.addresses", [],
            "host:port of some nodes of a Redis Cluster; redis.url then gives login and TLS only."),
        .string("redis.tls.caFile", "", "PEM file of the authorities to trust with rediss://; empty: the system's."),
        .string("redis.tls.certificateFile", "", "PEM file of this node's own certificate, shown to the server."),
        .string("redis.tls.keyFile", "", "PEM file of the key of redis.tls.certificateFile."),
        .string(
            "redis.tls.serverName", "", "Name that the server's certificate carries; empty: the host of its address."),
        .bool("redis.tls.verify", true, "false: any server is believed; never in production."),
        .duration("redis.connectTimeoutMs", 1000, in: 10...minute, "Time limit of connecting to one server."),
        .duration("redis.reconnectMaxMs", 1000, in: 20...minute, "Longest pause before reconnecting."),
        .duration("redis.commandTimeoutMs", 2000, in: 10...10 * minute, "Time limit of one command."),
        .int("redis.queueMax", 65_536, in: 1...10_000_000, "Commands waiting; more are refused."),
        .int("redis.eventsLengthMax", 100_000, in: 100...100_000_000, "Entries kept of a shard's mutation events."),
        .duration("redis.eventsAgeMaxMs", hour, in: 1000...168 * hour, "Age to which mutation events are kept."),
        .int("redis.controlLengthMax", 100_000, in: 100...100_000_000, "Entries kept of a shard's control stream."),
        .int("redis.inboxLengthMax", 100_000, in: 100...100_000_000, "Entries kept of a gateway's inbox."),
    ]

    private static let worker: [SettingKey] = [
        .duration("worker.coalesceGapMs", 20, in: 0...minute, "Least gap between two runs of one live query."),
        .int("worker.runsMax", 8, in: 1...1024, "Statements in flight for re-runs."),
        .int(
            "worker.remoteRunsMax", 4, in: 1...1024,
            "Besides those: runs in flight of queries that wait for custom resolvers or the embedding server."),
        .int("worker.batchMax", 256, in: 1...10_000, "Live queries in one multiplexed statement."),
        .int("worker.liveQueriesMax", 1_000_000, in: 1...100_000_000, "Live queries on this node; more are refused."),
        .duration("worker.checkpointMs", 1000, in: 10...10 * minute, "Interval at which stream positions are stored."),
        .duration("worker.everyMinimumMs", 10_000, dev: 1000, in: 10...hour, "Shortest interval of an `every` rule."),
        .int(
            "worker.pacedRunsPerSecond", 5000, in: 1...10_000_000,
            "Re-runs per second that no event caused: after a take-over, a move or a loss of events."),
        .int(
            "worker.pacedStatementsMax", 2, in: 1...1024,
            "Statements in flight for such re-runs, apart for those that count for remoteRunsMax."),
        .int(
            "worker.historyMax", 1024, in: 1...100_000,
            "Events of each shard that are remembered, to judge whether what a gateway holds is still the result."),
        .bytes(
            "worker.historyBytesMax", 4 * mib, in: kib...4096 * mib, "Of those of one shard, as its stream has them."),
        .int(
            "worker.replayMax", 8192, in: 0...10_000_000,
            "Older events read from a shard's stream to judge what many live queries hold from before; then they run."),
    ]

    private static let gateway: [SettingKey] = [
        .int("gateway.sessionsMax", 20_000, in: 1...1_000_000, "Sessions on this node; more are refused."),
        .int(
            "gateway.acceptPerSecond", 1000, in: 0...1_000_000,
            "New sessions per second on this node; more are told when to come back. 0: any number."),
        .int("gateway.acceptBurst", 2000, in: 1...1_000_000, "New sessions that may come at once before that counts."),
        .int("gateway.subscriptionsPerSessionMax", 100, in: 1...100_000, "Subscriptions of one session."),
        .int(
            "gateway.sessionsPerUserMax", 1000, in: 0...1_000_000, "Sessions of one user on this node; 0: any number."),
        .int(
            "gateway.sessionsPerAddressMax", 0, in: 0...1_000_000,
            "Sessions of one address on this node; 0: any number. Behind a proxy set http.trustedProxies first."),
        .int(
            "gateway.subscriptionsPerUserMax", 10_000, in: 0...10_000_000,
            "Subscriptions of one user on this node; 0: any number."),
        .int(
            "gateway.subscriptionsPerAddressMax", 0, in: 0...10_000_000,
            "Subscriptions of one address on this node; 0: any number."),
        .int("gateway.liveQueriesMax", 200_000, in: 1...10_000_000, "Distinct live queries on this node."),
        .bytes(
            "gateway.sessionBytesMax", mib, in: kib...kib * mib,
            "Pending output past which a session is closed; bounds messages that wait for a token's verdict too."),
        .bytes("gateway.resultBytesMax", 8 * mib, in: kib...256 * mib, "Size of one result."),
        .bytes("gateway.webSocketFrameBytesMax", mib, in: kib...64 * mib, "Size of a WebSocket message from a client."),
        .duration(
            "gateway.initTimeoutMs", 10_000, in: 10...10 * minute, "Time in which a session must introduce itself."),
        .duration("gateway.pingIntervalMs", 25_000, in: 100...hour, "Interval of pings to an open session."),
        .duration("gateway.pongTimeoutMs", 10_000, in: 100...hour, "Time in which a ping must be answered."),
        .duration(
            "gateway.keepAliveMs", 15_000, in: 100...4 * minute,
            "Interval of a protocol's own signs of life: ka messages, comments of event streams, empty multipart parts."
        ),
        .duration(
            "gateway.idleTimeoutMs", hour, in: 0...24 * hour,
            "Time after which a session that follows and runs nothing is closed; 0: never."),
        .duration(
            "gateway.rerunTimeoutMs", 15_000, in: 100...10 * minute,
            "Time after which a client that asked for a run (resume of SQL Connect) is told that it takes too long."),
        .duration("gateway.longPollMaxMs", 60_000, in: 100...10 * minute, "Longest wait that a long-poll may ask for."),
        .bytes(
            "gateway.deltaBytesMax", 16 * mib, in: 0...16 * kib * mib,
            "Results and patches that each event loop keeps for clients that want patches; 0: everybody gets whole ones."
        ),
        .bytes(
            "gateway.deltaResultBytesMax", 256 * kib, in: kib...64 * mib,
            "Size of a result past which it is not compared with the one before it."),
        .duration(
            "gateway.lingerMs", 30_000, in: 0...hour, "Time for which a live query outlives its last subscriber."),
        .duration(
            "gateway.announceRetryMs", 2000, in: 10...10 * minute, "Pause before unanswered interest is repeated."),
        .duration("gateway.summaryMs", 10_000, in: 100...10 * minute, "Interval at which all interest is summarised."),
    ]

    private static let api: [SettingKey] = [
        .int("api.requestsInFlightMax", 1024, in: 1...1_000_000, "Requests being answered; more get a Retry-After."),
        .int("api.requestsPerUserMax", 256, in: 0...1_000_000, "Of these, those of one user; 0: any number."),
        .int("api.requestsPerAddressMax", 0, in: 0...1_000_000, "Of these, those of one address; 0: any number."),
    ]

    private static let outbox: [SettingKey] = [
        .duration("outbox.sweepMs", 1000, in: 10...10 * minute, "Interval at which left-over rows are looked for."),
        .duration("outbox.sweepAgeMs", 2000, in: 10...10 * minute, "Age from which a row counts as left over."),
        .int("outbox.batchMax", 500, in: 1...100_000, "Rows published or deleted in one statement."),
        .duration("outbox.deleteBatchMs", 50, in: 0...minute, "Time for which published rows gather before deletion."),
        .int(
            "outbox.rowsMax", 1_000_000, in: 100...1_000_000_000,
            "Rows past which the oldest are folded into one that refreshes everything."),
        .int("outbox.alarmRows", 10_000, in: 1...1_000_000_000, "Rows waiting that are told as an error."),
        .duration("outbox.alarmAgeMs", 30_000, in: 100...hour, "Age of a waiting row that is told as an error."),
    ]

    private static let auth: [SettingKey] = [
        .string(
            "auth.mode", "none", choices: ["none", "firebase", "jwks", "hs256"],
            "Who signs tokens. none: nobody; firebase: Google for projectId; jwks: a key set; hs256: a shared secret."),
        .string("auth.projectId", "", "Firebase project; sets audience, issuer and jwksUrl unless they are given."),
        .string("auth.audience", "", "Value that the claim aud must have or hold; empty: unchecked."),
        .string("auth.issuer", "", "Value that the claim iss must have; empty: unchecked."),
        .string("auth.jwksFile", "", "File with a JSON Web Key Set; goes before jwksUrl."),
        .string("auth.jwksUrl", "", "https address of a JSON Web Key Set."),
        .duration("auth.jwksRefreshMs", hour, in: 10_000...24 * hour, "Age at which a fetched key set is renewed."),
        .string("auth.hs256Secret", "", secret: true, "Shared secret of HS256, at least 32 bytes."),
        .duration("auth.leewayMs", 5000, in: 0...5 * minute, "Difference of clocks that exp and nbf forgive."),
        .bool(
            "auth.expiryRequired", true, dev: false,
            "Refuse tokens without exp, which would never end; those of Firebase and auth.issuersFile always are."),
        .bool(
            "auth.unsignedAllowed", false, dev: true, devOnly: true,
            "Accept tokens without a signature, as Firebase's Auth emulator makes them."),
        .string(
            "auth.issuersFile", "",
            "File with further issuers, each with issuer, audience or clientId: Cognito and any OpenID provider."),
        .string(
            "auth.apiKeysFile", "", "File with API keys by name; read again when it changes. Empty: none are asked."),
        .bool("auth.apiKeyRequired", false, "Let in nobody who has neither a token nor an API key."),
        .duration("auth.filesPollMs", 2000, in: 50...10 * minute, "Interval at which auth.apiKeysFile is looked at."),
        .int("auth.revocationsMax", 10_000, in: 1...1_000_000, "Revocations of the cluster; one more is refused."),
        .duration(
            "auth.revocationsPollMs", 250, in: 20...minute,
            "Interval at which a node asks Redis whether somebody was revoked."),
    ]

    private static let admin: [SettingKey] = [
        .string("admin.host", "127.0.0.1", "Address of the admin port."),
        .int("admin.port", 9398, in: 0...65_535, "Admin port; 0: the system chooses."),
        .string("admin.token", "", secret: true, "Bearer token of the admin port; needed unless host is loopback."),
    ]

    private static let drain: [SettingKey] = [
        .duration(
            "drain.delayMs", 0, in: 0...10 * minute,
            "Time for which it says not ready but still serves: longer than a load balancer needs to notice."),
        .duration(
            "drain.sessionsMs", 1000, in: 0...10 * minute,
            "Time over which sessions are told to come back elsewhere."),
        .duration("drain.graceMs", 10_000, in: 0...10 * minute, "Time that work in flight may take after that."),
    ]

    private static let resolvers: [SettingKey] = [
        .int("resolvers.inFlightMax", 256, in: 1...100_000, "Requests under way on this node; more are refused."),
        .bytes("resolvers.answerBytesMax", mib, in: kib...64 * mib, "Size of one answer."),
    ]

    private static let embeddings: [SettingKey] = [
        .string(
            "embeddings.url", "",
            "Where /embeddings (format openai) or /models/NAME:predict (vertex) follows; empty: there is no such server."
        ),
        .string(
            "embeddings.format", "openai", choices: ["openai", "vertex"],
            "openai: what Ollama, vLLM, text-embeddings-inference and LiteLLM speak; vertex: Vertex AI."),
        .string("embeddings.token", "", secret: true, "Sent as bearer token; empty: none is sent."),
        .list(
            "embeddings.models", [],
            "What the server calls models that operations call otherwise: textembedding-gecko@003=nomic-embed-text."),
        .duration(
            "embeddings.timeoutMs", 10_000, in: 10...10 * minute,
            "Time in which a text must have its vector: what it waits and all that is asked for it."),
        .int("embeddings.inFlightMax", 4, in: 1...256, "Requests under way on this node; further texts wait."),
        .int(
            "embeddings.waitersMax", 256, in: 1...1_000_000,
            "Requests and re-runs that wait for vectors; more are refused. Less than api.requestsInFlightMax."),
        .int(
            "embeddings.waitingTextsMax", 10_000, in: 1...1_000_000, "Texts that wait on this node; more are refused."),
        .bytes("embeddings.waitingBytesMax", 16 * mib, in: 2 * mib...4096 * mib, "Size of those texts."),
        .bytes("embeddings.answerBytesMax", 16 * mib, in: kib...64 * mib, "Size of one answer."),
        .int("embeddings.textsPerRequestMax", 16, in: 1...2048, "Texts of one request."),
        .bytes("embeddings.textBytesMax", 32 * kib, in: 1...mib, "Size of one text."),
        .int(
            "embeddings.cacheEntriesMax", 10_000, in: 0...1_000_000,
            "Vectors that a node keeps, those used last: more than its live queries have texts."),
        .bytes(
            "embeddings.cacheBytesMax", 64 * mib, in: 0...65_536 * mib,
            "Size of those and their texts; 768 numbers take about 10 KB."),
    ]

    private static let deploy: [SettingKey] = [
        .duration("deploy.pollMs", 2000, in: 50...10 * minute, "Interval at which a node looks for new deployments."),
        .duration(
            "deploy.keepMs", 10 * minute, in: 0...168 * hour,
            "Time for which a former version is served to sessions that began with it."),
        .duration(
            "deploy.moveMs", 30_000, in: 0...hour, "Time over which those sessions are then told to come back."),
        .duration(
            "deploy.lockTimeoutMs", 5000, in: 0...10 * minute,
            "How long `freshet deploy` waits for a table's lock; statements that come meanwhile wait behind it. 0: no limit."
        ),
        .int("deploy.versionsMax", 4, in: 1...64, "Versions that a node serves beside the current one."),
        .int("deploy.historyMax", 20, in: 1...400, "Deployments kept in the database."),
    ]

    private static let migrate: [SettingKey] = [
        .duration(
            "migrate.lockTimeoutMs", 500, in: 10...minute,
            "How long it waits for a table's lock at a time; statements that come meanwhile wait behind it."),
        .duration(
            "migrate.lockPauseMs", 1000, in: 10...minute, "Time between two attempts, in which the others go on."),
        .duration(
            "migrate.lockTotalMs", 10 * minute, in: 0...24 * hour, "Time after which it gives up, for each step."),
        .duration(
            "migrate.waitMs", 10 * minute, in: 0...24 * hour,
            "How long `freshet migrate` and `freshet deploy` wait for the end of another migration."),
    ]

    private static let log: [SettingKey] = [
        .string("log.level", "info", choices: logLevels, "Least level that is written."),
        .string("log.format", "text", choices: ["text", "json"], "Lines for people or JSON lines."),
    ]

    private static let dev: [SettingKey] = [
        .string("dev.dataDirectory", ".freshet", "Folder of the private Postgres and Redis.")
    ]

    private static let limits: [SettingKey] = [
        .int("limits.variablesDepthMax", 32, in: 1...512, "Nesting of variables."),
        .bytes("limits.variablesBytesMax", 256 * kib, in: 64...64 * mib, "Size of variables as canonical JSON."),
    ]
}
