import FoundationEssentials
import Testing

/// The whole system under one seed, many seeds.
///
/// `FRESHET_SEED=n` runs that one, `FRESHET_SEEDS=n` the first n.
@Suite struct SimulationTests {
    private static let quickSeeds: UInt64 = 24
    /// Seeds that failed once.
    private static let formerFailures: [UInt64] = [144, 257]
    /// A deliberate mistake must be noticed within so many seeds.
    private static let noticedWithin: UInt64 = 40

    static var seeds: [UInt64] {
        let environment = ProcessInfo.processInfo.environment
        if let one = environment["FRESHET_SEED"].flatMap(UInt64.init) { return [one] }
        let count = environment["FRESHET_SEEDS"].flatMap(UInt64.init) ?? quickSeeds
        return (count == 0 ? [] : Array(1...count)) + formerFailures
    }

    @Test func everySeedKeepsEveryPromise() throws {
        var failed: [UInt64: String] = [:]
        for seed in Self.seeds {
            if let violation = try World(seed: seed, sabotage: .none).run() { failed[seed] = violation }
        }
        print("simulation: \(Self.seeds.count) seeds, \(failed.count) failed")
        for (seed, violation) in failed.sorted(by: { $0.key < $1.key }) {
            Issue.record("FRESHET_SEED=\(seed): \(violation)")
        }
    }

    @Test(arguments: Sabotage.allCases.filter { $0 != .none })
    func aMistakeIsNoticed(sabotage: Sabotage) throws {
        for seed in 1...Self.noticedWithin {
            if let violation = try World(seed: seed, sabotage: sabotage).run() {
                print("simulation: \(sabotage) noticed at seed \(seed): \(violation)")
                return
            }
        }
        Issue.record("\(sabotage) was not noticed within \(Self.noticedWithin) seeds")
    }

    @Test func aSeedDecidesEverything() throws {
        let runs = try (0..<2).map { _ in
            let world = try World(seed: 4_711, sabotage: .none)
            _ = world.run()
            return
                "\(world.timeline.stepCount) \(world.timeline.nowMs) \(world.database.versions.sorted { $0.key < $1.key })"
        }
        #expect(runs[0] == runs[1])
    }
}
