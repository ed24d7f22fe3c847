import Glibc
import TestSupport
import Testing

@testable import LocalServers

@Suite(.serialized)
struct LocalRedisTests {
    @Test func durableDataSurviveACrash() async throws {
        let folder = try TemporaryFolder()
        var options = LocalRedisOptions()
        options.settings["appendfsync"] = "always"
        let server = try await LocalRedis.start(dataDirectory: folder.path + "/redis", options: options)
        #expect(Addresses.exchange(socketPath: server.socketPath, "SET a 1\r\n") == "+OK\r\n")
        await server.crash()
        #expect(Addresses.exchange(socketPath: server.socketPath, "GET a\r\n") == nil)
        try await server.restart()
        #expect(Addresses.exchange(socketPath: server.socketPath, "GET a\r\n") == "$1\r\n1\r\n")
        let error = await #expect(throws: LocalServerError.self) {
            try await LocalRedis.start(dataDirectory: folder.path + "/redis")
        }
        #expect(error?.code == .alreadyRunning)
        await server.stop()

        let again = try await LocalRedis.start(dataDirectory: folder.path + "/redis")
        #expect(Addresses.exchange(socketPath: again.socketPath, "GET a\r\n") == "$1\r\n1\r\n")
        let answer = Addresses.exchange(socketPath: again.socketPath, "CONFIG GET port\r\n")
        #expect(answer?.contains("\r\n\(again.port)\r\n") == true)
        await again.stop()
    }

    @Test func serversThatStoreNothingStartEmpty() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/" + String(repeating: "x", count: 100)
        let server = try await LocalRedis.start(dataDirectory: path, options: .forTests)
        #expect(server.socketPath.hasPrefix("/tmp/freshet-"))
        #expect(Addresses.exchange(socketPath: server.socketPath, "SET a 1\r\n") == "+OK\r\n")
        await server.crash()
        try await server.restart()
        #expect(Addresses.exchange(socketPath: server.socketPath, "GET a\r\n") == "$-1\r\n")
        await server.stop()
        #expect(!Files.exists(server.socketPath))
        #expect(Files.entries(path + "/data") == [])
    }

    @Test func failureCarriesTheLog() async throws {
        let folder = try TemporaryFolder()
        var options = LocalRedisOptions.forTests
        options.settings["maxmemory"] = "nonsense"
        let error = await #expect(throws: LocalServerError.self) {
            try await LocalRedis.start(dataDirectory: folder.path, options: options)
        }
        #expect(error?.code == .startFailed)
        #expect(error?.logTail.contains { $0.contains("maxmemory") } == true)
    }
}
