import Foundation
import Testing

@testable import Chaos

/// The whole suite, for one round: what it says when something is really wrong.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ChaosVerdictTests {
    private func run(sabotages: Bool) async throws -> ChaosReport {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = NSTemporaryDirectory() + "freshet-chaos-\(UInt32.random(in: .min ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var options = ChaosRun.Options(
            seed: 1, minutes: 0.01, folder: folder, project: root.appendingPathComponent("config/chaos").path,
            freshet: Self.freshet)
        options.subscribers = 54
        options.sabotages = sabotages
        options.settleMs = sabotages ? 2_000 : 120_000
        return try await ChaosRun(options).run { print($0.text) }
    }

    /// The built program; it stands beside the test bundle.
    private static let freshet: String = {
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        for _ in 0..<4 {
            let candidate = folder.appendingPathComponent("freshet").path
            if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
            folder = folder.deletingLastPathComponent()
        }
        return ".build/debug/freshet"
    }()

    @Test func findsSubscribersThatAreBehindAndMutationsThatAreLost() async throws {
        let report = try await run(sabotages: true)
        #expect(!report.hasPassed)
        let misses = report.rounds.flatMap(\.misses)
        #expect(misses.contains { $0.contains("not converged") }, "\(misses)")
        #expect(misses.contains { $0.contains("acknowledged mutations are lost") }, "\(misses)")
        #expect(misses.contains { $0.contains("differ by") }, "\(misses)")
    }

    @Test func passesOtherwise() async throws {
        let report = try await run(sabotages: false)
        #expect(report.hasPassed, "\(report.text)")
    }
}
