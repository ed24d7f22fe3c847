import Foundation
import LocalServers
import TestSupport

/// One private Postgres and one private Redis for a test, in a temporary folder that goes away.
struct Servers {
    let folder: String
    let postgres: LocalPostgres
    let redis: LocalRedis

    /// - Parameters:
    ///   - keepsData: Redis has its data again after a restart.
    ///   - programFolder: of another Postgres than the one installed.
    ///   - postgres: further settings of Postgres.
    ///   - listensOnLoopback: whether Postgres has a port besides its Unix socket.
    static func with<T: Sendable>(
        keepsData: Bool = false, programFolder: String? = nil, postgres settings: [String: String] = [:],
        listensOnLoopback: Bool = false,
        _ body: (Servers) async throws -> T
    ) async throws -> T {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let folder = temporary.path
        var database = LocalPostgresOptions.forTests
        database.programFolder = programFolder
        database.settings.merge(settings) { $1 }
        database.listensOnLoopback = listensOnLoopback
        let postgres = try await LocalPostgres.start(dataDirectory: folder + "/postgres", options: database)
        let redis: LocalRedis
        var options = LocalRedisOptions.forTests
        options.isDurable = keepsData
        do {
            redis = try await LocalRedis.start(dataDirectory: folder + "/redis", options: options)
        } catch {
            await postgres.stop()
            throw error
        }
        let servers = Servers(folder: folder, postgres: postgres, redis: redis)
        do {
            let value = try await body(servers)
            await redis.stop()
            await postgres.stop()
            return value
        } catch {
            await redis.stop()
            await postgres.stop()
            throw error
        }
    }
}
