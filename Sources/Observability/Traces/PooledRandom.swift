internal import CLinux
internal import Synchronization

/// The system's random numbers, fetched 64 at a time: one system call for each would cost more than making the identity.
package struct PooledRandom: RandomNumberGenerator, Sendable {
    private static let poolSize = 64
    private static let pool = Mutex<[UInt64]>([])

    package init() {}

    package mutating func next() -> UInt64 {
        Self.pool.withLock { pool in
            if pool.isEmpty { pool = Self.fetch() }
            // Each number is given out once, and not kept.
            return pool.removeLast()
        }
    }

    private static func fetch() -> [UInt64] {
        let bytesCount = poolSize * MemoryLayout<UInt64>.size
        return [UInt64](unsafeUninitializedCapacity: poolSize) { words, count in
            // Up to 256 bytes come whole, more may be cut short (getrandom(2)).
            var filled = 0
            while filled < bytesCount {
                let more = getrandom(
                    UnsafeMutableRawPointer(words.baseAddress!) + filled, min(256, bytesCount - filled), 0)
                if more > 0 { filled += more }
            }
            count = poolSize
        }
    }
}
