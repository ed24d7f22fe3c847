import Foundation
import LocalServers

/// One private Postgres and one private Redis for a test, in a temporary folder that goes away.
struct Servers {
    let folder: String
    let postgres: LocalPostgres
    let redis: LocalRedis

    /// - Parameters:
    ///   - keepsData: Redis has its data again after a restart.
    ///   - programFolder: of another Postgres than the one installed.
    static func with<T: Sendable>(
        keepsData: Bool = false, programFolder: String? = nil, _ body: (Servers) async throws -> T
    ) async throws -> T {
        let folder = NSTemporaryDirectory() + "freshet-it-\(UInt32.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var database = LocalPostgresOptions.forTests
        database.programFolder = programFolder
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
