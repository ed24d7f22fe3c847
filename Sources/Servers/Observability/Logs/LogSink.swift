import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Takes finished lines, each with its newline.
protocol LogSink: Sendable {
    func write(_ line: [UInt8])
    /// Milliseconds since 1970, for the line's time.
    func nowMs() -> Int64
}

/// Standard error, unbuffered: a line is out before the next statement runs, also when the process then dies.
final class StandardErrorSink: LogSink {
    /// Keeps the pieces of a line that one `write` did not take together.
    private let turn = Mutex<Void>(())

    func write(_ line: [UInt8]) {
        turn.withLock { _ in
            var rest = line[...]
            while !rest.isEmpty {
                let written = rest.withUnsafeBytes { writeBytes(STDERR_FILENO, $0.baseAddress, $0.count) }
                if written < 0 {
                    if errno == EINTR { continue }
                    // Closed, full or non-blocking: a log line is not worth waiting or failing for.
                    return
                }
                rest = rest.dropFirst(written)
            }
        }
    }

    func nowMs() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

/// `write(2)` under a name that the method of the same name does not hide.
private func writeBytes(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
