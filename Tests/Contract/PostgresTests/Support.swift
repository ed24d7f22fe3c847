import LocalServers
import Logging
import TestSupport
import Testing

@testable import Postgres

/// One private server for a suite, in a folder of its own; both are gone when the suite is over.
struct PrivatePostgres: SuiteTrait, TestScoping {
    @TaskLocal static var current: LocalPostgres?

    func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try await LocalPostgres.start(dataDirectory: folder.path + "/pg", options: .forTests)
        do {
            try await Self.$current.withValue(server) { try await body() }
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }
}

extension Trait where Self == PrivatePostgres {
    static var privatePostgres: PrivatePostgres { PrivatePostgres() }
}

/// A pool on the suite's server, stopped afterwards. All queries share one connection, unless `change` says otherwise.
func withPool<T>(
    _ change: (inout PostgresConfiguration) -> Void = { _ in }, _ body: (PostgresPool) async throws -> T
) async throws -> T {
    let server = try #require(PrivatePostgres.current)
    var configuration = PostgresConfiguration(connectionString: server.connectionString)
    configuration.writeConnections = 2
    configuration.sessionConnections = 2
    change(&configuration)
    let pool = PostgresPool(configuration: configuration, logger: quietLogger)
    try await pool.start()
    do {
        let value = try await body(pool)
        await pool.stop()
        return value
    } catch {
        await pool.stop()
        throw error
    }
}

let quietLogger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })

/// Returns the code of the error that `work` throws; nil if it returns.
func code(_ work: () async throws(PostgresError) -> some Any) async -> PostgresError.Code? {
    await failure(of: work)?.code
}

/// Returns the error that `work` throws; nil if it returns.
func error(_ work: () async throws(PostgresError) -> some Any) async -> PostgresError? {
    await failure(of: work)
}
