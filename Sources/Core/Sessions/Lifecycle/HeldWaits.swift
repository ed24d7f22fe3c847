/// Waits of a session that are over but for results that the session has yet to write to a slow client.
///
/// Bound: the waits of a session, each with at most its subscriptions.
package struct HeldWaits: Sendable {
    private var held: [(id: String, behind: Set<String>)] = []

    package init() {}

    package var isEmpty: Bool { held.isEmpty }

    /// - Parameter queued: the subscriptions with results to be written; not empty.
    package mutating func hold(_ id: String, behind queued: Set<String>) { held.append((id, queued)) }

    /// The result of a subscription was written, or dropped because it ended or failed.
    /// - Returns: the waits that are over now.
    package mutating func written(_ subscription: String) -> [String] {
        for index in held.indices { held[index].behind.remove(subscription) }
        let over = held.filter(\.behind.isEmpty).map(\.id)
        held.removeAll { $0.behind.isEmpty }
        return over
    }

    package mutating func removeAll() { held = [] }
}
