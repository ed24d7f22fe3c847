import NIOCore

/// A client's progress in accepting what is written: the pending bytes and when they last moved.
struct WriteProgress {
    /// Bytes accepted from the application and not yet taken by the connection.
    private(set) var pendingBytes = 0
    /// When bytes became pending or last moved; meaningful while some are pending.
    private var movedAt = NIODeadline.uptimeNanoseconds(0)

    mutating func accepted(_ bytes: Int, now: NIODeadline) {
        if pendingBytes == 0 { movedAt = now }
        pendingBytes += bytes
    }

    mutating func taken(_ bytes: Int, now: NIODeadline) {
        pendingBytes -= bytes
        movedAt = now
    }

    /// Forgets what is pending, because the stream is over.
    mutating func ended() { pendingBytes = 0 }

    /// When a client without further progress counts as stalled; nil while nothing is pending.
    func stallDeadline(timeoutMs: Int64) -> NIODeadline? {
        pendingBytes == 0 ? nil : movedAt + .milliseconds(timeoutMs)
    }
}
