import FoundationEssentials
import JSON
import SeededRandom

/// Random values whose sequence depends on the seed alone.
struct ValueGenerator: RandomNumberGenerator {
    /// The seed of this run: `FRESHET_SEED`, else a fixed one.
    static let seed: UInt64 = ProcessInfo.processInfo.environment["FRESHET_SEED"].flatMap { UInt64($0) } ?? 20_251_121

    var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func next() -> UInt64 { random.next() }

    mutating func below(_ bound: Int) -> Int { random.below(bound) }

    mutating func value(depth: Int) -> JSONValue {
        switch below(depth > 0 ? 9 : 6) {
        case 0: return .null
        case 1: return .bool(below(2) == 0)
        case 2: return .int(Int64(bitPattern: next()) >> Int64(below(64)))
        case 3: return .double(double())
        case 4, 5: return .string(text())
        case 6: return .array((0..<below(5)).map { _ in value(depth: depth - 1) })
        // Past the number of members from which an index is kept, too.
        default:
            return .object(
                JSONObject((0..<below(below(4) == 0 ? 30 : 5)).map { _ in (text(), value(depth: depth - 1)) }))
        }
    }

    /// Any finite double: half of them of random bits, half short decimals.
    mutating func double() -> Double {
        if below(2) == 0 {
            return Double(below(2_000_000) - 1_000_000) / Double([1, 10, 1_000, 4].randomElement(using: &self)!)
        }
        while true {
            let double = Double(bitPattern: next())
            if double.isFinite { return double }
        }
    }

    mutating func text() -> String {
        let parts = [
            "a", "key", "é", "e\u{301}", "🌾", "\"", "\\", "\n", "\u{0}", "\u{1F}", "\u{7F}", "/", " ", "\u{FFFD}",
        ]
        return (0..<below(9)).map { _ in parts.randomElement(using: &self)! }.joined()
    }
}
