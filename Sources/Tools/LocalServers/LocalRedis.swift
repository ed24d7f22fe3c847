import Glibc
import Pacing
import Threads
import Synchronization

/// How a private Redis is run.
package struct LocalRedisOptions: Sendable {
    /// Keep data over a restart (an append-only file, written through every second). false: nothing on disk.
    package var isDurable = true
    /// Redis' own settings (`maxmemory` → `256mb`), above this file's own.
    package var settings: [String: String] = [:]
    /// Run it as a sentinel with these lines of configuration (`sentinel monitor …`); it then keeps no data.
    package var sentinelLines: [String]?
    /// Run it as a node of a Redis Cluster, which begins alone and without slots.
    package var isClusterNode = false
    /// Listen by TLS only (besides the Unix socket), and speak it to replicas, sentinels and nodes of a cluster: folder
    /// with `ca.crt`, `server.crt` and `server.key`.
    package var tlsFolder: String?
    /// For the server to be ready; loading its data counts.
    package var startTimeoutMs = 30_000

    package init() {}

    /// Quick and forgetful.
    package static var forTests: LocalRedisOptions {
        var options = LocalRedisOptions()
        options.isDurable = false
        return options
    }
}

/// A Redis of our own in a folder of our own, ended with this process whatever happens to it. It listens on a Unix
/// socket and on a free port of 127.0.0.1.
///
/// The folder holds `data/`, `server.log` and `server.log.1`, `lock`, and `redis.sock` unless its path is too long.
package final class LocalRedis: Sendable {
    package let dataDirectory: String
    package let socketPath: String
    package let host = "127.0.0.1"
    package let port: Int
    /// Where nodes of a cluster talk to each other; 0: it is none.
    package let busPort: Int
    let options: LocalRedisOptions
    private let program: String
    private let temporaryFolder: String?
    private let state: Mutex<State>

    private struct State {
        var child: ChildProcess?
        var lock: FolderLock?
        var environment: [String: String] = [:]
    }

    private init(
        root: String, program: String, options: LocalRedisOptions, lock: FolderLock, socketPath: String,
        temporaryFolder: String?, port: Int, busPort: Int
    ) {
        dataDirectory = root
        self.program = program
        self.options = options
        self.socketPath = socketPath
        self.temporaryFolder = temporaryFolder
        self.port = port
        self.busPort = busPort
        state = Mutex(State(child: nil, lock: lock))
    }

    deinit {
        // Not stopped in order: what was written is in the append-only file, if there is one.
        state.withLock { $0.child?.signal(SIGKILL) }
        removeSocket()
    }

    /// Starts a server on the folder, which is made when it is missing; existing data are kept.
    ///
    /// - Throws: one clear line; see `LocalServerError.Code`.
    package static func start(
        dataDirectory: String, options: LocalRedisOptions = LocalRedisOptions()
    ) async throws(LocalServerError) -> LocalRedis {
        let program = try Programs.find("redis-server", package: "redis-server")
        try Files.makeFolder(dataDirectory, mode: 0o700)
        let root = try Files.absolute(dataDirectory)
        let lock = try FolderLock(folder: root, program: "Redis")
        try Files.makeFolder(root + "/data", mode: 0o700)

        let inside = root + "/redis.sock"
        let fits = inside.utf8.count <= Addresses.socketPathBytesMax
        for attempt in 1... {
            // Each attempt's own: a failed one removes what it made.
            let temporaryFolder = fits ? nil : try Files.makeShortFolder()
            guard let port = Addresses.freeLoopbackPort(),
                let busPort = options.isClusterNode ? Addresses.freeLoopbackPort() : 0
            else {
                throw LocalServerError(.startFailed, "no free port on 127.0.0.1")
            }
            let server = LocalRedis(
                root: root, program: program, options: options, lock: lock,
                socketPath: temporaryFolder.map { $0 + "/redis.sock" } ?? inside, temporaryFolder: temporaryFolder,
                port: port, busPort: busPort)
            do {
                try await server.launch()
                return server
            } catch {
                let isPortTaken = error.logTail.contains { $0.contains("Address already in use") }
                guard isPortTaken, attempt < 5 else { throw error }
            }
        }
        throw LocalServerError(.startFailed, "no free port")
    }

    package var url: String { "\(scheme)://\(host):\(port)" }
    package var scheme: String { options.tlsFolder == nil ? "redis" : "rediss" }
    package var logPath: String { dataDirectory + "/server.log" }
    /// `host:port`.
    package var address: String { "\(host):\(port)" }

    /// Sends a command, words separated by blanks, as an operator would.
    /// - Returns: the beginning of the answer as it comes over the wire, at most 4 KiB; nil when there is none.
    package func command(_ line: String) async -> String? {
        await withCheckedContinuation { continuation in
            let path = socketPath
            let isStarted = startThread(named: "local-redis") {
                continuation.resume(returning: Addresses.exchange(socketPath: path, line + "\r\n"))
            }
            if !isStarted { continuation.resume(returning: nil) }
        }
    }

    /// Stops the process in its tracks, as a machine that hangs; `resume` lets it go on.
    package func freeze() { state.withLock { $0.child?.signal(SIGSTOP) } }
    package func resume() { state.withLock { $0.child?.signal(SIGCONT) } }

    /// While it runs.
    package var processID: Int32? { state.withLock { $0.child.flatMap { $0.exit == nil ? $0.processID : nil } } }

    /// Returns when the server has ended, for whatever reason.
    package func waitForExit() async {
        let child = state.withLock { $0.child }
        _ = await child?.waitForExit(timeoutMs: nil)
    }

    /// Orderly shutdown, harder after 10 s. Can be called again.
    package func stop() async {
        let child = state.withLock { state in
            defer { state.child = nil }
            return state.child
        }
        await child?.end([(SIGTERM, 10_000)])
        removeSocket()
        state.withLock { $0.lock = nil }
    }

    /// kill -9. `restart()` brings it back, without its data unless they are durable.
    package func crash() async {
        let child = state.withLock { $0.child }
        await child?.end([(SIGKILL, 5_000)])
    }

    /// Starts the server again at the same addresses, after `crash()` or an end of its own.
    package func restart() async throws(LocalServerError) { try await restart(environment: [:]) }

    /// The same with this in its environment, until it is started again.
    package func restart(environment: [String: String]) async throws(LocalServerError) {
        let (child, isHeld) = state.withLock { state in
            state.environment = environment
            return (state.child, state.lock != nil)
        }
        guard isHeld else { throw LocalServerError(.stopped, "the private Redis was stopped") }
        await child?.end([(SIGTERM, 10_000)])
        try await launch()
    }

    private func launch() async throws(LocalServerError) {
        Files.rotateLog(logPath)
        // A socket file left by a crash would answer nobody, and Redis removes it itself only when it can.
        Files.remove(socketPath)
        let child = try await ChildProcess.start(try command())
        state.withLock { $0.child = child }
        do {
            try await awaitReady(child)
        } catch {
            await child.end([(SIGTERM, 2_000)])
            throw error
        }
    }

    private func command() throws(LocalServerError) -> ChildProcess.Command {
        var settings = [
            "bind": host, "port": String(port), "protected-mode": "yes", "unixsocket": socketPath,
            "unixsocketperm": "700", "daemonize": "no", "dir": dataDirectory + "/data", "save": "",
            "appendonly": options.isDurable ? "yes" : "no", "appendfsync": "everysec",
            "stop-writes-on-bgsave-error": "no",
        ]
        if options.isClusterNode {
            settings["cluster-enabled"] = "yes"
            settings["cluster-port"] = String(busPort)
            settings["cluster-config-file"] = "nodes.conf"
        }
        if let folder = options.tlsFolder {
            settings.merge([
                "port": "0", "tls-port": String(port), "tls-cert-file": folder + "/server.crt",
                "tls-key-file": folder + "/server.key", "tls-ca-cert-file": folder + "/ca.crt",
                "tls-auth-clients": "no", "tls-replication": "yes",
            ]) { $1 }
            if options.isClusterNode { settings["tls-cluster"] = "yes" }
        }
        if let lines = options.sentinelLines {
            for name in ["save", "appendonly", "appendfsync", "stop-writes-on-bgsave-error"] { settings[name] = nil }
            settings.merge(options.settings) { $1 }
            return try sentinelCommand(settings.sorted { $0.key < $1.key }.map { "\($0) \($1)" } + lines)
        }
        settings.merge(options.settings) { $1 }
        // The first argument would be taken for a file's name; an option is not.
        let arguments = settings.sorted { $0.key < $1.key }.flatMap { ["--" + $0, $1] }
        return ChildProcess.Command(
            program: program, arguments: arguments, account: nil, logPath: logPath, workingFolder: dataDirectory,
            parentDeathSignal: options.isDurable ? "TERM" : "KILL",
            environment: state.withLock { $0.environment })
    }

    /// A sentinel keeps its state in its file of settings, and so needs one.
    private func sentinelCommand(_ lines: [String]) throws(LocalServerError) -> ChildProcess.Command {
        let path = dataDirectory + "/sentinel.conf"
        if !Files.exists(path) {
            try Files.write(path, lines.joined(separator: "\n") + "\n", mode: 0o600)
        }
        return ChildProcess.Command(
            program: program, arguments: [path, "--sentinel"], account: nil, logPath: logPath,
            workingFolder: dataDirectory, parentDeathSignal: "KILL")
    }

    private func awaitReady(_ child: ChildProcess) async throws(LocalServerError) {
        let deadline = ContinuousClock.now + .milliseconds(options.startTimeoutMs)
        let pauses = Backoff(minMs: 2, maxMs: 200)
        var attempts = 0
        while true {
            if let exit = child.exit {
                throw LocalServerError(
                    .startFailed, "Redis ended while starting (\(exit)); its log is \(logPath)",
                    logTail: Files.tail(logPath))
            }
            if await isReady() { return }
            guard ContinuousClock.now < deadline, !Task.isCancelled else {
                throw LocalServerError(
                    .startFailed, "Redis is not ready after \(options.startTimeoutMs) ms; its log is \(logPath)",
                    logTail: Files.tail(logPath))
            }
            _ = await child.waitForExit(timeoutMs: Int(pauses.delayMs(after: attempts)))
            attempts += 1
        }
    }

    /// `-LOADING` is an answer too, but not the right one.
    private func isReady() async -> Bool {
        await withCheckedContinuation { continuation in
            let path = socketPath
            let isStarted = startThread(named: "local-redis") {
                let answer = Addresses.exchange(socketPath: path, "PING\r\n")
                continuation.resume(returning: answer?.hasPrefix("+PONG") == true)
            }
            if !isStarted { continuation.resume(returning: false) }
        }
    }

    private func removeSocket() {
        if let temporaryFolder {
            Files.remove(socketPath)
            Files.removeFolder(temporaryFolder)
        }
    }
}
