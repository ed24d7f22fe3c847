import Clocks
import Streams
import CHiredis
import Glibc

/// One connection. Any socket failure ends it; make another one then.
///
/// `@unchecked Sendable`: one thread owns it at a time, its creator or the one that borrowed it (`CommandInbox`).
final class RedisConnection: @unchecked Sendable {
    /// The connection or the handshake failed; `reason` is for operators and free of secrets.
    struct Failure: Error {
        let reason: String
        /// Whether retrying is useless until a setting is changed, here or on the server.
        var isFinal = false
    }

    /// The kind of server that the handshake requires.
    enum Purpose {
        /// A primary outside a cluster, with its data loaded.
        case primary
        /// A primary of a cluster, with its data loaded.
        case clusterPrimary
        /// Any node of a cluster, replicas included: it knows the slot map.
        case clusterNode
        case sentinel
    }

    let endpoint: RedisConfiguration.Endpoint
    private let context: UnsafeMutablePointer<redisContext>
    /// The server's id of this client, for `CLIENT UNBLOCK`.
    private(set) var clientID = 0
    /// Identifies the server process and its role by run id and replication id: the first changes when the process
    /// restarts, the second when a replica becomes a primary.
    private(set) var serverID = ""
    /// Whether `serverID` is known. False: the user lacks permission for `INFO`, and `serverID` differs for each
    /// connection.
    private(set) var isIdentified = false

    /// Connects, authenticates, selects the database, and checks that the server fits `purpose`.
    init(
        _ configuration: RedisConfiguration, at endpoint: RedisConfiguration.Endpoint, for purpose: Purpose = .primary,
        name: String
    ) throws(Failure) {
        self.endpoint = endpoint
        let connectTimeout = timeval(ms: configuration.connectTimeoutMs)
        let made: UnsafeMutablePointer<redisContext>?
        switch endpoint {
        case .tcp(let host, let port):
            if let tls = configuration.tls {
                made = redisConnectFd(
                    try TLSTunnel.open(host: host, port: port, tls, timeoutMs: configuration.connectTimeoutMs))
            } else {
                made = redisConnectWithTimeout(host, Int32(clamping: port), connectTimeout)
            }
        case .unixSocket(let path): made = redisConnectUnixWithTimeout(path, connectTimeout)
        }
        guard let context = made else { throw Failure(reason: "no memory") }
        self.context = context
        guard context.pointee.err == 0 else { throw failure() }
        if case .tcp = endpoint, configuration.tls == nil { redisEnableKeepAlive(context) }
        redisSetTimeout(context, timeval(ms: configuration.commandTimeoutMs))
        _ = fcntl(context.pointee.fd, F_SETFD, FD_CLOEXEC)
        try shakeHands(configuration, purpose, name: name)
    }

    deinit { redisFree(context) }

    var fd: Int32 { context.pointee.fd }

    /// Whether a reply has arrived or the server has closed the connection.
    var isReadable: Bool {
        var polled = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
        return poll(&polled, 1, 0) != 0
    }

    func write(_ bytes: [UInt8]) throws(Failure) {
        let status = bytes.withUnsafeBytes { raw in
            redisAppendFormattedCommand(context, raw.bindMemory(to: CChar.self).baseAddress, raw.count)
        }
        guard status == REDIS_OK else { throw failure() }
    }

    /// Sends everything written so far.
    func flush() throws(Failure) {
        var done: Int32 = 0
        repeat {
            guard redisBufferWrite(context, &done) == REDIS_OK else { throw failure() }
        } while done == 0
    }

    /// Waits for the next reply, at most the command timeout, and decodes it before it is freed.
    func reply<Value, Thrown: Error>(
        _ decode: (UnsafePointer<redisReply>) throws(Thrown) -> Value
    ) throws(Failure) -> Result<Value, Thrown> {
        var raw: UnsafeMutableRawPointer?
        guard redisGetReply(context, &raw) == REDIS_OK, let raw else { throw failure() }
        defer { freeReplyObject(raw) }
        let reply = UnsafePointer(raw.assumingMemoryBound(to: redisReply.self))
        do throws(Thrown) {
            return .success(try decode(reply))
        } catch {
            return .failure(error)
        }
    }

