import Execution
import NIOCore

/// The timers of a session, which end with it.
struct SessionTimers {
    /// The time-out of the client's first step: its opening message, or the request that opens the stream.
    var opening: Scheduled<Void>?
    /// The end of the token.
    var expiry: Scheduled<Void>?
    var idle: Scheduled<Void>?
    /// Sends the refusals that are due.
    var refusals: Scheduled<Void>?
    var keepAlive: RepeatedTask?

    mutating func cancel() {
        opening?.cancel()
        expiry?.cancel()
        idle?.cancel()
        refusals?.cancel()
        keepAlive?.cancel()
        self = SessionTimers()
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

    /// Schedules the keep-alive messages of a session.
    func scheduleKeepAlive(everyMs: Int64, _ due: @escaping @Sendable () -> Void) -> RepeatedTask {
        let interval = TimeAmount.milliseconds(everyMs)
        return scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in due() }
    }
}
