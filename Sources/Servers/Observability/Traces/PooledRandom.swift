import CLinux
import Synchronization

/// The system's random numbers, fetched 64 at a time: one system call for each would cost more than making the
/// identity.
package struct PooledRandom: RandomNumberGenerator, Sendable {
    private static let poolSize = 64
    private static let pool = Mutex<[UInt64]>([])

    package init() {}

    package mutating func next() -> UInt64 {
        Self.pool.withLock { pool in
            if pool.isEmpty { pool = Self.fetch() }
            // Each number is given out once.
            return pool.removeLast()
        }
    }

    private static func fetch() -> [UInt64] {
        [UInt64](unsafeUninitializedCapacity: poolSize) { words, count in
            var filled = 0
            // Up to 256 bytes come whole (getrandom(2)).
            for start in stride(from: 0, to: poolSize, by: 32) {
                let part = UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(words)[(start * 8)..<((start + 32) * 8)])
                guard getrandom(part.baseAddress, part.count, 0) == part.count else { break }
                filled += 32
            }
            // Interrupted or not allowed: the library knows other ways, and gives up where there is none.
            var system = SystemRandomNumberGenerator()
            while filled < poolSize {
                words[filled] = system.next()
                filled += 1
            }
            count = poolSize
        }
    }
}
