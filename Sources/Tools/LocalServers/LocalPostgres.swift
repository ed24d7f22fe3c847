import Clocks
import Glibc
import Pacing
import Synchronization

/// The options of a private Postgres.
package struct LocalPostgresOptions: Sendable {
    /// Whether commits wait for the disk. Otherwise data survive a crash of the server, as after `crash()`, but a power
    /// cut can destroy them; that is for tests.
    package var isDurable = true
    /// Whether to listen on 127.0.0.1 in addition to the Unix socket; a password is then required and part of the
    /// connection string.
    package var listensOnLoopback = false
    /// The database, created if it is missing.
    package var databaseName = "freshet"
    /// The primary (connection string) whose data are copied and which this server follows as a streaming replica until
    /// `promote`.
    package var primary: String?
    /// Settings passed as `-c name=value`; they override this file's own.
    package var settings: [String: String] = [:]
    /// The folder of `postgres` and `initdb`; nil selects the newest version installed.
    package var programFolder: String?
    /// The time limit for `initdb` and for the server's start, each; includes recovery after a crash.
    package var startTimeoutMs = 60_000

    package init() {}

    /// Options for tests: fast, not durable.
    package static var forTests: LocalPostgresOptions {
        var options = LocalPostgresOptions()
        options.isDurable = false
        options.startTimeoutMs = 120_000
        return options
    }
}

