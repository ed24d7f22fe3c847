import FoundationEssentials
import Glibc
import LocalServers
import NIOHTTP1
import ProtocolClients
import Settings

/// The servers that the comparison measures, each started for one measurement with its default settings on a free port
/// of 127.0.0.1, in a temporary folder, and stopped afterwards.
struct PeerServers: Sendable {
    private static let startSeconds = 60.0
    private static let stopMs = 15_000

    /// Postgres and Redis of Freshet.
    let servers: PrivateServers
    /// Redis of nchan.
    let nchanRedis: LocalRedis
    let folder: String
    let freshet: String
    let bare: (port: Int, process: Int32)

    /// Runs `body` with Postgres, two Redis and the folder of a project with the operations of the comparison.
    static func with<T: Sendable>(
        project: String, _ clients: PeerClients, _ body: (PeerServers) async throws -> T
    ) async throws -> T {
        let files = FileManager.default
        let folder = files.currentDirectoryPath + "/.freshet/peers-\(getpid())-\(UInt16.random(in: .min ... .max))"
        try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? files.removeItem(atPath: folder) }
        try files.copyItem(atPath: project, toPath: folder + "/project")
        try write(PeerOperations.text, to: folder + "/project/connector/peers.gql")
        let freshet = try Programs.find("freshet", package: "freshet", folder: ownFolder())
        let bare = (Int(clients.barePort), clients.bareProcess)
        return try await PrivateServers.with(project: folder + "/project") { servers in
            let redis = try await LocalRedis.start(dataDirectory: folder + "/nchan-redis")
            let outcome: Result<T, any Error>
            do {
                outcome = .success(
                    try await body(
                        PeerServers(servers: servers, nchanRedis: redis, folder: folder, freshet: freshet, bare: bare)))
            } catch {
                outcome = .failure(error)
            }
            await redis.stop()
            return try outcome.get()
        }
    }

    func with<T>(_ contender: Contender, _ body: (RunningPeer) async throws -> T) async throws -> T {
        guard contender != .bareC else {
            return try await body(RunningPeer(contender: .bareC, port: bare.port, process: bare.process))
        }
        let ports = Addresses.freeLoopbackPorts(2)
        guard ports.count == 2 else { throw BenchmarkFailure("no free port on 127.0.0.1") }
        let (command, check) = try command(contender, port: ports[0], secondPort: ports[1])
        let program = try await SupervisedProgram.start(command) { _, _ in }
        var outcome: Result<T, any Error>
        do {
            try await awaitReady(program, ServerAddress(host: "127.0.0.1", port: check.port), check.path)
            guard let process = program.processID else { throw BenchmarkFailure("\(command.name) ended") }
            var peer = RunningPeer(contender: contender, port: ports[0], process: process)
            if contender == .freshet, let postgres = servers.postgres.processID, let redis = servers.redis.processID {
                peer.helpers = [("Postgres", postgres), ("Redis", redis)]
            }
            if contender == .nchanRedis, let redis = nchanRedis.processID { peer.helpers = [("Redis", redis)] }
            outcome = .success(try await body(peer))
            // A server that was restarted meanwhile was not measured.
            if program.processID != process {
                outcome = .failure(
                    BenchmarkFailure("\(command.name) ended: \(program.logTail.joined(separator: "\n"))"))
            }
        } catch {
            outcome = .failure(error)
        }
        await program.stop(waitMs: Self.stopMs)
        return try outcome.get()
    }

    private func command(
        _ contender: Contender, port: Int, secondPort: Int
    ) throws -> (SupervisedProgram.Command, check: (port: Int, path: String)) {
        let log = folder + "/\(contender).log"
        switch contender {
        case .freshet:
            let command = SupervisedProgram.Command(
                name: "freshet", program: freshet, arguments: ["serve", folder + "/project"],
                environment: [
                    "FRESHET_POSTGRES_URL": servers.postgres.connectionString, "FRESHET_REDIS_URL": servers.redis.url,
                    "FRESHET_HTTP_PORT": "\(port)", "FRESHET_ADMIN_PORT": "\(secondPort)",
                ], logPath: log)
            return (command, (port, "/readyz"))
        case .nchan, .nchanRedis:
            let configuration = NginxConfiguration(
                port: port, folder: folder, redisURL: contender == .nchanRedis ? nchanRedis.url : nil)
            try Self.write(configuration.text, to: folder + "/nginx.conf")
            let command = SupervisedProgram.Command(
                name: "nginx", program: try Programs.find("nginx", package: "nginx-light"),
                arguments: ["-p", folder, "-c", folder + "/nginx.conf", "-e", log], logPath: log,
                parentDeathSignal: "TERM")
            return (command, (port, "/ready"))
        case .nats:
            let command = SupervisedProgram.Command(
                name: "nats-server", program: try Programs.find("nats-server", package: "nats-server"),
                arguments: ["-a", "127.0.0.1", "-p", "\(port)", "-m", "\(secondPort)"], logPath: log)
            return (command, (secondPort, "/healthz"))
        case .bareC:
            preconditionFailure("the C loop runs already")
        }
    }

    private func awaitReady(_ program: SupervisedProgram, _ address: ServerAddress, _ path: String) async throws {
        let deadline = Clock.now + Self.startSeconds
        while true {
            if let answer = try? await HTTPCall.send(.GET, address, path: path, timeoutMs: 2_000),
                (200...299).contains(answer.status)
            {
                return
            }
            guard Clock.now < deadline else {
                throw BenchmarkFailure(
                    "\(program.command.name) is not ready: \(program.logTail.joined(separator: "\n"))")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private static func ownFolder() -> String {
        let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }

    private static func write(_ text: String, to path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8)) else {
            throw BenchmarkFailure("cannot write \(path)")
        }
    }
}
