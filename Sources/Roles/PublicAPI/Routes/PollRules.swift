import LiveModel
import Sessions

/// How long a long-poll waits, and what answers it at its end.
enum PollRules {
    /// The range of the timeout of the final read after a long-poll, which is as long as the wait was.
    private static let finalReadMs: ClosedRange<Int64> = 1_000...5_000

    /// Whether a request counts as the beginning of a session, which is rate-limited. A poll with a tag does not: it
    /// continues an earlier one, and clients that are already here are not rate-limited.
    /// - Parameters:
    ///   - isPoll: whether the client is ready to wait.
    ///   - hasTag: whether the client says which result it holds.
    static func countsAsSession(isStream: Bool, isPoll: Bool, hasTag: Bool) -> Bool {
        isStream || (isPoll && !hasTag)
    }

    /// The wait ends with the sender's token.
    static func waitMs(requestedMs: Int64, expiresAtMs: Int64?, nowMs: Int64) -> Int64 {
        expiresAtMs.map { min(requestedMs, max(0, $0 - nowMs)) } ?? requestedMs
    }

    static func finalReadMs(requestedMs: Int64) -> Int64 {
        max(finalReadMs.lowerBound, min(requestedMs, finalReadMs.upperBound))
    }

    /// Returns the error that the client gets instead of an answer.
    /// - Parameters:
    ///   - refusal: of the sender's authorization, which may have changed during the wait.
    ///   - isExpired: whether the sender's token has expired, which matters only for a result.
    static func refusal(_ refusal: RequestError?, isResult: Bool, isExpired: @autoclosure () -> Bool) -> RequestError? {
        if let refusal { return refusal }
        return isResult && isExpired() ? .tokenExpired : nil
    }

    /// Returns what the client has after a read from the database, which has no position: that of the same result.
    static func read(_ digest: Digest, known: KnownResult?) -> KnownResult {
        KnownResult(digest: digest, position: known?.digest == digest ? known?.position : nil)
    }
}
