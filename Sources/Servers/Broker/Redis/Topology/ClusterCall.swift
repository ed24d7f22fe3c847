import Pacing
import Streams

/// One call of a cluster, from attempt to attempt: where each goes, and what follows on its outcome.
///
/// Bound: the caller's deadline. `redirectsMax` redirections are followed at once; later ones wait like any other
/// retry.
struct ClusterCall {
    typealias Endpoint = RedisConfiguration.Endpoint

    private static let redirectsMax = 5
    private static let pauseMinMs = 5
    private static let pauseMaxMs = 200

    /// The node of the next attempt.
    enum Destination: Equatable {
        /// The primary of the slot, as the slot map has it then.
        case owner
        /// This node, with the commands after `ASKING`.
        case asking(Endpoint)
    }

    private(set) var destination = Destination.owner
    private var failedAttempts = 0
    private var followsAtOnce = false
    private var pause = JitteredBackoff(minMs: pauseMinMs, maxMs: pauseMaxMs)
    /// The reason that the latest attempt failed.
    private var lastError = BrokerError(.unavailable, "the cluster's slots are unknown")

    // MARK: Outcomes

    /// The meaning of an attempt for the caller and the slot map.
    enum Verdict: Equatable {
        case answer([RedisValue])
        case fail(BrokerError)
        /// The slot is another node's; retry.
        case moved(slot: Int, Endpoint)
        /// The slot map may be outdated; retry.
        case outdated
        /// The slot map is right; retry elsewhere.
        case redirected
    }

    /// - Parameter values: the replies, with that to `ASKING`.
    mutating func replied(_ values: [RedisValue], by asked: Endpoint) -> Verdict {
        let answers = if case .asking = destination { Array(values.dropFirst()) } else { values }
        guard let refusal = Self.refusal(in: answers), let redirection = Redirection(refusal, asked: asked) else {
            return .answer(answers)
        }
        return failed(refusal.brokerError, redirection)
    }

    /// The attempt got no reply. Only what was certainly not executed is retried.
    mutating func failed(_ error: BrokerError) -> Verdict {
        error.code == .unavailable ? failed(error, .later) : .fail(error)
    }

    private mutating func failed(_ error: BrokerError, _ redirection: Redirection) -> Verdict {
        lastError = error
        failedAttempts += 1
        followsAtOnce = redirection != .later && failedAttempts <= Self.redirectsMax
        destination = .owner
        switch redirection {
        case .moved(let slot, let endpoint): return .moved(slot: slot, endpoint)
        case .ask(let endpoint):
            destination = .asking(endpoint)
            return .redirected
        case .later: return .outdated
        }
    }

    /// When a failed call is sent again.
    enum Retry: Equatable {
        case atOnce
        case after(ms: Int)
        case never(BrokerError)
    }

    /// - Parameters:
    ///   - leftMs: the time until the deadline.
    ///   - random: picks a number from a range.
    mutating func retry(leftMs: Int, _ random: (ClosedRange<Int>) -> Int) -> Retry {
        if followsAtOnce { return .atOnce }
        let waitMs = min(pause.nextMs(random), leftMs)
        return waitMs > 0 ? .after(ms: waitMs) : .never(lastError)
    }

    /// Returns the error with which a server refused everything: the reply to the first command, or to one in a
    /// transaction.
    static func refusal(in values: [RedisValue]) -> RedisFailure? {
        if case .error(let failure) = values.first { return failure }
        guard case .error(let end) = values.last, end.word == "EXECABORT" else { return nil }
        for case .error(let failure) in values { return failure }
        return nil
    }
}
