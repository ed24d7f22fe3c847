#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The CPU time and memory that this process has used since its start.
package enum ProcessUsage {
    /// CPU time of all threads, in user space and in the kernel.
    package static func cpuMs() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// The largest resident memory so far, in bytes.
    package static func peakResidentBytes() -> Int64 {
        var usage = rusage()
        #if canImport(Darwin)
            getrusage(RUSAGE_SELF, &usage)
            return Int64(usage.ru_maxrss)
        #else
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
            return Int64(usage.ru_maxrss) * 1_024
        #endif
    }
}
