import CHiredis
import Glibc

/// One connection, confined to the thread that made it. Any failure of the socket ends it: drop it, make another.
final class RedisConnection {
    /// The connection or the handshake failed; `reason` is for operators and free of secrets.
    struct Failure: Error {
        let reason: String
    }

    private let context: UnsafeMutablePointer<redisContext>
    /// The server's number for this client, for `CLIENT UNBLOCK`.
    private(set) var clientID = 0
    /// Names the server process; another one after a restart or failover.
    private(set) var serverRunID = ""
    private(set) var serverStartedMs: UInt64 = 0
    private(set) var bytesWritten = 0

    /// Connects, authenticates, selects the database, and makes sure that this is a primary with its data loaded.
    init(_ configuration: RedisConfiguration, name: String) throws(Failure) {
        let connectTimeout = timeval(ms: configuration.connectTimeoutMs)
        let made =
            switch configuration.endpoint {
            case .tcp(let host, let port): redisConnectWithTimeout(host, Int32(clamping: port), connectTimeout)
            case .unixSocket(let path): redisConnectUnixWithTimeout(path, connectTimeout)
            }
        guard let context = made else { throw Failure(reason: "no memory") }
        self.context = context
        guard context.pointee.err == 0 else { throw failure() }
        if case .tcp = configuration.endpoint { redisEnableKeepAlive(context) }
        redisSetTimeout(context, timeval(ms: configuration.commandTimeoutMs))
        _ = fcntl(context.pointee.fd, F_SETFD, FD_CLOEXEC)
        try shakeHands(configuration, name: name)
    }

    deinit { redisFree(context) }

    var fd: Int32 { context.pointee.fd }

    func write(_ bytes: [UInt8]) throws(Failure) {
        let status = bytes.withUnsafeBytes { raw in
            redisAppendFormattedCommand(context, raw.bindMemory(to: CChar.self).baseAddress, raw.count)
        }
        guard status == REDIS_OK else { throw failure() }
        bytesWritten += bytes.count
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

    /// Writes, sends, and reads one reply for each command.
    func call(_ commands: CommandBuffer) throws(Failure) -> [RedisValue] {
        try write(commands.bytes)
        var values: [RedisValue] = []
        for _ in 0..<commands.commands { values.append(try reply()) }
        return values
    }

    private func shakeHands(_ configuration: RedisConfiguration, name: String) throws(Failure) {
        var hello = ["HELLO", "2"]
        if let password = configuration.password {
            hello += ["AUTH", configuration.user ?? "default", password]
        }
        var commands = CommandBuffer()
        commands.add(hello + ["SETNAME", name])
        commands.add(["INFO", "server"])
        commands.add(["SELECT", String(configuration.database)])
        commands.add(["PING"])  // the first of these that a loading server refuses
        let replies = try call(commands)
        for (index, value) in replies.enumerated() {
            // Without permission for INFO every connection counts as another server: doubt, not silence.
            if case .error(let failure) = value, index != 1 { throw Failure(reason: failure.word) }
        }
        guard let version = replies[0]["version"]?.text, let major = Int(version.prefix { $0 != "." }), major >= 7
        else {
            throw Failure(reason: "Redis 7.0 or newer is needed")
        }
        guard replies[0]["role"]?.text == "master" else { throw Failure(reason: "server is a replica") }
        clientID = replies[0]["id"]?.integer ?? 0
        let runID = replies[1].text?.split(whereSeparator: \.isNewline).first { $0.hasPrefix("run_id:") }
        serverRunID = runID.map { String($0.dropFirst(7)) } ?? "unknown-\(monotonicNs())"
        func number(_ name: String) -> UInt64? {
            replies[1].text?.split(whereSeparator: \.isNewline).first { $0.hasPrefix(name) }
                .flatMap { UInt64($0.dropFirst(name.count)) }
        }
        if let nowUs = number("server_time_usec:"), let upS = number("uptime_in_seconds:"), nowUs / 1_000 > upS * 1_000
        {
            serverStartedMs = nowUs / 1_000 - upS * 1_000
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
