import LiveModel

/// The gateways that subscribe to one live query, and the result that each holds.
struct Subscribers: Sendable {
    struct Subscriber: Sendable {
        /// The digest of the result that this gateway holds; nil if it holds none.
        var digest: Digest?
        /// Whether its latest announcement is unanswered.
        var awaitsAnswer = true
        /// The number of that announcement.
        let announcement: UInt64
        /// The gateway accepts only runs numbered higher than this (see `AnnouncementID.requiresFreshRun`).
        var afterRun: UInt64 = 0
        /// Whether the gateway gets messages for timer runs that change nothing (`AnnouncementID.reportsTimerRuns`).
        var reportsTimerRuns = false
    }

    private var gateways: [NodeID: Subscriber] = [:]

    var count: Int { gateways.count }
    var isEmpty: Bool { gateways.isEmpty }
    var sortedGateways: [NodeID] { gateways.keys.sorted() }

    func contains(_ gateway: NodeID) -> Bool { gateways[gateway] != nil }

    /// Returns nil for a gateway that does not subscribe.
    subscript(gateway: NodeID) -> Subscriber? { gateways[gateway] }

    /// The digest that all gateways hold; nil if they hold different results or none.
    var sharedDigest: Digest? {
        guard let first = gateways.values.first?.digest else { return nil }
        return gateways.values.allSatisfy { $0.digest == first } ? first : nil
    }

    /// Whether all gateways hold this result and none awaits an answer.
    func allHold(_ digest: Digest) -> Bool {
        gateways.values.allSatisfy { $0.digest == digest && !$0.awaitsAnswer }
    }

    /// Records a gateway's announcement, whether first or repeated.
    /// - Returns: whether it is the gateway's first.
    mutating func insert(_ gateway: NodeID, _ subscriber: Subscriber) -> Bool {
        let former = gateways.updateValue(subscriber, forKey: gateway)
        // A repeated announcement does not cancel an earlier one's requirement of a later run.
        if let former, former.awaitsAnswer, former.afterRun > subscriber.afterRun {
            gateways[gateway]?.afterRun = former.afterRun
        }
        return former == nil
    }

    /// - Returns: whether the gateway subscribed.
    mutating func remove(_ gateway: NodeID) -> Bool { gateways.removeValue(forKey: gateway) != nil }

    /// Marks the latest announcement of a subscriber as answered by the result it holds.
    mutating func answered(_ gateway: NodeID) {
        precondition(gateways[gateway] != nil, "\(gateway) does not subscribe: \(sortedGateways)")
        gateways[gateway]?.awaitsAnswer = false
    }

    /// Forgets the result that a gateway holds, because a message may not have reached it.
    /// - Returns: whether the gateway subscribes.
    mutating func forgetHeld(_ gateway: NodeID) -> Bool {
        gateways[gateway]?.digest = nil
        gateways[gateway]?.awaitsAnswer = true
        return gateways[gateway] != nil
    }

    /// Marks the gateways that hold this digest, which is still the result, as answered.
    /// - Returns: the gateways that hold it and await an answer, sorted, with their announcement numbers; and whether
    ///   others await an answer.
    mutating func confirm(_ digest: Digest) -> (confirmed: [(gateway: NodeID, answers: UInt64)], othersWait: Bool) {
        var confirmed: [(gateway: NodeID, answers: UInt64)] = []
        var othersWait = false
        for (gateway, subscriber) in gateways.sorted(by: { $0.key < $1.key }) where subscriber.awaitsAnswer {
            if subscriber.digest == digest {
                gateways[gateway]?.awaitsAnswer = false
                confirmed.append((gateway, subscriber.announcement))
            } else {
                othersWait = true
            }
        }
        return (confirmed, othersWait)
    }

    /// Handles the result of a run.
    /// - Parameters:
    ///   - result: the digest and body; no body if the run returned none, because it found the known digest.
    ///   - actions: receives the messages to the gateways.
    /// - Returns: whether a gateway needs the body and there is none, and whether one needs a later run.
    mutating func refresh(
        _ item: RunBatch.Item, _ result: (digest: Digest, body: LiveResult?), isTimerRun: Bool,
        _ actions: inout [RefreshAction]
    ) -> (isBodyMissing: Bool, isTooEarly: Bool) {
        let (shard, key, position) = (item.shard, item.query.key, item.position)
        var (isBodyMissing, isTooEarly) = (false, false)
        for gateway in sortedGateways {
            // Gateways that announced while the run was in flight may need a later one.
            guard let subscriber = gateways[gateway], position.run > subscriber.afterRun else {
                isTooEarly = true
                continue
            }
            let message: InboxMessage?
            if subscriber.digest == result.digest {
                if subscriber.awaitsAnswer {
                    message = .unchanged(
                        shard: shard, key: key, digest: result.digest, position: position, epoch: position.epoch,
                        answers: subscriber.announcement)
                } else if isTimerRun, subscriber.reportsTimerRuns {
                    message = .unchangedTick(
                        shard: shard, key: key, digest: result.digest, position: position,
                        answers: subscriber.announcement)
                } else {
                    message = nil
                }
            } else if let body = result.body {
                message = .result(shard: shard, key: key, result: body, answers: subscriber.announcement)
            } else {
                // Subscribed while the run was in flight.
                isBodyMissing = true
                continue
            }
            if let message { actions.append(.send(to: gateway, message)) }
            gateways[gateway]?.digest = result.digest
            gateways[gateway]?.awaitsAnswer = false
        }
        return (isBodyMissing, isTooEarly)
    }

    /// Handles a failed run. A gateway that has a result gets no message about transient errors.
    /// - Parameter actions: receives the messages to the gateways.
    mutating func fail(_ item: RunBatch.Item, _ error: RequestError, _ actions: inout [RefreshAction]) {
        for gateway in sortedGateways {
            guard let subscriber = gateways[gateway],
                subscriber.awaitsAnswer || subscriber.digest != nil && !error.code.isRetryable
            else { continue }
            actions.append(
                .send(
                    to: gateway,
                    .failed(
                        shard: item.shard, key: item.query.key, position: item.position, error: error,
                        answers: subscriber.announcement)))
            gateways[gateway]?.awaitsAnswer = false
            gateways[gateway]?.digest = nil
        }
    }
}
