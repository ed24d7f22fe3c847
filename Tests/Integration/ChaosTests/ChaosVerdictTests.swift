import Foundation
import TestSupport
import Testing

@testable import Chaos

/// The whole suite, for one round: what it says when something is really wrong.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ChaosVerdictTests {
    private func run(sabotages: Bool) async throws -> ChaosReport {
        let folder = try TemporaryFolder("fxt-chaos")
        defer { folder.remove() }
        var options = ChaosRun.Options(
            seed: 1, minutes: 0.01, folder: folder.path, project: Repository.path("config/chaos"),
            freshet: Repository.freshet)
        options.subscribers = 54
        options.sabotages = sabotages
        options.settleMs = sabotages ? 2_000 : 120_000
        return try await ChaosRun(options).run { print($0.text) }
    }

    @Test func findsSubscribersThatAreBehindAndMutationsThatAreLost() async throws {
        let report = try await run(sabotages: true)
        #expect(!report.hasPassed)
        let misses = report.rounds.flatMap(\.misses)
        #expect(misses.contains { $0.contains("not converged") }, "\(misses)")
        #expect(misses.contains { $0.contains("acknowledged mutations are lost") }, "\(misses)")
        #expect(misses.contains { $0.contains("differ by") }, "\(misses)")
    }

    @Test func runsWithoutSabotagePass() async throws {
        let report = try await run(sabotages: false)
        #expect(report.hasPassed, "\(report.text)")
    }
}
