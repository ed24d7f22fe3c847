/// Decides what a session does by itself, and when: it refuses a client that does not open it in time, sends keep-alive
/// messages, and ends when it was not used. Times are those of one monotonic clock; `.max`: never.
package struct SessionDeadlines: Sendable {
    /// A step of a session whose time has come.
    package enum Due: Sendable, Hashable {
        /// The client's opening message did not arrive in time.
        case opening
        case keepAlive
        /// The session was not used for too long.
        case idleEnd
    }

    private var openingMs: Int64
    private var keepAliveMs: Int64
    private var idleMs: Int64
    private let keepAliveIntervalMs: Int64
    private var idle: IdleClock

    /// - Parameter sendsKeepAlives: whether the protocol has keep-alive messages of its own.
    package init(_ limits: SessionLimits, sendsKeepAlives: Bool, nowMs: Int64) {
        idle = IdleClock(timeoutMs: limits.idleTimeoutMs, nowMs: nowMs)
        keepAliveIntervalMs = limits.keepAliveMs
        openingMs = nowMs + limits.initTimeoutMs
        keepAliveMs = sendsKeepAlives ? nowMs + limits.keepAliveMs : .max
        idleMs = limits.idleTimeoutMs > 0 ? nowMs + limits.idleTimeoutMs : .max
    }

    /// The time of the next call of `next`.
    package var firstMs: Int64 { min(openingMs, keepAliveMs, idleMs) }

    /// The client's opening message arrived.
    package mutating func opened() { openingMs = .max }

    /// The client sent a message, or an operation ended.
    package mutating func used(nowMs: Int64) { idle.used(nowMs: nowMs) }

    /// Returns a step that is due, each once; nil if none is left.
    /// - Parameters:
    ///   - hasOperations: whether the session has operations, which keep it.
    ///   - isReading: whether the client has read everything; one that does not read needs no keep-alive.
    package mutating func next(hasOperations: Bool, isReading: Bool, nowMs: Int64) -> Due? {
        if openingMs <= nowMs {
            openingMs = .max
            return .opening
        }
        if keepAliveMs <= nowMs {
            keepAliveMs = max(nowMs + 1, keepAliveMs + keepAliveIntervalMs)
            if isReading { return .keepAlive }
        }
        guard idleMs <= nowMs else { return nil }
        switch idle.timerFired(hasOperations: hasOperations, nowMs: nowMs) {
        case .wait(let ms):
            idleMs = nowMs + ms
            return nil
        case .end:
            idleMs = .max
            return .idleEnd
        }
    }
}
