import FoundationEssentials
import SeededRandom

extension SeededRandom {
    mutating func chance(_ percent: Int) -> Bool {
        below(100) < percent
    }

    /// The seed of this run: `FRESHET_SEED`, else a fixed one.
    static let seed: UInt64 = ProcessInfo.processInfo.environment["FRESHET_SEED"].flatMap { UInt64($0) } ?? 20_251_121
}
