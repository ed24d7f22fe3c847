import Clocks
import Foundation
package import LocalServers
import NIOHTTP1
import ProtocolClients

/// The processes of `freshet cluster`: a private Postgres and Redis, the nodes, and the proxy. `stop` ends the started
/// ones in the reverse order.
package actor ClusterProcesses {
    /// The time that a node may take from its start until it is ready.
    static let readyMs: Int64 = 60_000

    package nonisolated let folder: String
    private nonisolated let report: @Sendable (String) -> Void
    private(set) var postgres: LocalPostgres?
    private(set) var redis: LocalRedis?
    package private(set) var nodes: [SupervisedProgram] = []
    private(set) var proxy: SupervisedProgram?
    private var keepers: [ServerSupervisor] = []

    /// - Parameter report: receives a line when a process ends or restarts.
    package init(folder: String, report: @escaping @Sendable (String) -> Void) {
        self.folder = folder
        self.report = report
    }

    func startServers() async throws(LocalServerError) -> (postgresURL: String, redisURL: String) {
        let postgres = try await LocalPostgres.start(dataDirectory: folder + "/postgres")
        self.postgres = postgres
        let redis = try await LocalRedis.start(dataDirectory: folder + "/redis")
        self.redis = redis
        keepers = SupervisedServers.keep(postgres, redis, report: report)
        return (postgres.connectionString, redis.url)
    }

    /// - Parameter settingsFile: the file's text, which can contain secrets.
    func startNode(_ name: String, project: String, settingsFile: String) async throws {
        let path = "\(folder)/\(name).yaml"
        try write(settingsFile, to: path)
        nodes.append(
            try await SupervisedProgram.start(
                .init(
                    name: name, program: Self.freshet, arguments: ["serve", project, "--config", path],
                    // The runtime's backtracer would keep a crashed node's ports open.
                    environment: ["SWIFT_BACKTRACE": "enable=no"], logPath: "\(folder)/\(name).log"),
                onEnd: reportEnd))
    }

    func startProxy(_ program: String, _ text: String) async throws {
        let path = folder + "/haproxy.cfg"
        try write(text, to: path)
        proxy = try await SupervisedProgram.start(
            .init(
                name: "haproxy", program: program, arguments: ["-db", "-f", path], logPath: folder + "/haproxy.log"),
            onEnd: reportEnd)
    }

    /// Returns when `address` answers `path` with 200.
    nonisolated func awaitReady(_ program: SupervisedProgram, _ address: ServerAddress, path: String) async throws {
        let deadline = Deadline(afterMs: Self.readyMs)
        while !deadline.isReached {
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

    package func stop() async {
        // Stop nodes first, while the servers that they need for an orderly end still run.
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

    private nonisolated var reportEnd: @Sendable (SupervisedProgram, String) -> Void {
        { [report] program, exit in
            report(
                "\(program.command.name) ended (\(exit)); it is started again in "
                    + "\(SupervisedProgram.restartAfterMs / 1_000) s; its log is \(program.command.logPath)")
        }
    }

    /// The path of this program's executable.
    private static var freshet: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    }
}
