import Pacing

/// Decides which bodies one event loop compresses.
struct CompressionPolicy {
    enum Decision: Hashable {
        case compress
        /// The body is too short or too long.
        case leave
        /// The loop has compressed as much as it may for now.
        case overBudget
    }

    /// The time after which a body that was over the budget is considered again.
    static let retryMs: Int64 = 1_000

    private let bodyBytes: ClosedRange<Int>
    private var budget: TokenBucket

    init(_ configuration: CompressionConfiguration) {
        let least = configuration.bodyBytesMin
        bodyBytes = least...max(least, configuration.bodyBytesMax)
        // Holds the longest body, which otherwise would never be compressed.
        budget = TokenBucket(
            perSecond: configuration.bytesPerSecond, burst: max(configuration.bytesPerSecond, bodyBytes.upperBound))
    }

    /// - Returns: `.compress` if the body's bytes have been taken from the budget.
    mutating func decide(byteCount: Int, nowMs: Int64) -> Decision {
        guard bodyBytes.contains(byteCount) else { return .leave }
        guard budget.available(nowMs: nowMs) >= byteCount else { return .overBudget }
        budget.take(byteCount)
        return .compress
    }
}
