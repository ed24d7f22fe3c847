import Glibc
import TestSupport
import Testing

@testable import LocalServers

/// Servers end with the process that started them, even if it is killed: the body runs in such a process.
@Suite(.serialized)
struct ParentDeathTests {
    @Test func killedParentTakesItsServersAlong() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let postgres = try await LocalPostgres.start(dataDirectory: path + "/pg", options: .forTests)
            let redis = try await LocalRedis.start(dataDirectory: path + "/redis", options: .forTests)
            try sql(postgres.connectionString, "CREATE TABLE kept AS SELECT 42 AS answer")
            let numbers = try "\(#require(postgres.processID)) \(#require(redis.processID))"
            try Files.write(path + "/numbers", numbers, mode: 0o600)
            kill(getpid(), SIGKILL)
        }
        let numbers = try #require(Files.read(path + "/numbers")).split(separator: " ").compactMap { Int32($0) }
        #expect(numbers.count == 2)
        for number in numbers {
            let isGone = await eventually { hasEnded(number) }
            #expect(isGone)
        }
        let postgres = try await LocalPostgres.start(dataDirectory: path + "/pg", options: .forTests)
        #expect(try sql(postgres.connectionString, "SELECT answer FROM kept") == ["42"])
        await postgres.stop()
    }

    @Test func forgottenServerEndsWithItsOwner() async throws {
        let folder = try TemporaryFolder()
        var server: LocalRedis? = try await LocalRedis.start(dataDirectory: folder.path, options: .forTests)
        let number = try #require(server?.processID)
        server = nil
        let isGone = await eventually { hasEnded(number) }
        #expect(isGone)
    }

    @Test func childIsEndedStepByStep() async throws {
        let folder = try TemporaryFolder()
        let child = try await ChildProcess.start(
            ChildProcess.Command(
                program: "/bin/sh", arguments: ["-c", "trap '' INT; echo ready; while :; do sleep 0.05; done"],
                runAs: nil, logPath: folder.path + "/log", workingFolder: "/", parentDeathSignal: "KILL"))
        let isReady = await eventually { Files.read(folder.path + "/log") == "ready\n" }
        #expect(isReady)
        await child.end([(SIGINT, 50), (SIGTERM, 5_000)])
        #expect(child.exit == .signal(SIGTERM))
        // Its number may be anybody's now.
        child.signal(SIGKILL)
        #expect(await child.waitForExit(timeoutMs: 0) == .signal(SIGTERM))
    }
}
