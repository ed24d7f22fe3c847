/// A SplitMix64 generator: one seed determines all random numbers of a simulation, load test, benchmark or test.
/// Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    /// Creates an independent generator for another purpose of the same run: draws from one do not affect the other.
    package init(seed: UInt64, stream: UInt64) {
        self.init(seed: seed)
        state ^= (stream &+ 1) &* 0xD6E8_FEB8_6659_FD93
        _ = next()
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number in `0..<bound`; `bound` must be positive. Not perfectly uniform, but the same on every machine.
    package mutating func below(_ bound: Int) -> Int {
        Int(next() % UInt64(bound))
    }
}
