import CLinux
import Synchronization

/// The system's random numbers, fetched 64 at a time, because a system call for each would be slow.
package struct PooledRandom: RandomNumberGenerator, Sendable {
    private static let poolSize = 64
    private static let pool = Mutex<[UInt64]>([])

    package init() {}

    package mutating func next() -> UInt64 {
        Self.pool.withLock { pool in
            if pool.isEmpty { pool = Self.fetch() }
            // Each number is used once.
            return pool.removeLast()
        }
    }

    private static func fetch() -> [UInt64] {
        [UInt64](unsafeUninitializedCapacity: poolSize) { words, count in
            var filled = 0
            // Requests of up to 256 bytes are answered in full (getrandom(2)).
            for start in stride(from: 0, to: poolSize, by: 32) {
                let part = UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(words)[(start * 8)..<((start + 32) * 8)])
                guard getrandom(part.baseAddress, part.count, 0) == part.count else { break }
                filled += 32
            }
            // If that was interrupted or is not permitted, the standard library has fallbacks, or traps.
            var system = SystemRandomNumberGenerator()
            while filled < poolSize {
                words[filled] = system.next()
                filled += 1
            }
            count = poolSize
        }
    }
}
