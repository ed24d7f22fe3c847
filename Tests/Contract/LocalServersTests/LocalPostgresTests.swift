import Glibc
import TestSupport
import Testing

@testable import LocalServers

@Suite(.serialized)
struct LocalPostgresTests {
    @Test func stopAndStartKeepsData() async throws {
        let folder = try TemporaryFolder()
        let first = try await LocalPostgres.start(dataDirectory: folder.path + "/pg", options: .forTests)
        try sql(first.connectionString, "CREATE TABLE kept AS SELECT 42 AS answer")
        #expect(try sql(first.connectionString, "SHOW fsync") == ["off"])
        #expect(try sql(first.connectionString, "SHOW listen_addresses") == [""])
        #expect(getpgid(try #require(first.processID)) == first.processID)
        await first.stop()
        #expect(first.processID == nil)

        let second = try await LocalPostgres.start(dataDirectory: folder.path + "/pg", options: .forTests)
        #expect(try sql(second.connectionString, "SELECT answer FROM kept") == ["42"])

        // A crash, seen by the same object.
        await second.crash()
        #expect(throws: SQLFailure.self) { try sql(second.connectionString, "SELECT 1") }
        try await second.restart()
        #expect(try sql(second.connectionString, "SELECT answer FROM kept") == ["42"])

        // While it runs no other process gets the folder.
        let refusal = await #expect(throws: LocalServerError.self) {
            try await LocalPostgres.start(dataDirectory: folder.path + "/pg", options: .forTests)
        }
        #expect(refusal?.code == .alreadyRunning)
        #expect(try sql(second.connectionString, "SELECT answer FROM kept") == ["42"])
        await second.stop()
        await second.stop()
        await #expect(throws: LocalServerError.self) { try await second.restart() }

        // The file that a killed run left, with a process id that belongs to another process by now.
        try Files.write(folder.path + "/pg/cluster/postmaster.pid", "\(getpid())\n/nowhere\n", mode: 0o600)
        let third = try await LocalPostgres.start(dataDirectory: folder.path + "/pg", options: .forTests)
        #expect(try sql(third.connectionString, "SELECT answer FROM kept") == ["42"])
        await third.stop()
    }

    @Test(.timeLimit(.minutes(1))) func aFrozenServerHoldsAllItsProcesses() async throws {
        let folder = try TemporaryFolder()
        let server = try await LocalPostgres.start(dataDirectory: folder.path + "/pg", options: .forTests)
        let parent = try #require(server.processID)
        let family = [parent] + ChildProcess.children(of: parent)
        #expect(family.count > 3)
        func state(_ process: pid_t) -> Substring? {
            Files.read("/proc/\(process)/stat")?.split(separator: ")").last?.split(separator: " ").first
        }
        server.freeze()
        // A signal takes its moment. Who was just ending has ended, or waits for its parent to notice.
        func isHeld(_ process: pid_t) -> Bool { ["T", "Z", nil].contains(state(process)) }
        try await waitUntil("every process to stand still") { family.allSatisfy(isHeld) }
        #expect(family.count { state($0) == "T" } > 3)
        server.resume()
        #expect(try sql(server.connectionString, "SELECT 1") == ["1"])
        try await waitUntil("every process to go on") { !family.contains { state($0) == "T" } }
        await server.stop()
    }

    @Test func loopbackNeedsThePassword() async throws {
        let folder = try TemporaryFolder()
        var options = LocalPostgresOptions.forTests
        options.listensOnLoopback = true
        options.databaseName = "it's \\ a \"name\""
        // Too long for a socket: it goes to /tmp.
        let path = folder.path + "/" + String(repeating: "x", count: 90)
        let server = try await LocalPostgres.start(dataDirectory: path, options: options)
        #expect(server.socketDirectory.hasPrefix("/tmp/freshet-"))
        let string = try #require(server.loopbackConnectionString)
        #expect(try sql(string, "SELECT current_database()") == [options.databaseName])
        #expect(try sql(server.connectionString, "SELECT current_user") == ["freshet"])
        let port = try #require(server.port)
        #expect(throws: SQLFailure.self) {
            try sql("host=127.0.0.1 port=\(port) user=freshet dbname=postgres password=wrong", "SELECT 1")
        }
        await server.stop()
        #expect(!Files.exists(server.socketDirectory))
    }

    @Test func failureCarriesTheLog() async throws {
        let folder = try TemporaryFolder()
        var options = LocalPostgresOptions.forTests
        options.settings["shared_buffers"] = "nonsense"
        let error = await #expect(throws: LocalServerError.self) {
            try await LocalPostgres.start(dataDirectory: folder.path + "/pg", options: options)
        }
        #expect(error?.code == .startFailed)
        #expect(error?.logTail.contains { $0.contains("shared_buffers") } == true)
        // The same folder is of use afterwards.
        let server = try await LocalPostgres.start(dataDirectory: folder.path + "/pg", options: .forTests)
        await server.stop()
    }

    @Test func foreignFolderIsLeftAlone() async throws {
        let folder = try TemporaryFolder()
        try Files.makeFolder(folder.path + "/pg/cluster", mode: 0o755)
        try Files.write(folder.path + "/pg/cluster/precious", "text", mode: 0o644)
        let error = await #expect(throws: LocalServerError.self) {
            try await LocalPostgres.start(dataDirectory: folder.path + "/pg", options: .forTests)
        }
        #expect(error?.code == .dataFolderUnusable)
        #expect(Files.read(folder.path + "/pg/cluster/precious") == "text")
    }

    @Test(.enabled(if: geteuid() == 0)) func unreachableFolderIsExplained() async throws {
        let folder = try TemporaryFolder()
        chmod(folder.path, 0o700)
        let error = await #expect(throws: LocalServerError.self) {
            try await LocalPostgres.start(dataDirectory: folder.path + "/pg", options: .forTests)
        }
        #expect(error?.code == .dataFolderUnusable)
        #expect(error?.message.contains("cannot enter") == true)
    }

    @Test func missingProgramNamesThePackage() {
        let error = #expect(throws: LocalServerError.self) {
            try Programs.find("no-such-program", package: "some-package")
        }
        #expect(error?.code == .programMissing)
        #expect(error?.message.contains("apt-get install some-package") == true)
    }
}
