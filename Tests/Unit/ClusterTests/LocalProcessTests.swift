import Cluster
import Foundation
import LiveModel
import Testing

@Suite(.timeLimit(.minutes(1)))
struct LocalProcessTests {
    /// A child that does nothing, and is not waited for: once killed, it stays a zombie.
    private func spawn() throws -> Int32 {
        var processID: pid_t = 0
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("600"), nil]
        defer { for case let argument? in arguments { free(argument) } }
        let problem = posix_spawnp(&processID, "sleep", nil, nil, &arguments, environ)
        try #require(problem == 0)
        return processID
    }

    @Test func aRunningProcessHasNotEnded() throws {
        let own = try #require(LocalProcess.own)
        #expect(own.processID == getpid())
        #expect(!LocalProcess.hasEnded(own))
        #expect(LocalProcess.identity(of: getpid()) == own)
    }

    @Test func aKilledProcessHasEndedBeforeAndAfterItsParentKnows() async throws {
        let child = try spawn()
        let identity = try #require(LocalProcess.identity(of: child))
        #expect(!LocalProcess.hasEnded(identity))
        kill(child, SIGSTOP)
        #expect(!LocalProcess.hasEnded(identity))
        kill(child, SIGKILL)
        while !LocalProcess.hasEnded(identity) { await Task.yield() }
        var status: Int32 = 0
        #expect(waitpid(child, &status, 0) == child)
        #expect(LocalProcess.hasEnded(identity))
    }

    @Test func anotherProcessWithTheSameIdIsNotMistakenForIt() throws {
        var former = try #require(LocalProcess.own)
        former.startTicks += 1
        #expect(LocalProcess.hasEnded(former))
    }

    @Test func nothingIsKnownAboutOtherMachines() throws {
        let own = try #require(LocalProcess.own)
        #expect(
            !LocalProcess.hasEnded(
                ProcessIdentity(machine: "elsewhere", processID: own.processID, startTicks: own.startTicks + 1)))
    }
}
