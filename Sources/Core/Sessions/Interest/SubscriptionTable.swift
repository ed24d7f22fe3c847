package import LiveModel

/// The subscriptions of one event loop, by live query.
///
/// Generic over the session, which it never touches: it decides who gets a delivery, its caller hands it over. A
/// session gets nothing twice and nothing older than what it has.
package struct SubscriptionTable<Session> {
    package struct Subscription {
        package let session: Session
        /// The protocol's id within the session.
        package let id: String
        /// What the client holds, once something was delivered or it said so.
        var digest: Digest?
        var position: Position?
        /// Takes what answers this announcement of the gateway or a later one: `InterestMachine.Start`.
        var fromAsk: UInt64
        /// Told of a timer's runs that change nothing.
        var wantsTicks = false
        /// Something was delivered.
        var isServed = false
        /// The client asked for a run: what answers this announcement or a later one is due though it be the same.
        var owedFrom: UInt64?
    }

    /// Handle of a subscription in this table; never reused.
    package struct Handle: Hashable, Sendable {
        package let key: LiveQueryKey
        let number: UInt64
    }

    private var queries: [LiveQueryKey: [UInt64: Subscription]] = [:]
    private var nextNumber: UInt64 = 0
    package private(set) var count = 0

    package init() {}

    package mutating func insert(
        _ session: Session, id: String, key: LiveQueryKey, known: KnownResult?, fromAsk: UInt64 = 0,
        wantsTicks: Bool = false
    ) -> Handle {
        nextNumber += 1
        queries[key, default: [:]][nextNumber] = Subscription(
            session: session, id: id, digest: known?.digest, position: known?.position, fromAsk: fromAsk,
            wantsTicks: wantsTicks)
        count += 1
        return Handle(key: key, number: nextNumber)
    }

    /// - Returns: false when it was gone already.
    @discardableResult
    package mutating func remove(_ handle: Handle) -> Bool {
        guard queries[handle.key]?.removeValue(forKey: handle.number) != nil else { return false }
        if queries[handle.key]?.isEmpty == true { queries[handle.key] = nil }
        count -= 1
        return true
    }

    /// Marks the delivery as handed over where it is due, and returns those subscriptions.
    ///
    /// Returned rather than called back, because a session may end its subscription, or another one's, when it gets
    /// something; `contains` tells whether a subscription is still there.
    package mutating func take(
        _ delivery: InterestMachine.Delivery, key: LiveQueryKey, answers: UInt64 = .max
    ) -> [(subscription: Subscription, handle: Handle)] {
        guard var subscriptions = queries[key] else { return [] }
        queries[key] = nil  // the only reference, so that the loop changes in place
        var due: [(subscription: Subscription, handle: Handle)] = []
        var index = subscriptions.values.startIndex
        let end = subscriptions.values.endIndex
        while index != end {
            if answers >= subscriptions.values[index].fromAsk,
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

    /// The same for one subscription, as the answer to its start.
    /// - Returns: whether it is to be handed over.
    package mutating func deliver(_ delivery: InterestMachine.Delivery, to handle: Handle) -> Bool {
        guard queries[handle.key]?[handle.number] != nil else { return false }
        return Self.take(delivery, &queries[handle.key]![handle.number]!, 0)
    }

    /// Whether something was delivered to it; a client that asks for a run before gets its answer by the first result.
    package func isServed(_ handle: Handle) -> Bool {
        queries[handle.key]?[handle.number]?.isServed ?? false
    }

    /// What answers the announcement `ask` or a later one is due.
    package mutating func owe(_ handle: Handle, from ask: UInt64) {
        queries[handle.key]?[handle.number]?.owedFrom = ask
    }

    private static func take(
        _ delivery: InterestMachine.Delivery, _ subscription: inout Subscription, _ answers: UInt64
    ) -> Bool {
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
        case .result(let result), .again(let result):
            // What has no order with the client's position was run after the client came: `fromAsk`.
            if let position = subscription.position, position.isOrdered(with: result.position),
                result.position < position
            {
                return false
            }
            if subscription.digest == result.digest {
                subscription.position = result.position
                if case .again = delivery { return subscription.wantsTicks || isOwed }
                return isOwed
            }
            subscription.digest = result.digest
            subscription.position = result.position
            return true
        case .unchanged(let digest, let position):
            guard subscription.digest == digest else { return false }
            if let held = subscription.position, held.isOrdered(with: position), held > position { return false }
            subscription.position = position
            return false
        case .failed:
            // Whatever comes next is news again.
            subscription.digest = nil
            return true
        }
    }
}
