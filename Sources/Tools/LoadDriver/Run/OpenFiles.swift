import Glibc

package enum OpenFiles {
    /// Descriptors needed in addition to one for each subscriber: the pool, event loops, libraries.
    static let reserve = HTTPPool.connectionsMax + 128

    /// Raises the soft limit of open files to the hard limit.
    /// - Returns: the resulting limit.
    package static func raiseLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }
}
