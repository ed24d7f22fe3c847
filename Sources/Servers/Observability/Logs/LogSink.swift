import Clocks
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The destination of finished lines, each with its newline.
protocol LogSink: Sendable {
    func write(_ line: [UInt8])
    /// Milliseconds since 1970, for the line's time.
    func nowMs() -> Int64
}

/// Standard error, unbuffered: a line is written before the next statement runs, even if the process then dies.
final class StandardErrorSink: LogSink {
    /// Keeps a line together when `write` accepts it in pieces only.
    private let turn = Mutex<Void>(())

    func write(_ line: [UInt8]) {
        turn.withLock { _ in
            var rest = line[...]
            while !rest.isEmpty {
                let written = rest.withUnsafeBytes { writeBytes(STDERR_FILENO, $0.baseAddress, $0.count) }
                if written < 0 {
                    if errno == EINTR { continue }
                    // Closed, full or non-blocking: the line is dropped rather than waited for.
                    return
                }
                rest = rest.dropFirst(written)
            }
        }
    }

    func nowMs() -> Int64 { WallClock.nowMs() }
}

/// `write(2)` under a name that the method of the same name does not hide.
private func writeBytes(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
