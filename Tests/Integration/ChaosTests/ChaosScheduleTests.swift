import Testing

@testable import Chaos

@Suite struct ChaosScheduleTests {
    private func rounds(_ count: Int, seed: UInt64) -> [ChaosSchedule.Round] {
        var schedule = ChaosSchedule(seed: seed, nodes: ChaosCluster.names, leaseMs: 2_000)
        return (0..<count).map { _ in schedule.next() }
    }

    @Test func theSeedDecides() {
        #expect(rounds(100, seed: 7) == rounds(100, seed: 7))
        #expect(rounds(100, seed: 7) != rounds(100, seed: 8))
    }

    @Test func aShortRunHasEveryKindOfFault() {
        let kinds = Set(rounds(40, seed: 1).flatMap(\.faults).map(\.fault.kind))
        var expected = [
            "kill redis", "kill redis, data lost", "kill redis, old data", "pause redis", "FLUSHALL", "kill postgres",
            "pause postgres", "cut all-redis", "silence all-redis", "cut all-postgres", "silence all-postgres",
        ]
        for role in ["worker", "gateway", "api"] {
            expected += ["kill \(role)", "drain \(role)", "pause \(role)"]
            for server in ["redis", "postgres"] {
                expected += ["cut \(role)-\(server)", "silence \(role)-\(server)"]
            }
        }
        for role in ["gateway", "api"] { expected += ["cut \(role)-clients", "silence \(role)-clients"] }
        for kind in expected { #expect(kinds.contains(kind), "\(kind) in \(kinds.sorted())") }
        #expect(kinds.contains { $0.hasPrefix("slow ") && $0.hasSuffix("-redis") })
        #expect(kinds.contains { $0.hasPrefix("slow ") && $0.hasSuffix("-postgres") })
    }

    @Test func someRoundsAreQuiet() {
        let rounds = rounds(40, seed: 1)
        let quiet = rounds.filter { $0.quietFromMs != nil }
        #expect((8...24).contains(quiet.count))
        // Before the fault, by less than a mutation takes under faults; and while it or its aftermath lasts.
        let from = quiet.compactMap { round in round.quietFromMs.map { $0 - round.faults[0].atMs } }
        #expect(from.contains { $0 <= 0 } && from.contains { $0 > 0 })
        for (round, from) in zip(quiet, from) {
            #expect(from >= -ChaosSchedule.quietBeforeMs)
            #expect(from <= max(round.faults[0].fault.ms, ChaosSchedule.aftermathMs))
            // Something was sent in every round.
            #expect((round.quietFromMs ?? 0) > 0)
        }
    }

    @Test func twoFaultsAtOnceHaveDifferentTargets() {
        let pairs = rounds(500, seed: 3).map { $0.faults.map(\.fault.target) }.filter { $0.count == 2 }
        #expect(pairs.count > 50)
        #expect(pairs.allSatisfy { $0[0] != $0[1] })
    }

    @Test func pausesAreShorterAndLongerThanTheLease() {
        let pauses = rounds(500, seed: 5).flatMap(\.faults).compactMap { timed -> Int? in
            if case .pause(let node, let ms) = timed.fault, node.hasPrefix("worker") { ms } else { nil }
        }
        #expect(pauses.contains { $0 > 2_000 })
        #expect(pauses.contains { $0 < 1_000 })
    }
}
