import Foundation
import TestSupport
import Testing

@testable import LocalServers

@Suite struct HAProxyConfigurationTests {
    /// Compares the file, or writes it if UPDATE_REFERENCE is set.
    @Test(
        "the files in deploy are what freshet cluster would run",
        arguments: [
            ("deploy/haproxy/haproxy.cfg", HAProxyConfiguration.compose.text),
            ("deploy/kubernetes/haproxy.cfg", HAProxyConfiguration.kubernetes.text),
        ])
    func referenceFile(path: String, text: String) throws {
        let url = URL(filePath: Repository.path(path))
        if ProcessInfo.processInfo.environment["UPDATE_REFERENCE"] != nil {
            try Data(text.utf8).write(to: url)
        }
        #expect(
            try String(contentsOf: url, encoding: .utf8) == text,
            "run the tests with UPDATE_REFERENCE=1 and commit \(path)")
    }

    /// HAProxy refuses to start when it could not open what its `maxconn` needs.
    @Test func startsWithAsManyConnectionsAsFilesLetItHave() async throws {
        let folder = try TemporaryFolder()
        let openFiles = 2_000
        var configuration = HAProxyConfiguration(
            bind: "unix@\(folder.path)/bind", statsBind: "unix@\(folder.path)/stats",
            api: .listed((1...16).map { ("api-\($0)", "127.0.0.1:1") }),
            gateways: .listed((1...16).map { ("gateway-\($0)", "127.0.0.1:1") }),
            connectionsMax: HAProxyConfiguration.connectionsMax(openFiles: openFiles))
        let path = folder.path + "/haproxy.cfg"
        func start(_ log: String) async throws -> ChildProcess {
            try Files.write(path, configuration.text, mode: 0o600)
            let program = try Programs.find("haproxy", package: "haproxy")
            return try await ChildProcess.start(
                ChildProcess.Command(
                    program: "/bin/sh",
                    arguments: ["-c", "ulimit -n \(openFiles); exec \(program) -f \(path) -V"], runAs: nil,
                    logPath: folder.path + log, workingFolder: "/", parentDeathSignal: "KILL"))
        }
        let first = try await start("/log")
        let isListening = await eventually { FileManager.default.fileExists(atPath: folder.path + "/bind") }
        #expect(isListening, "\(Files.tail(folder.path + "/log"))")
        first.signal(SIGKILL)
        _ = await first.waitForExit(timeoutMs: 30_000)

        configuration.connectionsMax = openFiles
        let second = try await start("/log2")
        #expect(await second.waitForExit(timeoutMs: 30_000) == .code(1))
        #expect(Files.read(folder.path + "/log2")?.contains("Cannot raise FD limit") == true)
    }

    @Test("HAProxy itself accepts what is made", arguments: [true, false])
    func accepted(isListed: Bool) async throws {
        let folder = try TemporaryFolder()
        let listed = HAProxyConfiguration(
            bind: "127.0.0.1:1", statsBind: "127.0.0.1:2", api: .listed([("api-1", "127.0.0.1:3")]),
            gateways: .listed([("gateway-1", "127.0.0.1:4"), ("gateway-2", "127.0.0.1:5")]),
            pagePath: folder.path + "/page.html")
        try Files.write(folder.path + "/page.html", "<p>", mode: 0o600)
        let path = folder.path + "/haproxy.cfg"
        try Files.write(path, (isListed ? listed : .compose).text, mode: 0o600)
        let child = try await ChildProcess.start(
            ChildProcess.Command(
                program: try Programs.find("haproxy", package: "haproxy"), arguments: ["-c", "-f", path], runAs: nil,
                logPath: folder.path + "/log", workingFolder: "/", parentDeathSignal: "KILL"))
        #expect(await child.waitForExit(timeoutMs: 30_000) == .code(0), "\(Files.tail(folder.path + "/log"))")
    }
}

@Suite(.serialized) struct SupervisedProgramTests {
    @Test func startsAgainUntilStopped() async throws {
        let folder = try TemporaryFolder()
        let log = folder.path + "/log"
        let (ends, continuation) = AsyncStream.makeStream(of: String.self)
        let program = try await SupervisedProgram.start(
            .init(
                name: "sample", program: "/bin/sh",
                arguments: ["-c", "echo \"run $GREETING\"; while :; do sleep 0.05; done"],
                environment: ["GREETING": "hello"], logPath: log),
            onEnd: { _, exit in continuation.yield(exit) })
        let isRunning = await eventually { Files.read(log) == "run hello\n" }
        #expect(isRunning)
        let first = try #require(program.processID)
        program.signal(SIGKILL)
        var iterator = ends.makeAsyncIterator()
        #expect(await iterator.next() == "signal 9")
        let isAgain = await eventually { Files.read(log) == "run hello\nrun hello\n" }
        #expect(isAgain)
        // It can write before its start is noted.
        let isNoted = await eventually { program.processID != nil }
        #expect(isNoted)
        let second = try #require(program.processID)
        #expect(second != first)
        await program.stop(waitMs: 5_000)
        #expect(program.processID == nil)
        #expect(hasEnded(second))
    }

    @Test func freePortsDifferAndAreNotEphemeral() {
        let ports = Addresses.freeLoopbackPorts(50)
        #expect(ports.count == 50)
        #expect(Set(ports).count == 50)
        // Ports that the kernel gives to outgoing connections are not for servers that go and come back.
        let first = Addresses.firstEphemeralPort
        if first >= 2 * Addresses.portMin { #expect(ports.allSatisfy { $0 < first }) }
    }
}
