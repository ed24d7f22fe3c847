import Pacing

/// How long a client waits before it connects again: exponential back-off, and never before the time that the server
/// asked for. All of it with jitter, since the others lost their connection in the same moment.
package enum ReconnectDelay {
    /// A server that asks for more is believed this much.
    package static let retryAfterMaxMs: Int64 = 300_000

    /// - Parameters:
    ///   - failures: attempts in a row that failed before this one.
    ///   - retryAfterMs: of the refusal (`Retry-After`). It is told in whole seconds, so those who were told the same
    ///     spread over the second that follows.
    package static func ms(
        failures: Int, minMs: Int64, maxMs: Int64, retryAfterMs: Int64?, using random: inout some RandomNumberGenerator
    ) -> Int64 {
        let backoff = Backoff(minMs: minMs, maxMs: maxMs)
        let backoffMs = backoff.delayMs(after: failures) { Int64.random(in: $0, using: &random) }
        guard let retryAfterMs, retryAfterMs > 0 else { return backoffMs }
        return max(backoffMs, min(retryAfterMs, retryAfterMaxMs) + Int64.random(in: 0..<1_000, using: &random))
    }

    package static func ms(failures: Int, minMs: Int64, maxMs: Int64, retryAfterMs: Int64?) -> Int64 {
        var random = SystemRandomNumberGenerator()
        return ms(failures: failures, minMs: minMs, maxMs: maxMs, retryAfterMs: retryAfterMs, using: &random)
    }

    /// The value of a `Retry-After` header; nil for the form with a date, which Freshet does not send.
    package static func retryAfterMs(_ header: String?) -> Int64? {
        guard let seconds = header.flatMap({ Int64($0) }), (0...1_000_000_000).contains(seconds) else { return nil }
        return seconds * 1_000
    }
}