    func reply() throws(Failure) -> RedisValue {
        switch try reply({ (raw: UnsafePointer<redisReply>) throws(Never) in RedisValue(raw) }) {
        case .success(let value): return value
        }
    }

    /// Sends the commands and reads one reply for each.
    func call(_ commands: CommandBuffer) throws(Failure) -> [RedisValue] {
        try write(commands.bytes)
        var values: [RedisValue] = []
        for _ in 0..<commands.commands { values.append(try reply()) }
        return values
    }

    // MARK: Handshake

    private func shakeHands(
        _ configuration: RedisConfiguration, _ purpose: Purpose, name: String
    ) throws(Failure) {
        var login = (user: configuration.user, password: configuration.password)
        if case .sentinel = purpose, case .sentinel(_, _, let user, let password) = configuration.topology {
            login = (user, password)
        }
        var hello = ["HELLO", "2"]
        if let password = login.password { hello += ["AUTH", login.user ?? "default", password] }
        var commands = CommandBuffer()
        commands.add(hello + ["SETNAME", name])
        switch purpose {
        case .primary:
            commands.add(["INFO", "server", "replication"])
            commands.add(["SELECT", String(configuration.database)])
            commands.add(["PING"])  // the first of these commands that a loading server refuses
        case .clusterPrimary:
            commands.add(["INFO", "server", "replication"])
            commands.add(["PING"])
        case .clusterNode, .sentinel: break
        }
        let replies = try call(commands)
        for (index, value) in replies.enumerated() {
            // Without permission for INFO every connection counts as another server, which is safe.
            guard case .error(let failure) = value, index != 1 else { continue }
            // Among the rest only PING fails temporarily, while the server is loading; and a full server rejects the
            // first command.
            let isFinal =
                ["WRONGPASS", "NOAUTH", "NOPERM"].contains(failure.word)
                || index < replies.count - 1 && !failure.message.contains("max number of clients")
            throw Failure(reason: failure.word == "ERR" ? failure.message : failure.word, isFinal: isFinal)
        }
        try check(hello: replies[0], purpose)
        clientID = replies[0]["id"]?.integer ?? 0
        guard replies.count > 1 else { return }
        let lines = replies[1].text?.split(whereSeparator: \.isNewline) ?? []
        func field(_ name: String) -> String {
            lines.first { $0.hasPrefix(name) }.map { String($0.dropFirst(name.count)) } ?? ""
        }
        let runID = field("run_id:")
        isIdentified = !runID.isEmpty
        serverID = isIdentified ? "\(runID).\(field("master_replid:"))" : "unknown-\(MonotonicClock.nowNs())"
    }

    private func check(hello: RedisValue, _ purpose: Purpose) throws(Failure) {
        guard let version = hello["version"]?.text, let major = Int(version.prefix { $0 != "." }), major >= 7 else {
            throw Failure(reason: "Redis 7.0 or newer is needed", isFinal: true)
        }
        let mode = hello["mode"]?.text ?? ""
        switch purpose {
        case .primary:
            guard mode != "cluster" else {
                throw Failure(
                    reason: "the server is part of a Redis Cluster: name its nodes in redis.cluster.addresses",
                    isFinal: true)
            }
            guard mode != "sentinel" else {
                throw Failure(
                    reason: "the server is a sentinel: name it in redis.sentinel.addresses", isFinal: true)
            }
            guard hello["role"]?.text == "master" else { throw Failure(reason: "server is a replica") }
        case .clusterPrimary:
            guard mode == "cluster" else {
                throw Failure(reason: "the server is not part of a Redis Cluster", isFinal: true)
            }
            guard hello["role"]?.text == "master" else { throw Failure(reason: "server is a replica") }
        case .clusterNode:
            guard mode == "cluster" else {
                throw Failure(reason: "the server is not part of a Redis Cluster", isFinal: true)
            }
        case .sentinel:
            guard mode == "sentinel" else { throw Failure(reason: "the server is not a sentinel", isFinal: true) }
        }
    }

    private func failure() -> Failure {
        let text = withUnsafeBytes(of: context.pointee.errstr) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return Failure(reason: text.isEmpty ? "connection lost" : text)
    }
}

extension timeval {
    fileprivate init(ms: Int) {
        let ms = max(1, ms)
        self.init(tv_sec: ms / 1000, tv_usec: ms % 1000 * 1000)
    }
}
