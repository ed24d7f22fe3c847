package import LiveModel

/// The subscriptions of one event loop, by live query.
///
/// It decides which subscriptions get a delivery, and the caller, who knows their sessions, delivers it. A session gets
/// nothing twice, and nothing older than the result it has.
///
/// One delivery concerns thousands of subscriptions. They lie in one array of values without references, so that a pass
/// over them counts no references.
package struct SubscriptionTable: Sendable {
    private struct Subscription {
        /// The number of the handle; 0: the slot is free.
        var number: UInt64
        /// The index of its live query in `queries`.
        var queryIndex: Int32
        /// Its index in the `slots` of its live query.
        var slotIndex: Int32
        /// The result that the client holds, from the last delivery or as the client reported it.
        var digest: Digest?
        var position: Position?
        /// The first announcement whose answers the subscription accepts (`InterestMachine.Start`).
        var fromAnnouncement: UInt64
        /// The first announcement whose answers the reported position does not fence (`InterestMachine.Start`);
        /// `.max`: none.
        var fencedUntil: UInt64
        /// Whether the subscription gets timer runs that change nothing.
        var reportsTimerRuns = false
        /// Whether the reported result is yet to be confirmed to the client.
        var owesConfirmation = false
        /// Whether anything was delivered.
        var isServed = false
        /// Whether the owner's answer has arrived, with or without anything to deliver.
        var isAnswered = false
        /// Set if the client requested a run: an answer to this announcement or a later one is due even if unchanged.
        var owedFrom: UInt64?
    }

    private struct Query {
        let key: LiveQueryKey
        var slots: [Int32] = []
    }

    /// The handle of a subscription in this table; never reused.
    package struct Handle: Hashable, Sendable {
        package let key: LiveQueryKey
        /// Numbers the subscriptions that exist, from 0 and with few gaps; reused.
        package let slot: Int
        fileprivate let number: UInt64
    }

    /// The slots that an empty table keeps.
    private static let keptSlotsMax = 256

    /// The subscriptions by slot.
    private var subscriptions: [Subscription] = []
    private var freeSlots: [Int32] = []
    private var queries: [Query] = []
    /// The indices of the live queries in `queries`.
    private var queryIndices: [LiveQueryKey: Int32] = [:]
    private var lastNumber: UInt64 = 0

    package init() {}

    package var count: Int { subscriptions.count - freeSlots.count }

    package mutating func insert(
        _ key: LiveQueryKey, known: KnownResult?, fromAnnouncement: UInt64 = 0, fencedUntil: UInt64 = .max,
        reportsTimerRuns: Bool = false, confirmsKnown: Bool = false
    ) -> Handle {
        let queryIndex: Int32
        if let index = queryIndices[key] {
            queryIndex = index
        } else {
            queryIndex = Int32(queries.count)
            queries.append(Query(key: key))
            queryIndices[key] = queryIndex
        }
        lastNumber += 1
        let subscription = Subscription(
            number: lastNumber, queryIndex: queryIndex, slotIndex: Int32(queries[Int(queryIndex)].slots.count),
            digest: known?.digest, position: known?.position, fromAnnouncement: fromAnnouncement,
            fencedUntil: fencedUntil, reportsTimerRuns: reportsTimerRuns,
            owesConfirmation: confirmsKnown && known != nil)
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = Int(free)
            subscriptions[slot] = subscription
        } else {
            slot = subscriptions.count
            subscriptions.append(subscription)
        }
        queries[Int(queryIndex)].slots.append(Int32(slot))
        return Handle(key: key, slot: slot, number: lastNumber)
    }

    /// - Returns: whether the subscription existed.
    @discardableResult
    package mutating func remove(_ handle: Handle) -> Bool {
        guard contains(handle) else { return false }
        let queryIndex = Int(subscriptions[handle.slot].queryIndex)
        let slotIndex = Int(subscriptions[handle.slot].slotIndex)
        let last = queries[queryIndex].slots.removeLast()
        if slotIndex < queries[queryIndex].slots.count {
            queries[queryIndex].slots[slotIndex] = last
            subscriptions[Int(last)].slotIndex = Int32(slotIndex)
        }
        if queries[queryIndex].slots.isEmpty { removeQuery(at: queryIndex) }
        subscriptions[handle.slot].number = 0
        freeSlots.append(Int32(handle.slot))
        if count == 0, subscriptions.count > Self.keptSlotsMax { (subscriptions, freeSlots) = ([], []) }
        return true
    }

    /// Replaces a live query without subscriptions by the last one.
    private mutating func removeQuery(at index: Int) {
        queryIndices[queries[index].key] = nil
        let last = queries.removeLast()
        guard index < queries.count else { return }
        queries[index] = last
        queryIndices[last.key] = Int32(index)
        for slot in last.slots { subscriptions[Int(slot)].queryIndex = Int32(index) }
    }

    /// Marks a delivery as made to each subscription for which it is due, and returns those.
    ///
    /// The method returns instead of calling back, because a session may end its own or another session's subscription
    /// during a delivery; `contains` tells whether a subscription still exists.
    package mutating func take(
        _ delivery: InterestMachine.Delivery, key: LiveQueryKey, answers: UInt64 = .max
    ) -> [Handle] {
        guard let queryIndex = queryIndices[key] else { return [] }
        var due: [Handle] = []
        for slot in queries[Int(queryIndex)].slots {
            let slot = Int(slot)
            if answers >= subscriptions[slot].fromAnnouncement, Self.take(delivery, &subscriptions[slot], answers) {
                due.append(Handle(key: key, slot: slot, number: subscriptions[slot].number))
            }
        }
        return due
    }

    package func contains(_ handle: Handle) -> Bool {
        handle.slot < subscriptions.count && subscriptions[handle.slot].number == handle.number
    }

    package func known(_ handle: Handle) -> KnownResult? {
        guard contains(handle), let digest = subscriptions[handle.slot].digest else { return nil }
        return KnownResult(digest: digest, position: subscriptions[handle.slot].position)
    }

    /// Marks a delivery for one subscription, as the answer to its start.
    /// - Returns: whether to deliver it.
    package mutating func deliver(_ delivery: InterestMachine.Delivery, to handle: Handle) -> Bool {
        contains(handle) && Self.take(delivery, &subscriptions[handle.slot], 0)
    }

    /// Whether anything was delivered to the subscription. A client that requests a run earlier gets its answer with
    /// the first result.
    package func isServed(_ handle: Handle) -> Bool { contains(handle) && subscriptions[handle.slot].isServed }

    /// Makes the answer to this announcement or a later one due.
    package mutating func owe(_ handle: Handle, from announcement: UInt64) {
        if contains(handle) { subscriptions[handle.slot].owedFrom = announcement }
    }

    /// Forgets the positions of the live query's subscriptions, because they are not comparable with those to come, and
    /// accepts only answers to this announcement or a later one. Subscriptions that began after this was decided have
    /// rules of their own: they wait for a later announcement, or it ends their fence.
    package mutating func forgetPositions(_ key: LiveQueryKey, from announcement: UInt64) {
        guard let queryIndex = queryIndices[key] else { return }
        for slot in queries[Int(queryIndex)].slots {
            let (from, fence) = (subscriptions[Int(slot)].fromAnnouncement, subscriptions[Int(slot)].fencedUntil)
            if from > announcement || (fence > announcement && fence < .max) { continue }
            subscriptions[Int(slot)].position = nil
            subscriptions[Int(slot)].fromAnnouncement = announcement
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
        if answers >= subscription.fencedUntil, subscription.fencedUntil < .max {
            (subscription.position, subscription.fencedUntil) = (nil, .max)
        }
        let isOwed = subscription.owedFrom.map { $0 <= answers } ?? false
        guard isNew(delivery, &subscription, isOwed: isOwed) else { return false }
        subscription.isServed = true
        subscription.owesConfirmation = false
        if isOwed { subscription.owedFrom = nil }
        return true
    }

    private static func isNew(
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
                let isDue = isOwed || subscription.owesConfirmation
                if case .unchangedTick = delivery { return subscription.reportsTimerRuns || isDue }
                return isDue
            }
            subscription.digest = result.digest
            subscription.position = result.position
            subscription.fencedUntil = .max
            return true
        case .unchanged(let digest, let position):
            guard subscription.digest == digest else { return false }
            subscription.isAnswered = true
            if let held = subscription.position, held.isOrdered(with: position), held > position { return false }
            subscription.position = position
            return subscription.owesConfirmation
        case .failed:
            subscription.isAnswered = true
            // The next delivery is new to the client.
            subscription.digest = nil
            return true
        case .unanswered: return false  // Decided above.
        }
    }
}
