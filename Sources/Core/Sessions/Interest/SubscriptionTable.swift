package import LiveModel

/// The subscriptions of one event loop, by live query.
///
/// Generic over the session, which it never touches: it decides which subscriptions get a delivery, and the caller
/// delivers it. A session gets nothing twice, and nothing older than the result it has.
package struct SubscriptionTable<Session> {
    package struct Subscription {
        package let session: Session
        /// The protocol's id within the session.
        package let id: String
        /// The result that the client holds, from the last delivery or by its own claim.
        var digest: Digest?
        var position: Position?
        /// The first announcement whose answers the subscription accepts (`InterestMachine.Start`).
        var fromAnnouncement: UInt64
        /// The first announcement whose answers the client's claim does not fence (`InterestMachine.Start`); `.max`:
        /// none.
        var claimUntil: UInt64
        /// Whether the subscription gets timer runs that change nothing.
        var reportsTimerRuns = false
        /// Whether anything was delivered.
        var isServed = false
        /// Whether the owner's answer has arrived, with or without anything to deliver.
        var isAnswered = false
        /// Set if the client requested a run: an answer to this announcement or a later one is due even if unchanged.
        var owedFrom: UInt64?
    }

    /// The handle of a subscription in this table; never reused.
    package struct Handle: Hashable, Sendable {
        package let key: LiveQueryKey
        let number: UInt64
    }

    private var queries: [LiveQueryKey: [UInt64: Subscription]] = [:]
    private var nextNumber: UInt64 = 0
    package private(set) var count = 0

    package init() {}

    package mutating func insert(
        _ session: Session, id: String, key: LiveQueryKey, known: KnownResult?, fromAnnouncement: UInt64 = 0,
        claimUntil: UInt64 = .max, reportsTimerRuns: Bool = false
    ) -> Handle {
        nextNumber += 1
        queries[key, default: [:]][nextNumber] = Subscription(
            session: session, id: id, digest: known?.digest, position: known?.position,
            fromAnnouncement: fromAnnouncement, claimUntil: claimUntil,
            reportsTimerRuns: reportsTimerRuns)
        count += 1
        return Handle(key: key, number: nextNumber)
    }

    /// - Returns: whether the subscription existed.
    @discardableResult
    package mutating func remove(_ handle: Handle) -> Bool {
        guard queries[handle.key]?.removeValue(forKey: handle.number) != nil else { return false }
        if queries[handle.key]?.isEmpty == true { queries[handle.key] = nil }
        count -= 1
        return true
    }

    /// Marks a delivery as made to each subscription for which it is due, and returns those.
    ///
    /// The method returns instead of calling back, because a session may end its own or another session's subscription
    /// during a delivery; `contains` tells whether a subscription still exists.
    package mutating func take(
        _ delivery: InterestMachine.Delivery, key: LiveQueryKey, answers: UInt64 = .max
    ) -> [(subscription: Subscription, handle: Handle)] {
        guard var subscriptions = queries[key] else { return [] }
        queries[key] = nil  // the only reference, so that the loop changes in place
        var due: [(subscription: Subscription, handle: Handle)] = []
        var index = subscriptions.values.startIndex
        let end = subscriptions.values.endIndex
        while index != end {
            if answers >= subscriptions.values[index].fromAnnouncement,
                Self.take(delivery, &subscriptions.values[index], answers)
            {
                due.append((subscriptions.values[index], Handle(key: key, number: subscriptions.keys[index])))
            }
            subscriptions.values.formIndex(after: &index)
        }
        queries[key] = subscriptions
        return due
    }

    package func contains(_ handle: Handle) -> Bool {
        queries[handle.key]?[handle.number] != nil
    }

    /// Marks a delivery for one subscription, as the answer to its start.
    /// - Returns: whether to deliver it.
    package mutating func deliver(_ delivery: InterestMachine.Delivery, to handle: Handle) -> Bool {
        guard queries[handle.key]?[handle.number] != nil else { return false }
        return Self.take(delivery, &queries[handle.key]![handle.number]!, 0)
    }

    /// Whether anything was delivered to the subscription. A client that requests a run earlier gets its answer with
    /// the first result.
    package func isServed(_ handle: Handle) -> Bool {
        queries[handle.key]?[handle.number]?.isServed ?? false
    }

    /// Makes the answer to this announcement or a later one due.
    package mutating func owe(_ handle: Handle, from announcement: UInt64) {
        queries[handle.key]?[handle.number]?.owedFrom = announcement
    }

    /// Forgets the positions of the live query's subscriptions, because they are not comparable with those to come, and
    /// accepts only answers to this announcement or a later one.
    package mutating func forgetPositions(_ key: LiveQueryKey, from announcement: UInt64) {
        for number in queries[key]?.keys.sorted() ?? [] {
            queries[key]?[number]?.position = nil
            queries[key]?[number]?.fromAnnouncement = announcement
        }
    }

    private static func take(
        _ delivery: InterestMachine.Delivery, _ subscription: inout Subscription, _ answers: UInt64
    ) -> Bool {
        if case .unanswered = delivery {
            if subscription.isAnswered { return false }
            subscription.isAnswered = true
            // The next delivery is new to the client.
            subscription.digest = nil
            return true
        }
        if answers >= subscription.claimUntil, subscription.claimUntil < .max {
            (subscription.position, subscription.claimUntil) = (nil, .max)
        }
        let isOwed = subscription.owedFrom.map { $0 <= answers } ?? false
        guard isNews(delivery, &subscription, isOwed: isOwed) else { return false }
        subscription.isServed = true
        if isOwed { subscription.owedFrom = nil }
        return true
    }

    private static func isNews(
        _ delivery: InterestMachine.Delivery, _ subscription: inout Subscription, isOwed: Bool
    ) -> Bool {
        switch delivery {
        case .result(let result), .unchangedTick(let result):
            // If the positions are not comparable, `fromAnnouncement` guarantees that this result was read after the
            // client subscribed.
            if let position = subscription.position, position.isOrdered(with: result.position),
                result.position < position
            {
                return false
            }
            subscription.isAnswered = true
            if subscription.digest == result.digest {
                subscription.position = result.position
                if case .unchangedTick = delivery { return subscription.reportsTimerRuns || isOwed }
                return isOwed
            }
            subscription.digest = result.digest
            subscription.position = result.position
            subscription.claimUntil = .max
            return true
        case .unchanged(let digest, let position):
            guard subscription.digest == digest else { return false }
            subscription.isAnswered = true
            if let held = subscription.position, held.isOrdered(with: position), held > position { return false }
            subscription.position = position
            return false
        case .failed:
            subscription.isAnswered = true
            // The next delivery is new to the client.
            subscription.digest = nil
            return true
        case .unanswered: return false  // Decided above.
        }
    }
}
