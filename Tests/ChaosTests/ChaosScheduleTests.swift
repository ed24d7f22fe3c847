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
        for kind in [
            "kill worker", "kill gateway", "kill api", "drain worker", "drain gateway", "drain api", "pause worker",
            "cut worker-redis", "silence worker-redis", "cut api-postgres", "kill redis", "kill redis, data lost",
            "kill redis, old data",
            "pause redis", "FLUSHALL", "kill postgres",
        ] {
            #expect(kinds.contains(kind), "\(kind) in \(kinds.sorted())")
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
