import Pacing

/// The delay before a client reconnects: exponential back-off, at least the server's `Retry-After`, with jitter, since
/// other clients lost their connections at the same moment.
package enum ReconnectDelay {
    /// The limit on a server's `Retry-After`.
    package static let retryAfterMaxMs: Int64 = 300_000

    /// - Parameters:
    ///   - failures: the consecutive failed attempts so far.
    ///   - retryAfterMs: the refusal's `Retry-After`. It is in whole seconds, so clients given the same value spread
    ///     over the following second.
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

    /// Parses a `Retry-After` header; nil for the form with a date, which Freshet does not send.
    package static func retryAfterMs(_ header: String?) -> Int64? {
        guard let seconds = header.flatMap({ Int64($0) }), (0...1_000_000_000).contains(seconds) else { return nil }
        return seconds * 1_000
    }
}
