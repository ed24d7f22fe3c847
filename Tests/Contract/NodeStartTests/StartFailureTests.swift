import Catalog
import Foundation
import LiveModel
import LocalServers
import Logging
import Migrations
import Node
import Observability
import Operations
import Postgres
import SchemaModel
import Settings
import TestSupport
import Testing

/// Starts that fail at each stage, on a real Postgres and a real Redis: what was opened before is closed.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct StartFailureTests {
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private static func catalog(column: String = "title") throws -> Catalog {
        try Catalog.compile(
            Project(
                serviceID: "library",
                schemaFiles: [SourceFile(path: "schema.gql", text: "type Novel @table { \(column): String! }")],
                connectors: []))
    }

    private struct Servers: Sendable {
        let postgres: LocalPostgres
        let redis: LocalRedis
        let folder: String

        /// A node of every role, which would start.
        func settings() -> Settings {
            var settings = Settings(profile: .dev)
            settings.cluster.roles = [.api, .worker, .gateway, .admin]
            settings.cluster.nodeId = "one"
            settings.cluster.shardCount = 2
            settings.postgres.url = postgres.connectionString
            settings.postgres.replicas = [postgres.connectionString]
            settings.redis.url = redis.url
            settings.embeddings.url = "http://127.0.0.1:1/embeddings"
            settings.http.host = "127.0.0.1"
            settings.http.port = 0
            settings.http.eventLoops = 1
            settings.admin.port = 0
            return settings
        }

        func node(_ settings: Settings, column: String = "title") throws -> ServiceNode {
            ServiceNode(
                settings: settings, catalog: try StartFailureTests.catalog(column: column),
                metrics: PrometheusMetrics(), logger: StartFailureTests.logger)
        }

        /// Connections of the node "one", as the servers see them.
        func connections(_ pool: PostgresPool) async throws -> Int {
            let found = try await pool.query(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'freshet one'")
            let clients = await redis.command("CLIENT LIST") ?? ""
            return (found.rows.first?.int(0) ?? -1) + clients.components(separatedBy: "name=freshet-one").count - 1
        }
    }

    /// The descriptors of this process, by kind: sockets, pipes, and what event loops and wake-ups consist of.
    private static func descriptors() -> [String: Int] {
        var counts: [String: Int] = [:]
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)"),
                !target.hasPrefix("/")
            else { continue }
            // socket:[12345], pipe:[678], anon_inode:[eventpoll]
            let kind = target.hasPrefix("anon_inode") ? target : String(target.prefix { $0 != ":" })
            counts[kind, default: 0] += 1
        }
        return counts
    }

    private func with(_ body: (Servers, PostgresPool) async throws -> Void) async throws {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let postgres = try await LocalPostgres.start(
            dataDirectory: temporary.path + "/postgres", options: .forTests)
        var redis: LocalRedis?
        let database = SchemaDatabase(url: postgres.connectionString, logger: Self.logger)
        let outcome: Result<Void, any Error>
        do {
            let started = try await LocalRedis.start(dataDirectory: temporary.path + "/redis", options: .forTests)
            redis = started
            try await database.pool.start()
            _ = try await database.migrate(try Self.catalog().schema, report: { _ in })
            outcome = .success(
                try await body(
                    Servers(postgres: postgres, redis: started, folder: temporary.path), database.pool))
        } catch {
            outcome = .failure(error)
        }
        await database.pool.stop()
        await redis?.stop()
        await postgres.stop()
        try outcome.get()
    }

    private struct Case {
        let stage: String
        /// The text that the error contains.
        let says: String
        var column = "title"
        let change: (inout Settings) -> Void
    }

    private func cases(_ servers: Servers, takenPort: Int, freePort: Int) -> [Case] {
        [
            Case(stage: "Postgres", says: "does not exist") { $0.postgres.url? += " dbname=nowhere" },
            Case(stage: "Redis, refused", says: "out of range") { $0.redis.url? += "/77" },
            Case(stage: "Redis, away", says: "waited 2500 ms") {
                $0.redis.url = "redis://127.0.0.1:1"
                $0.cluster.startWaitMs = 2_500
                // It answers while the node waits.
                $0.http.port = freePort
            },
            Case(stage: "Redis, another cluster", says: "cluster.shardCount") { $0.cluster.shardCount = 3 },
            Case(stage: "access", says: "auth.issuersFile") { $0.auth.issuersFile = servers.folder + "/none.yaml" },
            Case(stage: "schema", says: "the database lacks", column: "subtitle") { $0.cluster.startWaitMs = 2_500 },
            Case(stage: "certificate", says: "http.tls") {
                $0.http.tlsCertificateFile = servers.folder + "/none.crt"
                $0.http.tlsKeyFile = servers.folder + "/none.key"
            },
            Case(stage: "admin port", says: "(admin): the port is in use") { $0.admin.port = takenPort },
            Case(stage: "public port", says: "the port is in use") { $0.http.port = takenPort },
        ]
    }

    /// The open descriptors after a node has run and stopped once, because a process opens some only once.
    private func baseline(_ servers: Servers, _ pool: PostgresPool) async throws -> [String: Int] {
        try await startAndStop(servers, pool)
        return Self.descriptors()
    }

    private func startAndStop(_ servers: Servers, _ pool: PostgresPool) async throws {
        let node = try servers.node(servers.settings())
        _ = try await node.start()
        #expect(try await servers.connections(pool) > 0)
        await node.drain(sessionsOverMs: 0, graceMs: 1_000)
    }

    private func expectNothingMore(
        than before: [String: Int], _ servers: Servers, _ pool: PostgresPool, _ stage: String
    ) async throws {
        let isGone = try await eventually { try await servers.connections(pool) == 0 }
        #expect(isGone, "\(stage): connections")
        let isClosed = await eventually { Self.descriptors().allSatisfy { $0.value <= before[$0.key] ?? 0 } }
        #expect(isClosed, "\(stage): \(Self.descriptors()), before \(before)")
    }

    @Test func aStartThatFailsLeavesNothingBehind() async throws {
        try await with { servers, pool in
            let taken = try ListeningSocket()
            let freePort = try #require(Addresses.freeLoopbackPort())
            let before = try await baseline(servers, pool)
            for failure in cases(servers, takenPort: taken.port, freePort: freePort) {
                var settings = servers.settings()
                failure.change(&settings)
                let node = try servers.node(settings, column: failure.column)
                let error = await #expect(throws: NodeError.self, "\(failure.stage)") { _ = try await node.start() }
                let reason = error?.description ?? ""
                #expect(reason.contains(failure.says), "\(failure.stage): \(reason)")
                try await expectNothingMore(than: before, servers, pool, failure.stage)
            }
        }
    }

    /// It waits for Redis; nothing ends that wait but the stop.
    @Test func aStopDuringTheStartEndsIt() async throws {
        try await with { servers, pool in
            let before = try await baseline(servers, pool)
            var settings = servers.settings()
            settings.redis.url = "redis://127.0.0.1:1"
            settings.cluster.startWaitMs = 0
            let node = try servers.node(settings)
            // It runs until it has to wait.
            let starting = Task.immediate { try await node.start() }
            await node.drain(sessionsOverMs: 0, graceMs: 1_000)
            await #expect(throws: NodeError.self) { _ = try await starting.value }
            try await expectNothingMore(than: before, servers, pool, "stop during the start")
        }
    }

    /// A step of its back-off would end after the test.
    @Test func aStopEndsTheWaitForPostgres() async throws {
        try await with { servers, pool in
            let before = try await baseline(servers, pool)
            var settings = servers.settings()
            settings.postgres.url = "host=127.0.0.1 port=1 user=nobody dbname=nothing"
            settings.cluster.startWaitMs = 0
            let node = try servers.node(settings)
            let starting = Task.immediate { try await node.start() }
            await node.drain(sessionsOverMs: 0, graceMs: 1_000)
            await #expect(throws: NodeError.self) { _ = try await starting.value }
            try await expectNothingMore(than: before, servers, pool, "stop while Postgres is away")
        }
    }

    @Test func aNewReleaseTakesOverAClusterWhoseNodesHaveStopped() async throws {
        try await with { servers, pool in
            try await startAndStop(servers, pool)
            _ = await servers.redis.command("HSET fr:meta formatVersion 1")
            try await startAndStop(servers, pool)
            #expect(await servers.redis.command("HGET fr:meta formatVersion")?.contains("2") == true)
            let node = try servers.node(servers.settings())
            _ = try await node.start()
            _ = await servers.redis.command("HSET fr:meta formatVersion 1")
            var settings = servers.settings()
            settings.cluster.nodeId = "two"
            let second = try servers.node(settings)
            let error = await #expect(throws: NodeError.self) { _ = try await second.start() }
            #expect(error?.description.contains("stop its nodes first: one") == true)
            await node.drain(sessionsOverMs: 0, graceMs: 1_000)
        }
    }

    @Test func aNodeThatWasStoppedDoesNotStart() async throws {
        try await with { servers, pool in
            let node = try servers.node(servers.settings())
            await node.drain(sessionsOverMs: 0, graceMs: 0)
            await #expect(throws: NodeError.self) { _ = try await node.start() }
            #expect(try await servers.connections(pool) == 0)
        }
    }

    @Test func aStopLeavesNothingBehind() async throws {
        try await with { servers, pool in
            let before = try await baseline(servers, pool)
            try await startAndStop(servers, pool)
            try await expectNothingMore(than: before, servers, pool, "stop")
        }
    }
}

/// A port that is taken.
private final class ListeningSocket {
    struct NotOpened: Error {}

    private let descriptor: Int32
    let port: Int

    init() throws(NotOpened) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isOpen = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 1) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        guard isOpen else { throw NotOpened() }
    }

    deinit { close(descriptor) }
}
