import Foundation
import Simulation
import SimulationCampaign
import Testing

/// The whole system under one seed, a few seeds; `make simulate` runs thousands.
///
/// `FRESHET_SEED=n` runs that one, `FRESHET_SEEDS=n` the first n.
@Suite struct SimulationTests {
    private static let quickSeeds: UInt64 = 40

    static var seeds: ClosedRange<UInt64> {
        let environment = ProcessInfo.processInfo.environment
        if let one = environment["FRESHET_SEED"].flatMap(UInt64.init) { return one...one }
        return 1...max(1, environment["FRESHET_SEEDS"].flatMap(UInt64.init) ?? quickSeeds)
    }

    @Test func everySeedKeepsEveryPromise() {
        let report = Campaign(seeds: Self.seeds, jobs: 0, failuresMax: 10).run { _ in }
        print(report.summary)
        for failure in report.failures { Issue.record("FRESHET_SEED=\(failure.seed): \(failure.violation)") }
    }

    /// Every deliberate mistake, a seed that notices it, and the promise that is seen broken; `make simulate
    /// SABOTAGE=all` counts from the first.
    static let noticedAt: [Sabotage: (seed: UInt64, promises: [String])] = [
        .gatewayFenceSkipped: (1, ["no regress", "one owner"]),
        .epochIgnored: (1, ["no regress"]),
        .epochsByTheClock: (8, ["one owner"]),
        .epochsNotRecorded: (1, ["one owner"]),
        .databaseChangesUnnoticed: (3, ["convergence"]),
        .leaseFenceSkipped: (1, ["one owner"]),
        .serveAfterExpiry: (7, ["one owner"]),
        .formerOwnersForgotten: (1, ["one owner"]),
        .lateResultsUsed: (13, ["one owner"]),
        .publishBeforeCommit: (11, ["convergence"]),
        .removeBeforePublish: (11, ["convergence"]),
        .acknowledgeBeforeCommit: (1, ["honest acknowledgement"]),
        .noSweeper: (1, ["convergence"]),
        .sweeperGoesByOrder: (4, ["convergence"]),
        .unboundedPublishing: (3, ["bounds"]),
        .queryBeforeRegister: (1, ["convergence"]),
        .noDirtyMark: (1, ["convergence"]),
        .historyTrustedAfterLoss: (5, ["convergence"]),
        .recordedEpochIgnored: (10, ["convergence", "registration"]),
        .noReannouncement: (1, ["registration"]),
        .noWithdrawal: (1, ["left over"]),
        .oldestPendingWins: (1, ["convergence"]),
        .positionsTravel: (8, ["convergence", "no regress"]),
        .tagTrustedForOthers: (9, ["convergence", "isolation"]),
        .settledAhead: (23, ["convergence"]),
        .markerAhead: (15, ["marker"]),
        .ticketAhead: (25, ["wait"]),
        .waitWithoutLooking: (9, ["wait"]),
        .waitAheadOfQueue: (16, ["wait"]),
        .replayHole: (3, ["convergence"]),
        .overridesUnconfirmed: (33, ["convergence"]),
        .deploymentsIgnored: (115, ["convergence"]),
        .laterDeploymentsForgotten: (35, ["convergence"]),
        .versionsMixed: (2, ["isolation"]),
        .activatedEarly: (46, ["convergence", "registration"]),
        .mutationsInProgressIgnored: (40, ["rollout"]),
        .servedLate: (67, ["registration"]),
        .formerForgotten: (30, ["convergence", "registration"]),
        .resyncMarkerOmitted: (108, ["convergence"]),
        .foldedRowLost: (12, ["convergence"]),
        .timelineIgnored: (20, ["convergence"]),
        .basisIgnored: (20, ["convergence"]),
        .startUnchecked: (187, ["one owner"]),
        .followedFromEnd: (28, ["convergence"]),
        .entryRemovedUnchecked: (77, ["node list"]),
        .silenceUnreported: (1, ["silence"]),
        .marksKept: (4, ["convergence"]),
        .marksUnseen: (33, ["convergence"]),
        .swappedOutcomes: (1, ["isolation"]),
        .boundRowsForgotten: (3, ["convergence"]),
        .logConfirmedEarly: (10, ["convergence", "wait"]),
        .invisiblePublished: (10, ["convergence"]),
        .newSlotUndoubted: (22, ["convergence"]),
        .missedEventsForgotten: (2, ["convergence"]),
        .eventsUnannounced: (2, ["convergence"]),
        .markRecordedEarly: (74, ["wait"]),
        .patchedFromUnwritten: (9, ["delta"]),
        .newerTagKept: (9, ["delta"]),
        .notSubscribedAgain: (9, ["convergence"]),
        .silenceTrusted: (9, ["silence"]),
        .lossUnreported: (9, ["confirmed"]),
    ]
    /// Seeds to try, from the first, when the remembered one does not show the mistake any more.
    private static let noticedWithin: UInt64 = 400

    @Test(arguments: Sabotage.allCases)
    func aMistakeIsNoticed(sabotage: Sabotage) throws {
        let (remembered, promises) = try #require(Self.noticedAt[sabotage])
        var noticed = World.firstNoticed(sabotage, seeds: remembered...remembered)
        if noticed == nil {
            noticed = World.firstNoticed(sabotage, seeds: 1...Self.noticedWithin)
            print(
                "\(sabotage): not at seed \(remembered) any more, now at \(noticed.map { String($0.seed) } ?? "none")")
        }
        let violation = try #require(noticed?.violation)
        // Something else that broke would prove nothing.
        #expect(promises.contains { violation.hasPrefix($0) }, "\(violation)")
    }

    /// Runs in processes of their own: each hashes differently, and nothing may depend on the order of a dictionary.
    /// The second seed has apps with the SDK.
    @Test(arguments: [6, 9] as [UInt64])
    func aSeedDecidesEverything(seed: UInt64) async throws {
        async let first = trace(seed)
        async let second = trace(seed)
        let lines = try await (first, second)
        #expect(lines.0.count > 1_000)
        let difference = zip(lines.0, lines.1).first { $0 != $1 }
        #expect(difference == nil && lines.0.count == lines.1.count)
    }

    private func trace(_ seed: UInt64) async throws -> [Substring] {
        // The program stands beside the test bundle.
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        while !FileManager.default.fileExists(atPath: folder.path + "/freshet-simulate"), folder.path != "/" {
            folder.deleteLastPathComponent()
        }
        let process = Process()
        process.executableURL = folder.appendingPathComponent("freshet-simulate")
        process.arguments = ["--seed", "\(seed)", "--trace"]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return String(decoding: output, as: UTF8.self).split(separator: "\n")
    }
}
