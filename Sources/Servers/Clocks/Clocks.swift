#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Time since the machine started, for deadlines and durations. It never jumps, and it also passes while the machine is
/// suspended, as it does for peers, leases and tokens.
package enum MonotonicClock {
    package static func nowNs() -> UInt64 {
        let time = read(identifier)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    package static func nowMs() -> Int64 {
        let time = read(identifier)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    #if os(Linux)
        private static let identifier = CLOCK_BOOTTIME
    #else
        private static let identifier = CLOCK_MONOTONIC
    #endif
}

/// The system's time of day since 1970, which operators and time servers may set.
package enum WallClock {
    package static func nowMs() -> Int64 {
        let time = read(CLOCK_REALTIME)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    package static func nowUs() -> Int64 {
        let time = read(CLOCK_REALTIME)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }
}

private func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    clock_gettime(clock, &time)
    return time
}
