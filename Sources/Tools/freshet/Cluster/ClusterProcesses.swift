import Foundation
import FreshetClient
import LocalServers
import NIOHTTP1

/// The processes of `freshet cluster`: a private Postgres and Redis, the nodes, the proxy. What could be started is
/// stopped again, in the opposite order.
actor ClusterProcesses {
    /// From the start of a node until it is ready.
    static let readyMs: Int64 = 60_000

    nonisolated let folder: String
    private(set) var postgres: LocalPostgres?
    private(set) var redis: LocalRedis?
    private(set) var nodes: [SupervisedProgram] = []
    private(set) var proxy: SupervisedProgram?
    private var keepers: [ServerSupervisor] = []

    init(folder: String) {
        self.folder = folder
    }

    func startServers() async throws(LocalServerError) -> (postgresURL: String, redisURL: String) {
        let postgres = try await LocalPostgres.start(dataDirectory: folder + "/postgres")
        self.postgres = postgres
        let redis = try await LocalRedis.start(dataDirectory: folder + "/redis")
        self.redis = redis
        keepers = SupervisedServers.keep(postgres, redis)
        return (postgres.connectionString, redis.url)
    }

    /// - Parameter settingsFile: its text; it can hold secrets.
    func startNode(_ name: String, project: String, settingsFile: String) async throws {
        let path = "\(folder)/\(name).yaml"
        try write(settingsFile, to: path)
        nodes.append(
            try await SupervisedProgram.start(
                .init(
                    name: name, program: Self.freshet, arguments: ["serve", project, "--config", path],
                    // The runtime's backtracer would hold the ports of a node that crashed.
                    environment: ["SWIFT_BACKTRACE": "enable=no"], logPath: "\(folder)/\(name).log"),
                onEnd: Self.report))
    }

    func startProxy(_ program: String, _ text: String) async throws {
        let path = folder + "/haproxy.cfg"
        try write(text, to: path)
        proxy = try await SupervisedProgram.start(
            .init(
                name: "haproxy", program: program, arguments: ["-db", "-f", path], logPath: folder + "/haproxy.log"),
            onEnd: Self.report)
    }

    /// Returns when `address` answers `path` with 200.
    nonisolated func awaitReady(_ program: SupervisedProgram, _ address: ServerAddress, path: String) async throws {
        let deadline = ContinuousClock.now + .milliseconds(Self.readyMs)
        while ContinuousClock.now < deadline {
            if let answer = try? await HTTPCall.send(.GET, address, path: path, timeoutMs: 2_000),
                answer.status == 200
            {
                return
            }
            guard program.processID != nil else { break }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw LocalServerError(
            .startFailed, "\(program.command.name) was not ready; its log is \(program.command.logPath)",
            logTail: program.logTail)
    }

    func stop() async {
        // Nodes first, while everything that they need to leave in order is still there.
        await withTaskGroup { group in
            for node in nodes { group.addTask { await node.stop(waitMs: 15_000) } }
        }
        await proxy?.stop(waitMs: 2_000)
        for keeper in keepers { await keeper.end() }
        await redis?.stop()
        await postgres?.stop()
    }

    private func write(_ text: String, to path: String) throws {
        let isWritten = FileManager.default.createFile(
            atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        guard isWritten else { throw LocalServerError(.dataFolderUnusable, "cannot write \(path)") }
    }

    private static func report(_ program: SupervisedProgram, _ exit: String) {
        Terminal.error(
            "\(program.command.name) ended (\(exit)); it is started again in "
                + "\(SupervisedProgram.restartAfterMs / 1_000) s; its log is \(program.command.logPath)")
    }

    /// This very program, wherever it was found.
    private static var freshet: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    }
}
