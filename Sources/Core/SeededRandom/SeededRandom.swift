/// SplitMix64: one number decides everything that a simulation, a load, a benchmark or a test draws. Source: Steele, Lea, Flood, "Fast Splittable
/// Pseudorandom Number Generators", 2014.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    /// A generator for another purpose of the same run: draws of one do not shift those of the other.
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

    /// From 0 up to `bound`, which is above 0. Not uniform to the last bit, and the same on every machine.
    package mutating func below(_ bound: Int) -> Int {
        Int(next() % UInt64(bound))
    }
}
