import Glibc
import LocalServers
import Logging
import Testing

@testable import Postgres

/// One private server for a suite, in a folder of its own; both are gone when the suite is over.
struct PrivatePostgres: SuiteTrait, TestScoping {
    @TaskLocal static var current: LocalPostgres?

    func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
    ) async throws {
        var template = Array("/tmp/fxt-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        chmod(path, 0o755)
        defer { removeTree(path) }
        let server = try await LocalPostgres.start(dataDirectory: path + "/pg", options: .forTests)
        do {
            try await Self.$current.withValue(server) { try await body() }
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }
}

func removeTree(_ path: String) {
    guard let folder = opendir(path) else { return }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name == "." || name == ".." { continue }
        let inside = path + "/" + name
        if entry.pointee.d_type == UInt8(DT_DIR) { removeTree(inside) } else { unlink(inside) }
    }
    rmdir(path)
}

extension Trait where Self == PrivatePostgres {
    static var privatePostgres: PrivatePostgres { PrivatePostgres() }
}

/// A pool on the suite's server, stopped afterwards.
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

/// The error's code, or nil when the work succeeds.
func code(_ work: () async throws(PostgresError) -> some Any) async -> PostgresError.Code? {
    do {
        _ = try await work()
        return nil
    } catch {
        return error.code
    }
}

func error(_ work: () async throws(PostgresError) -> some Any) async -> PostgresError? {
    do {
        _ = try await work()
        return nil
    } catch {
        return error
    }
}

/// Waits for what has no other sign than that it is so; false after 20 s.
func eventually(_ condition: () async throws -> Bool) async rethrows -> Bool {
    for _ in 0..<2000 {
        if try await condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return try await condition()
}
