import Clocks
import Execution
import NIOCore

/// The timers of a session, which end with it. What most sessions await is in `SessionDeadlines`, which cost less.
struct SessionTimers {
    /// The timeout of the request that opens the stream.
    var opening: Scheduled<Void>?
    /// The end of the token.
    var expiry: Scheduled<Void>?
    /// Sends the refusals that are due.
    var refusals: Scheduled<Void>?

    mutating func cancel() {
        opening?.cancel()
        expiry?.cancel()
        refusals?.cancel()
        self = SessionTimers()
    }
}

/// Wakes a session whose connection has no deadline for that.
struct SessionTimer {
    private var timer: Scheduled<Void>?

    mutating func wake(_ session: ClientSession, atMs: Int64, on eventLoop: any EventLoop) {
        timer?.cancel()
        timer = nil
        guard atMs < .max else { return }
        let afterMs = max(0, atMs - MonotonicClock.nowMs())
        timer = eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(afterMs)) { [weak session] in
            session?.deadlineReached(nowMs: MonotonicClock.nowMs())
        }
    }
}

extension EventLoop {
    /// Schedules what happens at the end of an identity's token; nil if that does not end.
    func scheduleExpiry(
        of identity: Identity, _ clock: ServiceClock, _ expired: @escaping @Sendable () -> Void
    ) -> Scheduled<Void>? {
        identity.expiresAtMs.map { expiresAtMs in
            scheduleTask(in: .milliseconds(max(0, expiresAtMs - clock.nowMs())), expired)
        }
    }
}
