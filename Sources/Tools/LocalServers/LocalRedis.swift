import Clocks
import Glibc
import Pacing
import Threads
import Synchronization

/// The options of a private Redis.
package struct LocalRedisOptions: Sendable {
    /// Whether data survive a restart (in an append-only file, synced every second); otherwise nothing is on disk.
    package var isDurable = true
    /// Redis settings (`maxmemory` → `256mb`), which override this file's own.
    package var settings: [String: String] = [:]
    /// The configuration lines (`sentinel monitor …`) of a sentinel, which keeps no data; nil for a server.
    package var sentinelLines: [String]?
    /// Whether to run as a node of a Redis Cluster, which starts alone and without slots.
    package var isClusterNode = false
    /// The folder with `ca.crt`, `server.crt` and `server.key` for TLS. The server then listens only with TLS (and on
    /// the Unix socket), and uses TLS to replicas, sentinels and cluster nodes.
    package var tlsFolder: String?
    /// The time limit for the server's start, including loading its data.
    package var startTimeoutMs = 30_000

    package init() {}

    /// Options for tests: fast, not durable.
    package static var forTests: LocalRedisOptions {
        var options = LocalRedisOptions()
        options.isDurable = false
        return options
    }
}

/// A private Redis in its own folder, which ends with this process, however that ends. It listens on a Unix socket and
/// on a free port of 127.0.0.1.
///
/// The folder holds `data/`, `server.log` and `server.log.1`, `lock`, and `redis.sock` unless its path is too long.
package final class LocalRedis: Sendable {
    package let dataDirectory: String
    package let socketPath: String
    package let host = "127.0.0.1"
    package let port: Int
    /// The port of the cluster bus; 0 without a cluster.
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
        // It was not stopped in order; all writes are in the append-only file, if there is one.
        state.withLock { $0.child?.signal(SIGKILL) }
        removeSocket()
    }

    /// Starts a server on the folder, which is created if it is missing; existing data are kept.
    ///
    /// - Throws: `LocalServerError` with a readable message.
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
            // For each attempt, since a failed one removes its folder.
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

    /// Sends a command, with words separated by spaces, as an operator would.
    /// - Returns: the beginning of the response as sent over the wire, at most 4 KiB; nil if there is none.
    package func command(_ line: String) async -> String? {
        await withCheckedContinuation { continuation in
            let path = socketPath
            let isStarted = startThread(named: "local-redis") {
                continuation.resume(returning: Addresses.exchange(socketPath: path, line + "\r\n"))
            }
            if !isStarted { continuation.resume(returning: nil) }
        }
    }

    /// Suspends the process, like a hanging machine, until `resume`.
    package func freeze() { state.withLock { $0.child?.signal(SIGSTOP) } }
    package func resume() { state.withLock { $0.child?.signal(SIGCONT) } }

    /// The process id while it runs.
    package var processID: Int32? { state.withLock { $0.child.flatMap { $0.exit == nil ? $0.processID : nil } } }

    /// Returns when the server has ended, for whatever reason.
    package func waitForExit() async {
        let child = state.withLock { $0.child }
        _ = await child?.waitForExit(timeoutMs: nil)
    }

    /// Shuts the server down; kills it after 10 s. Can be called again.
    package func stop() async {
        let child = state.withLock { state in
            defer { state.child = nil }
            return state.child
        }
        await child?.end([(SIGTERM, 10_000)])
        removeSocket()
        state.withLock { $0.lock = nil }
    }

    /// Kills the server (SIGKILL). `restart()` starts it again, without its data unless they are durable.
    package func crash() async {
        let child = state.withLock { $0.child }
        await child?.end([(SIGKILL, 5_000)])
    }

    /// Starts the server again at the same addresses, after `crash()` or after it ended by itself.
    package func restart() async throws(LocalServerError) { try await restart(environment: [:]) }

    /// Starts the server again with these environment variables, which apply until the next start.
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
        // A socket file left by a crash would block clients, and Redis removes it only if it can.
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
        // Passed as options, because Redis takes the first plain argument for a file name.
        let arguments = settings.sorted { $0.key < $1.key }.flatMap { ["--" + $0, $1] }
        return ChildProcess.Command(
            program: program, arguments: arguments, runAs: nil, logPath: logPath, workingFolder: dataDirectory,
            parentDeathSignal: options.isDurable ? "TERM" : "KILL",
            environment: state.withLock { $0.environment })
    }

    /// Returns the command of a sentinel, which stores its state in its configuration file and so needs one.
    private func sentinelCommand(_ lines: [String]) throws(LocalServerError) -> ChildProcess.Command {
        let path = dataDirectory + "/sentinel.conf"
        if !Files.exists(path) {
            try Files.write(path, lines.joined(separator: "\n") + "\n", mode: 0o600)
        }
        return ChildProcess.Command(
            program: program, arguments: [path, "--sentinel"], runAs: nil, logPath: logPath,
            workingFolder: dataDirectory, parentDeathSignal: "KILL")
    }

    private func awaitReady(_ child: ChildProcess) async throws(LocalServerError) {
        let deadline = Deadline(afterMs: options.startTimeoutMs)
        try await child.awaitReady("Redis", log: logPath, until: deadline, timeoutMs: options.startTimeoutMs) {
            () async throws(LocalServerError) in
            await isReady()
        }
    }

    /// Whether the server is ready; while it loads its data it responds with `-LOADING`.
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
