import Catalog
import Execution
import FoundationEssentials
import Glibc
import LiveModel
import LocalServers
import Logging
import Metrics
import Migrations
import Node
import Observability
import Postgres
import ProjectFolder
import SchemaMigration
import SchemaModel
import Settings

/// A private Postgres with the sample project's schema and rows, a private Redis, and nodes that use them; removed
/// afterwards.
///
/// Postgres is durable (a commit waits for the disk), as in production, unless a benchmark says otherwise.
struct PrivateServers: Sendable {
    let catalog: Catalog
    /// The same project without automatic refresh.
    let ruledCatalog: Catalog
    let postgres: LocalPostgres
    let redis: LocalRedis

    static let quiet = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
    /// Metrics, counted as in production but never read.
    static let metrics: PrometheusMetrics = {
        let metrics = PrometheusMetrics()
        MetricsSystem.bootstrap(metrics)
        return metrics
    }()

    /// - Parameters:
    ///   - operations: further operations of the project's first connector.
    ///   - adjust: changes the project.
    static func with<T: Sendable>(
        project: String, adding operations: SourceFile? = nil, isDurable: Bool = true,
        adjust: (inout Project) -> Void = { _ in }, _ body: (PrivateServers) async throws -> T
    ) async throws -> T {
        _ = metrics
        var loaded = try ProjectFolder.load(project)
        if let operations { loaded.connectors[0].files.append(operations) }
        adjust(&loaded)
        let catalog = try Catalog.compile(loaded)
        var ruled = loaded
        ruled.automaticRefresh = .off
        let ruledCatalog = try Catalog.compile(ruled)
        let folder =
            FileManager.default.currentDirectoryPath + "/.freshet/bench-\(getpid())-\(UInt16.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var options = LocalPostgresOptions()
        options.isDurable = isDurable
        options.settings = ["shared_buffers": "256MB", "max_connections": "200"]
        let postgres = try await LocalPostgres.start(dataDirectory: folder + "/postgres", options: options)
        let redis: LocalRedis
        do throws(LocalServerError) {
            redis = try await LocalRedis.start(dataDirectory: folder + "/redis")
        } catch {
            await postgres.stop()
            throw error
        }
        let servers = PrivateServers(
            catalog: catalog, ruledCatalog: ruledCatalog, postgres: postgres, redis: redis)
        let outcome: Result<T, any Error>
        do {
            try await servers.prepare(seed: loaded.seedSQL)
            outcome = .success(try await body(servers))
        } catch {
            outcome = .failure(error)
        }
        await redis.stop()
        await postgres.stop()
        return try outcome.get()
    }

    private func prepare(seed: String?) async throws {
        try await withPool { pool in
            let plan = Migration.plan(catalog.schema, existing: try await pool.databaseDescription())
            guard plan.refused.isEmpty else { throw BenchmarkFailure("the sample schema was refused") }
            for step in plan.steps { try await pool.script(step.sql) }
            if let seed { try await pool.script(seed) }
            try await pool.script(ServiceSchema.sql)
            _ = try await ChangePublications.publish(catalog.captured, pool)
            try await pool.script("ANALYZE")
        }
    }

    /// Runs `body` with a pool configured like a node's.
    func withPool<T: Sendable>(_ body: (PostgresPool) async throws -> T) async throws -> T {
        let settings = Settings(profile: .dev).postgres
        var configuration = PostgresConfiguration(connectionString: postgres.connectionString)
        configuration.readConnections = settings.readConnections
        configuration.writeConnections = settings.writeConnections
        configuration.sessionConnections = settings.sessionConnections
        let pool = PostgresPool(configuration: configuration, logger: Self.quiet)
        try await pool.start()
        let outcome: Result<T, any Error>
        do {
            outcome = .success(try await body(pool))
        } catch {
            outcome = .failure(error)
        }
        await pool.stop()
        return try outcome.get()
    }

    /// Runs `body` with a node of these roles, with the settings of `freshet dev` and free ports.
    /// - Parameter isAutomatic: whether the project's queries refresh automatically as it says.
    func withNode<T: Sendable>(
        roles: Set<Role>, isAutomatic: Bool = true, adjust: (inout Settings) -> Void = { _ in },
        _ body: (ServiceNode.Address) async throws -> T
    ) async throws -> T {
        var settings = Settings(profile: .dev)
        settings.postgres.url = postgres.connectionString
        settings.redis.url = redis.url
        settings.cluster.roles = roles
        settings.http.port = 0
        // One client stands for many.
        settings.gateway.messagesPerSecond = 0
        settings.admin.port = 0
        adjust(&settings)
        let node = ServiceNode(
            settings: settings, catalog: isAutomatic ? catalog : ruledCatalog, metrics: Self.metrics,
            logger: Self.quiet)
        let address = try await node.start()
        let outcome: Result<T, any Error>
        do {
            outcome = .success(try await body(address))
        } catch {
            outcome = .failure(error)
        }
        await node.drain(sessionsOverMs: 0, graceMs: 1_000)
        return try outcome.get()
    }

    func operation(_ name: String) throws -> StoredOperation {
        guard let operation = catalog.operation(OperationReference(connector: "auctions", operation: name)) else {
            throw BenchmarkFailure("the project has no operation \(name)")
        }
        return operation
    }

    /// Returns ids of the sample's rows, in a fixed order.
    func lotIDs(_ pool: PostgresPool, _ count: Int) async throws -> [String] {
        let found = try await pool.query(Statement("SELECT id FROM public.lot ORDER BY id LIMIT \(count)"))
        let ids = found.rows.compactMap { $0.string(0) }
        guard ids.count == count else { throw BenchmarkFailure("the sample has only \(ids.count) lots") }
        return ids
    }
}