/// A private Postgres in its own folder, which ends with this process, however that ends.
///
/// The folder holds `cluster/` (Postgres' own), `server.log` and `server.log.1` (this run and the one before), `lock`,
/// `password`, and `socket/` unless its path is too long for a socket.
package final class LocalPostgres: Sendable {
    package static let user = "freshet"
    private static let unixPort = 5432

    package let dataDirectory: String
    /// The folder of the Unix socket, for libpq's `host`.
    package let socketDirectory: String
    /// The loopback port, if any.
    package let port: Int?
    package let databaseName: String
    let options: LocalPostgresOptions
    private let layout: PostgresFolder
    private let isSocketFolderTemporary: Bool
    private let password: String
    private let state: Mutex<State>

    private struct State {
        var child: ChildProcess?
        var lock: FolderLock?
    }

    private init(
        _ layout: PostgresFolder, _ options: LocalPostgresOptions, lock: FolderLock, socketDirectory: String,
        isSocketFolderTemporary: Bool, password: String, port: Int?
    ) {
        dataDirectory = layout.root
        self.layout = layout
        self.options = options
        databaseName = options.databaseName
        self.socketDirectory = socketDirectory
        self.isSocketFolderTemporary = isSocketFolderTemporary
        self.password = password
        self.port = port
        state = Mutex(State(child: nil, lock: lock))
    }

    deinit {
        // It was not stopped in order, so end it at once.
        state.withLock { $0.child?.signal(SIGQUIT) }
        removeSocketFolder()
    }

    /// Starts a server on the folder, which is created and initialised if it is new; existing data are kept.
    ///
    /// - Throws: `LocalServerError` with a readable message.
    package static func start(
        dataDirectory: String, options: LocalPostgresOptions = LocalPostgresOptions()
    ) async throws(LocalServerError) -> LocalPostgres {
        try Files.makeFolder(dataDirectory, mode: 0o755)
        let root = try Files.absolute(dataDirectory)
        let lock = try FolderLock(folder: root, program: "Postgres")
        let layout = try PostgresFolder(root: root, programFolder: options.programFolder)
        try await layout.initialise(options)
        try await layout.awaitEndOfPreviousServer()

        for attempt in 1... {
            // For each attempt, since a failed one removes its folder.
            let (socketDirectory, isTemporary) = try layout.makeSocketFolder()
            let port = options.listensOnLoopback ? Addresses.freeLoopbackPort() : nil
            let server = LocalPostgres(
                layout, options, lock: lock, socketDirectory: socketDirectory, isSocketFolderTemporary: isTemporary,
                password: Files.read(layout.password) ?? "", port: port)
            do {
                try await server.launch()
                return server
            } catch {
                let isPortTaken = error.logTail.contains { $0.contains("Address already in use") }
                guard port != nil, isPortTaken, attempt < 5 else { throw error }
            }
        }
        throw LocalServerError(.startFailed, "no free port")
    }

    /// The connection string for the Unix socket, in libpq's `key=value` form.
    package var connectionString: String {
        connectionString(database: databaseName)
    }

    package func connectionString(database: String) -> String {
        "host=\(Self.quoted(socketDirectory)) port=\(port ?? Self.unixPort) user=\(Self.user) "
            + "dbname=\(Self.quoted(database))"
    }

    /// The connection string for 127.0.0.1; nil without `listensOnLoopback`.
    package var loopbackConnectionString: String? {
        port.map {
            "host=127.0.0.1 port=\($0) user=\(Self.user) password=\(password) dbname=\(Self.quoted(databaseName))"
        }
    }

    package var logPath: String { layout.log }
    /// The postmaster's process id while it runs.
    package var processID: Int32? { state.withLock { $0.child.flatMap { $0.exit == nil ? $0.processID : nil } } }

    /// Returns when the server has ended, for whatever reason.
    package func waitForExit() async {
        let child = state.withLock { $0.child }
        _ = await child?.waitForExit(timeoutMs: nil)
    }

    /// Stops the server with a fast shutdown, which rolls back open transactions and flushes data; after 20 s it is
    /// ended immediately. Can be called again.
    package func stop() async {
        let child = state.withLock { state in
            defer { state.child = nil }
            return state.child
        }
        await child?.end([(SIGINT, 20_000), (SIGQUIT, 5_000)])
        removeSocketFolder()
        state.withLock { $0.lock = nil }
    }

    /// Kills the server (SIGKILL), which looks to clients like a crash of the machine. `restart()` starts it again.
    package func crash() async {
        let child = state.withLock { $0.child }
        await child?.end([(SIGKILL, 5_000)])
    }

    /// Starts the server again at the same address, after `crash()` or after it ended by itself.
    package func restart() async throws(LocalServerError) {
        let (child, isHeld) = state.withLock { ($0.child, $0.lock != nil) }
        guard isHeld else { throw LocalServerError(.stopped, "the private Postgres was stopped") }
        await child?.end([(SIGINT, 20_000), (SIGQUIT, 5_000)])
        try await launch()
    }

    private func removeSocketFolder() {
        guard isSocketFolderTemporary else { return }
        layout.clearSocketFolder(socketDirectory)
        Files.removeFolder(socketDirectory)
    }

    // MARK: launching

    private func launch() async throws(LocalServerError) {
        let deadline = Deadline(afterMs: options.startTimeoutMs)
        while true {
            Files.rotateLog(layout.log)
            try layout.clearForeignProcessID()
            layout.clearSocketFolder(socketDirectory)
            let child = try await ChildProcess.start(command)
            state.withLock { $0.child = child }
            do {
                return try await awaitReady(child, until: deadline)
            } catch {
                await child.end([(SIGQUIT, 5_000)])
                // Backends of a killed server can survive for a moment and hold its shared memory.
                let mustWait = error.logTail.contains { $0.contains("pre-existing shared memory block") }
                guard mustWait, !deadline.isReached else { throw error }
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    private var command: ChildProcess.Command {
        var settings = [
            "listen_addresses": port == nil ? "" : "127.0.0.1",
            // A node has up to 26 connections, and `freshet cluster` runs seven nodes.
            "max_connections": "300",
            "port": String(port ?? Self.unixPort),
            "unix_socket_directories": socketDirectory,
            "unix_socket_permissions": "0700",
            "logging_collector": "off",
            "log_destination": "stderr",
            "cluster_name": "freshet",
            // For projects whose queries refresh by the log (`refresh.yaml`, `source`).
            "wal_level": "logical",
        ]
        if !options.isDurable {
            for name in ["fsync", "full_page_writes"] { settings[name] = "off" }
            settings["shared_buffers"] = "32MB"
        }
        settings.merge(options.settings) { $1 }
        let arguments = ["-D", layout.cluster] + settings.sorted { $0.key < $1.key }.flatMap { ["-c", "\($0)=\($1)"] }
        return layout.command(layout.postgres, arguments, parentDeathSignal: "INT")
    }

    private func awaitReady(_ child: ChildProcess, until deadline: Deadline) async throws(LocalServerError) {
        try await child.awaitReady("Postgres", log: layout.log, until: deadline, timeoutMs: options.startTimeoutMs) {
            () async throws(LocalServerError) in
            switch await PostgresProbe.prepareDatabase(connectionString(database: "postgres"), name: databaseName) {
            case .ready: return true
            case .notYet: return false
            case .refused(let reason):
                throw LocalServerError(.startFailed, reason, logTail: Files.tail(layout.log))
            }
        }
    }

    /// Promotes a replica to primary; returns when it accepts writes.
    package func promote() async throws(LocalServerError) {
        guard try await layout.promote(options) else {
            throw LocalServerError(.startFailed, "the replica was not promoted; its log is \(layout.log)")
        }
    }

    /// Suspends all its processes, like a hanging machine, until `resume`.
    package func freeze() { state.withLock { $0.child }?.signalFamily(SIGSTOP, parentFirst: true) }
    package func resume() { state.withLock { $0.child }?.signalFamily(SIGCONT, parentFirst: false) }

    private static func quoted(_ value: String) -> String {
        "'" + value.reduce(into: "") { $0 += ($1 == "'" || $1 == "\\") ? "\\\($1)" : String($1) } + "'"
    }
}
