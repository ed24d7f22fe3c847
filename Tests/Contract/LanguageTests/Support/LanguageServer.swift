import Catalog
import Execution
import Foundation
import JSON
import LiveModel
import LocalServers
import Logging
import Postgres
import SchemaMigration
import TestSupport
import Testing

/// One private Postgres for all suites of the language, with the schema migrated and the same rows in it. Gone when the
/// last test is over.
struct LanguageServer: SuiteTrait, TestScoping {
    struct Running: Sendable {
        let server: LocalPostgres
        let pool: PostgresPool
    }

    @TaskLocal static var current: Running?

    func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
    ) async throws {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let folder = temporary.path
        let server = try await LocalPostgres.start(dataDirectory: folder + "/postgres", options: .forTests)
        do {
            let pool = Self.pool(server.connectionString)
            try await pool.start()
            try await Self.fill(pool)
            try await Self.$current.withValue(Running(server: server, pool: pool)) { try await body() }
            await pool.stop()
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    static func pool(_ url: String) -> PostgresPool {
        var configuration = PostgresConfiguration(connectionString: url)
        configuration.readConnections = 1
        configuration.writeConnections = 1
        configuration.sessionConnections = 2
        return PostgresPool(
            configuration: configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    static func fill(_ pool: PostgresPool) async throws {
        try await pool.script(ServiceSchema.sql)
        let statements = Migration.create(try LanguageSchema.catalog("query Q { people { name } }").schema).map(\.sql)
        try await pool.script(statements.joined(separator: ";\n"))
        try await pool.script(LanguageSchema.rows)
    }

    /// A database of the caller's own, a copy of the filled one; for mutations.
    static func withOwnDatabase<T: Sendable>(
        fill: (PostgresPool) async throws -> Void = LanguageServer.fill, _ body: (PostgresPool) async throws -> T
    ) async throws -> T {
        let running = try #require(current)
        let name = "own_\(UInt32.random(in: .min ... .max))"
        let pool = pool(running.server.connectionString(database: name))
        // A copy needs a source without connections, so the rows are written again.
        try await running.pool.script("CREATE DATABASE \(name)")
        do {
            try await pool.start()
            try await fill(pool)
            let value = try await body(pool)
            await pool.stop()
            return value
        } catch {
            await pool.stop()
            throw error
        }
    }
}

extension Trait where Self == LanguageServer {
    static var languageServer: LanguageServer { LanguageServer() }
}

/// All suites that need the server.
@Suite(.languageServer, .serialized) enum Language {}

/// The moment at which all requests of these tests arrive: 2024-02-29T12:34:56.789Z.
let requestMs: Int64 = 1_709_210_096_789

let fixedClock = ServiceClock { requestMs }

/// A signed-in user.
func signedIn(_ uid: String, _ claims: String = "{}") -> Auth {
    Auth(uid: uid, token: (try? JSONParser.parse(claims).objectValue) ?? JSONObject())
}

extension StoredOperation {
    func coerced(_ json: String) throws -> JSONObject {
        try coerce(try #require(try JSONParser.parse(json).objectValue))
    }
}
