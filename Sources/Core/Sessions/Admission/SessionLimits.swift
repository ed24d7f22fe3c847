/// The limits of one session.
package struct SessionLimits: Sendable {
    package var operationsMax = 1_000
    /// One-shot operations that run at a time; more wait.
    package var executesMax = 64
    package var executesWaitingMax = 1_024
    /// Waits for what was committed (`SessionAction.wait`); more are refused.
    package var waitsMax = 16
    /// Bytes of results held for a slow client, and of variables of operations that wait.
    package var bytesMax = 4 << 20
    package var initTimeoutMs: Int64 = 10_000
    /// Time between the protocol's own keep-alive messages, where it has them.
    package var keepAliveMs: Int64 = 15_000
    /// Time after which a run requested by the client is reported as failed; the subscription continues.
    package var rerunTimeoutMs: Int64 = 15_000
    package var tokenGraceMs: Int64 = 5_000
    /// Time after which a session without operations is closed; 0 means never.
    package var idleTimeoutMs: Int64 = 3_600_000

    /// Bytes of messages held while a token is verified: the client is not known yet, so it gets less.
    package var waitingBytesMax: Int { min(bytesMax, 1 << 20) }

    package init() {}
}
