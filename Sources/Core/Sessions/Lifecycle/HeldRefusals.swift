/// Refusals of subscriptions that wait for a repeated request under the same id: a client that asks twice in a row gets
/// one answer to both. Bound: `countMax`.
package struct HeldRefusals: Sendable {
    package enum Step: Sendable, Hashable {
        /// Send it now: there is no room for it to wait.
        case send([UInt8])
        /// The refusal waits; a timer is set.
        case hold
        /// The refusal waits; call `timerFired` after this time.
        case setTimer(ms: Int64)
    }

    private struct Refusal {
        let bytes: [UInt8]
        let dueMs: Int64
        /// Orders the refusals.
        let number: UInt64
    }

    /// The time that a refusal waits: more than lies between two messages that a client sends in a row.
    package static let delayMs: Int64 = 20
    /// The most refusals that wait; further ones are sent at once.
    package static let countMax = 256

    private var held: [String: Refusal] = [:]
    private var lastNumber: UInt64 = 0
    private var isTimerSet = false

    package init() {}

    package var count: Int { held.count }

    /// Handles the refusal of a subscription, which replaces the one that waits under its id.
    package mutating func refused(_ id: String, _ bytes: [UInt8], nowMs: Int64) -> Step {
        held[id] = nil
        guard held.count < Self.countMax else { return .send(bytes) }
        lastNumber += 1
        held[id] = Refusal(bytes: bytes, dueMs: nowMs + Self.delayMs, number: lastNumber)
        if isTimerSet { return .hold }
        isTimerSet = true
        return .setTimer(ms: Self.delayMs)
    }

    /// The client asked again, or cancelled: a refusal that waits is not sent.
    package mutating func withdraw(_ id: String) { held[id] = nil }

    /// - Returns: the refusals to send, and when to call this method again; nil: not before the next `setTimer`.
    package mutating func timerFired(nowMs: Int64) -> (due: [[UInt8]], nextMs: Int64?) {
        let due = held.filter { $0.value.dueMs <= nowMs }
        for id in due.keys { held[id] = nil }
        let nextMs = held.values.map(\.dueMs).min().map { $0 - nowMs }
        isTimerSet = nextMs != nil
        return (Self.inOrder(due.values), nextMs)
    }

    /// Returns all refusals, to send before the connection is closed. None waits any more.
    package mutating func takeAll() -> [[UInt8]] {
        defer { held = [:] }
        return Self.inOrder(held.values)
    }

    private static func inOrder(_ refusals: some Sequence<Refusal>) -> [[UInt8]] {
        refusals.sorted { $0.number < $1.number }.map(\.bytes)
    }
}
