package import LiveModel

/// Decides what happens with a mutation that has an idempotency key, until it was applied once and its answer is known:
/// attempts, waiting while another mutation has the key, and what a kept answer means. A pure value.
///
/// An attempt claims the key in the mutation's own transaction, before anything else. The unique row in Postgres
/// decides who is first; nothing is remembered in memory, so any node can answer a retry.
package struct KeyedMutation: Sendable {
    package struct Settings: Sendable {
        /// The time for which an answer is kept.
        package var keepMs: Int64 = 86_400_000
        /// The largest answer that is kept: the bytes of its data and its errors.
        package var answerBytesMax = 262_144
        /// The time for which a retry waits while the first mutation is under way.
        package var waitMs: Int64 = 10_000

        package init() {}
    }

    /// Why an attempt ended before it did anything.
    package enum Refusal: Sendable, Hashable {
        /// A mutation with this key was committed.
        case taken
        /// A mutation with this key is under way.
        case inUse
    }

    /// The row of a key.
    package struct Kept: Sendable, Hashable {
        package let isSameRequest: Bool
        package let isExpired: Bool
        /// Nil if it was larger than `answerBytesMax`.
        package let answer: KeptAnswer?

        package init(isSameRequest: Bool, isExpired: Bool, answer: KeptAnswer?) {
            self.isSameRequest = isSameRequest
            self.isExpired = isExpired
            self.answer = answer
        }
    }

    package enum Step: Sendable, Hashable {
        /// Run the transaction; after a refusal, call `refused`.
        case attempt
        /// Read the row of the key, then call `found`.
        case read
        /// Remove the row, which is older than `keepMs`, then call `removed`.
        case remove
        /// See after this time whether the key is still in use, then call `looked`.
        case look(afterMs: Int64)
        case replay(KeptAnswer)
        case fail(RequestError)
    }

    /// The attempts of one request: rows can only vanish between an attempt and a read by expiring, or if an operator
    /// removes them.
    package static let attemptsMax = 5
    static let lookFirstMs: Int64 = 5
    /// The longest pause, by which an answer may be late.
    static let lookMaxMs: Int64 = 100

    private let deadlineMs: Int64
    private var attempts = 1
    private var pauseMs = lookFirstMs
    /// Whether it has waited for another mutation.
    package private(set) var hasWaited = false

    /// - Parameter nowMs: a monotonic time.
    package init(_ settings: Settings, nowMs: Int64) {
        deadlineMs = nowMs + settings.waitMs
    }

    package mutating func refused(_ refusal: Refusal, nowMs: Int64) -> Step {
        switch refusal {
        case .taken: return .read
        case .inUse:
            hasWaited = true
            return look(nowMs: nowMs)
        }
    }

    /// - Parameter row: nil if there is none any more.
    package mutating func found(_ row: Kept?) -> Step {
        guard let row else { return attemptAgain() }
        if row.isExpired { return .remove }
        guard row.isSameRequest else {
            return .fail(
                RequestError(
                    .idempotencyKeyReused, "this idempotency key was used for another operation or other variables"))
        }
        guard let answer = row.answer else {
            return .fail(
                RequestError(
                    .alreadyApplied,
                    "the mutation with this idempotency key was applied; its answer was too large to keep"))
        }
        return .replay(answer)
    }

    package mutating func removed() -> Step { attemptAgain() }

    /// - Parameter isFree: whether no mutation holds the key.
    package mutating func looked(isFree: Bool, nowMs: Int64) -> Step {
        guard isFree else { return look(nowMs: nowMs) }
        // Another one that waited may be first to claim it again; the deadline bounds how often.
        return nowMs < deadlineMs ? .attempt : Self.inUse
    }

    private mutating func look(nowMs: Int64) -> Step {
        guard nowMs < deadlineMs else { return Self.inUse }
        let pause = min(pauseMs, deadlineMs - nowMs)
        pauseMs = min(2 * pauseMs, Self.lookMaxMs)
        return .look(afterMs: pause)
    }

    private mutating func attemptAgain() -> Step {
        attempts += 1
        return attempts <= Self.attemptsMax ? .attempt : Self.inUse
    }

    private static let inUse = Step.fail(
        RequestError(.idempotencyKeyInUse, "the first mutation with this idempotency key is still under way"))
}
