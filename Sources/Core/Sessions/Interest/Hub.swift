package import LiveModel

/// The subscriptions of one event loop, from their start to their end: which of them get a delivery, and what their
/// clients are sent.
///
/// The performer knows the sessions of the subscriptions and delivers. Two performers exist: `LoopHub`, and the
/// simulator.
package struct Hub: Sendable {
    package typealias Handle = SubscriptionTable.Handle

    /// An update that a session sends to its client.
    package typealias Update = SubscriptionUpdate<LiveResult>

    private var table = SubscriptionTable()

    package init() {}

    package var subscriptionCount: Int { table.count }

    /// Adds a subscription that `GatewayMachine.subscribed` has accepted.
    /// - Parameter confirmsKnown: whether to confirm once that the client's result is still current.
    /// - Returns: the subscription, and what its session sends at once, after storing the handle.
    package mutating func subscribed(
        _ key: LiveQueryKey, known: KnownResult?, reportsTimerRuns: Bool, confirmsKnown: Bool = false,
        start: InterestMachine.Start
    ) -> (handle: Handle, immediate: Update?) {
        let handle = table.insert(
            key, known: known, fromAnnouncement: start.fromAnnouncement, fencedUntil: start.fencedUntil,
            reportsTimerRuns: reportsTimerRuns, confirmsKnown: confirmsKnown)
        guard let immediate = start.immediate, table.deliver(immediate, to: handle) else { return (handle, nil) }
        return (handle, Self.update(immediate))
    }

    /// - Returns: whether the subscription existed; then pass its end to `GatewayMachine.unsubscribed`.
    package mutating func unsubscribed(_ handle: Handle) -> Bool { table.remove(handle) }

    /// The result that the client of a subscription has, as far as it is known.
    package func known(_ handle: Handle) -> KnownResult? { table.known(handle) }

    package func contains(_ handle: Handle) -> Bool { table.contains(handle) }

    /// Whether a requested run makes sense. Before the first result it does not: that result is the answer.
    package func acceptsRerun(_ handle: Handle) -> Bool { table.isServed(handle) }

    /// Makes the answer to this announcement, or a later one, due to the subscription even if it is unchanged.
    package mutating func rerunRequested(_ handle: Handle, announcement: UInt64) {
        table.owe(handle, from: announcement)
    }

    package mutating func forgetPositions(_ key: LiveQueryKey, from announcement: UInt64) {
        table.forgetPositions(key, from: announcement)
    }

    /// Takes a delivery for the live query's subscriptions.
    /// - Returns: what to send, and to which subscriptions; nil: nothing. Sending to one session may end others, so
    ///   check `contains` before each.
    package mutating func take(
        _ delivery: InterestMachine.Delivery, key: LiveQueryKey, answers: UInt64
    ) -> (update: Update, due: [Handle])? {
        let due = table.take(delivery, key: key, answers: answers)
        return due.isEmpty ? nil : (Self.update(delivery), due)
    }

    private static func update(_ delivery: InterestMachine.Delivery) -> Update {
        switch delivery {
        case .result(let result), .unchangedTick(let result): .result(result)
        case .unchanged(let digest, let position): .unchanged(KnownResult(digest: digest, position: position))
        case .failed(let error), .unanswered(let error): .failed(error)
        }
    }
}
