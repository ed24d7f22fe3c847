import Clocks
import Foundation
import LocalServers
import NIOHTTP1
import ProtocolClients
import RoleMachines
import Synchronization

/// The processes under test: a private Postgres and Redis, the nodes, each with its own links, and the proxy.
actor ChaosCluster {
    struct Node: Sendable {
        let name: String
        let roles: String
        let port: Int
        let adminPort: Int
        let redis: FaultyLink
        let postgres: FaultyLink
        let clients: FaultyLink
        let process: SupervisedProgram

        /// The address for the proxy and for clients.
        var address: String { "127.0.0.1:\(clients.port)" }
        /// The address that bypasses all links.
        var ownAddress: String { "127.0.0.1:\(port)" }
        var links: [FaultyLink] { [redis, postgres, clients] }

        func link(to peer: Fault.Peer) -> FaultyLink {
            switch peer {
            case .redis: redis
            case .postgres: postgres
            case .clients: clients
            }
        }
    }

    static let names = ["api-1", "api-2", "worker-1", "worker-2", "worker-3", "gateway-1", "gateway-2"]
    /// The duration of leases and node entries, shorter than the product's default (5 s), so that more faults fit in a
    /// run.
    static let leaseMs = 2_000
    /// The number of shards, enough to spread the project's operations over the workers.
    static let shards = 16
    /// The time limit for starts; generous, so that a slow machine does not count as a violated guarantee.
    static let readyMs = 120_000

    nonisolated let folder: String
    nonisolated let project: String
    nonisolated let freshet: String
    private(set) var postgres: LocalPostgres?
    private let outbox: String
    private(set) var redis: LocalRedis?
    private(set) var nodes: [Node] = []
    private(set) var proxyPort = 0
    private var proxy: SupervisedProgram?
    private nonisolated let ends = ProcessEnds()

    /// - Parameter project: its folder, which follows the database's log if the run writes without the service.
    init(_ options: ChaosRun.Options, project: String) {
        folder = options.folder
        self.project = project
        freshet = options.freshet
        outbox = options.outbox
    }

    func start() async throws {
        var options = LocalPostgresOptions()
        options.listensOnLoopback = true
        let postgres = try await LocalPostgres.start(dataDirectory: folder + "/postgres", options: options)
        self.postgres = postgres
        let redis = try await LocalRedis.start(dataDirectory: folder + "/redis")
        self.redis = redis
        try migrate(postgres.connectionString)
        guard let loopback = postgres.loopbackConnectionString, let postgresPort = postgres.port else {
            throw LocalServerError(.startFailed, "Postgres does not listen on 127.0.0.1")
        }
        var ports = Addresses.freeLoopbackPorts(2 * Self.names.count + 2)
        guard ports.count == 2 * Self.names.count + 2 else {
            throw LocalServerError(.startFailed, "no free port on 127.0.0.1")
        }
        for name in Self.names {
            let redisLink = try await FaultyLink.start(to: redis.port)
            let postgresLink = try await FaultyLink.start(to: postgresPort)
            let (port, adminPort) = (ports.removeLast(), ports.removeLast())
            let clientsLink = try await FaultyLink.start(to: port)
            let url = loopback.replacing("port=\(postgresPort) ", with: "port=\(postgresLink.port) ")
            let roles = Self.roles(name)
            let path = "\(folder)/\(name).yaml"
            try write(
                settings(
                    name, roles: roles, port: port, adminPort: adminPort, postgresURL: url, redisPort: redisLink.port),
                to: path)
            let process = try await SupervisedProgram.start(
                .init(
                    name: name, program: freshet, arguments: ["serve", project, "--config", path],
                    environment: ["SWIFT_BACKTRACE": "enable=no"], logPath: "\(folder)/\(name).log")
            ) { [ends] in ends.ended($0.command.name, $1) }
            nodes.append(
                Node(
                    name: name, roles: roles, port: port, adminPort: adminPort, redis: redisLink,
                    postgres: postgresLink, clients: clientsLink, process: process))
        }
        try await startProxy(statsPort: ports.removeLast(), port: ports.removeLast())
        let late = await unready()
        guard late.isEmpty else {
            throw LocalServerError(.startFailed, "not ready: \(late.joined(separator: ", ")); logs are in \(folder)")
        }
        // The proxy checks the nodes periodically, so it may not know yet that they are ready.
        try await awaitProxy("/readyz")
    }

    private func startProxy(statsPort: Int, port: Int) async throws {
        let configuration = HAProxyConfiguration(
            bind: "127.0.0.1:\(port)", statsBind: "127.0.0.1:\(statsPort)",
            api: .listed(nodes.filter { $0.name.hasPrefix("api") }.map { ($0.name, $0.address) }),
            gateways: .listed(nodes.filter { $0.name.hasPrefix("gateway") }.map { ($0.name, $0.address) }),
            checkMs: 400, connectionsMax: 8_000)
        let path = folder + "/haproxy.cfg"
        try write(configuration.text, to: path)
        let program = try Programs.find("haproxy", package: "haproxy")
        proxy = try await SupervisedProgram.start(
            .init(name: "haproxy", program: program, arguments: ["-db", "-f", path], logPath: folder + "/haproxy.log")
        ) { [ends] in ends.ended($0.command.name, $1) }
        proxyPort = port
        try await awaitProxy("/proxy-healthz")
    }

    private func awaitProxy(_ path: String) async throws {
        let address = try ServerAddress("http://127.0.0.1:\(proxyPort)")
        for _ in 0..<Self.readyMs / 50 {
            if let answer = try? await HTTPCall.send(.GET, address, path: path, timeoutMs: 2_000),
                answer.status == 200
            {
                return
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw LocalServerError(.startFailed, "\(path) fails through the proxy; its log is \(folder)/haproxy.log")
    }

    /// The changes that workers' verification found missing, by their logs.
    func changesMissed() -> Int {
        nodes.reduce(0) { count, node in
            let log = (try? String(contentsOfFile: "\(folder)/\(node.name).log", encoding: .utf8)) ?? ""
            return count + log.ranges(of: WorkerMachine.missedChange).count
        }
    }

    func node(_ name: String) -> Node? { nodes.first { $0.name == name } }

    /// Waits until all nodes are ready.
    /// - Returns: the nodes that were not ready in time.
    func unready() async -> [String] {
        var late: [String] = []
        let deadline = Deadline(afterMs: Self.readyMs)
        for node in nodes {
            while await !isReady(node) {
                guard !deadline.isReached, !Task.isCancelled else {
                    late.append(node.name)
                    break
                }
                try? await Task.sleep(for: .milliseconds(50))
            }
        }
        return late
    }

    private nonisolated func isReady(_ node: Node) async -> Bool {
        guard node.process.processID != nil, let address = try? ServerAddress("http://" + node.ownAddress) else {
            return false
        }
        return (try? await HTTPCall.send(.GET, address, path: "/readyz", timeoutMs: 2_000))?.status == 200
    }

    /// Returns the process exits since the last call.
    nonisolated func takeEnds() -> [ProcessEnds.End] { ends.take() }

    func stop() async {
        for node in nodes {
            node.process.signal(SIGCONT)
            for link in node.links { await link.set(nil) }
        }
        await withTaskGroup { group in
            for node in nodes { group.addTask { await node.process.stop(waitMs: 15_000) } }
        }
        await proxy?.stop(waitMs: 2_000)
        for node in nodes { for link in node.links { await link.stop() } }
        redis?.resume()
        postgres?.resume()
        await redis?.stop()
        await postgres?.stop()
    }

    // MARK: Settings

    private static func roles(_ name: String) -> String {
        switch Fault.role(name) {
        case "api": "[api, admin]"
        case "worker": "[worker, admin]"
        default: "[gateway, api, admin]"
        }
    }

    private func settings(
        _ name: String, roles: String, port: Int, adminPort: Int, postgresURL: String, redisPort: Int
    ) -> String {
        """
        cluster:
          nodeId: \(name)
          roles: \(roles)
          advertiseAddress: "127.0.0.1:\(port)"
          shardCount: \(Self.shards)
          leaseTtlMs: \(Self.leaseMs)
          leaseRenewMs: 400
          nodeTtlMs: \(Self.leaseMs)
          heartbeatMs: 400
        http: {host: 127.0.0.1, port: \(port), eventLoops: 1}
        admin: {host: 127.0.0.1, port: \(adminPort)}
        postgres:
          url: "\(postgresURL)"
        redis:
          url: "redis://127.0.0.1:\(redisPort)"
        outbox: {kind: \(outbox)}
        tailer: {standbyMs: 200, silenceMs: 3000, serverSilenceMs: 5000, retryMaxMs: 1000}
        drain: {delayMs: 1200, sessionsMs: 500, graceMs: 3000}
        log: {level: info}

        """
    }

    private func migrate(_ url: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: freshet)
        process.arguments = ["migrate", project, "--seed"]
        process.environment = [
            "FRESHET_POSTGRES_URL": url, "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "",
        ]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw LocalServerError(.startFailed, "freshet migrate ended with \(process.terminationStatus)")
        }
    }

    private func write(_ text: String, to path: String) throws {
        guard
            FileManager.default.createFile(
                atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        else { throw LocalServerError(.dataFolderUnusable, "cannot write \(path)") }
    }
}

/// The process exits reported by supervisors.
final class ProcessEnds: Sendable {
    struct End: Sendable, Hashable {
        let name: String
        /// The reason, such as "signal 9".
        let how: String
    }

    private let ends = Mutex<[End]>([])

    func ended(_ name: String, _ how: String) {
        ends.withLock { $0.append(End(name: name, how: how)) }
    }

    func take() -> [End] {
        ends.withLock { ends in
            defer { ends = [] }
            return ends
        }
    }
}
