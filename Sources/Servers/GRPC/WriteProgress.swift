import NIOCore

/// Whether a client takes what is written for it, judged by the bytes that wait and when they last moved.
struct WriteProgress {
    /// Accepted and not yet taken.
    private(set) var pendingBytes = 0
    /// When bytes began to wait or last moved; meaningful while some wait.
    private var movedAt = NIODeadline.uptimeNanoseconds(0)

    mutating func accepted(_ bytes: Int, now: NIODeadline) {
        if pendingBytes == 0 { movedAt = now }
        pendingBytes += bytes
    }

    mutating func taken(_ bytes: Int, now: NIODeadline) {
        pendingBytes -= bytes
        movedAt = now
    }

    /// When a client that goes on taking nothing is stalled; nil while nothing waits.
    func stallDeadline(timeoutMs: Int64) -> NIODeadline? {
        pendingBytes == 0 ? nil : movedAt + .milliseconds(timeoutMs)
    }
}
