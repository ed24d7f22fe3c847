import LiveModel

/// The gateways that subscribe to one live query, and what each of them holds.
struct Subscribers: Sendable {
    struct Subscriber: Sendable {
        /// Digest of the result that this gateway holds; nil if it holds none.
        var digest: Digest?
        /// True until its latest announcement is answered.
        var awaitsAnswer = true
        /// The number of that announcement.
        let announcement: UInt64
        /// The gateway accepts only runs numbered higher than this (see `AnnouncementID.requiresFreshRun`).
        var afterRun: UInt64 = 0
        /// Hears also of timer runs that change nothing (`AnnouncementID.reportsTimerRuns`).
        var reportsTimerRuns = false
    }

    private var gateways: [NodeID: Subscriber] = [:]

    var count: Int { gateways.count }
    var isEmpty: Bool { gateways.isEmpty }
    var sortedGateways: [NodeID] { gateways.keys.sorted() }

    func contains(_ gateway: NodeID) -> Bool { gateways[gateway] != nil }

    /// Nil for a gateway that does not subscribe.
    subscript(gateway: NodeID) -> Subscriber? { gateways[gateway] }

    /// The digest that all of them hold; nil if they hold different results or none.
    var sharedDigest: Digest? {
        guard let first = gateways.values.first?.digest else { return nil }
        return gateways.values.allSatisfy { $0.digest == first } ? first : nil
    }

    /// A gateway announced its interest, for the first time or again.
    /// - Returns: true for the first time.
    mutating func insert(_ gateway: NodeID, _ subscriber: Subscriber) -> Bool {
        let former = gateways.updateValue(subscriber, forKey: gateway)
        // A repeated announcement does not revoke that an earlier one needs a later run.
        if let former, former.awaitsAnswer, former.afterRun > subscriber.afterRun {
            gateways[gateway]?.afterRun = former.afterRun
        }
        return former == nil
    }

    /// - Returns: false for a gateway that did not subscribe.
    mutating func remove(_ gateway: NodeID) -> Bool { gateways.removeValue(forKey: gateway) != nil }

    /// The latest announcement of a subscriber is answered by what it holds.
    mutating func answered(_ gateway: NodeID) {
        precondition(gateways[gateway] != nil, "\(gateway) does not subscribe: \(sortedGateways)")
        gateways[gateway]?.awaitsAnswer = false
    }

    /// A message may not have reached the gateway, so what it holds is unknown.
    /// - Returns: false for a gateway that does not subscribe.
    mutating func forgetHeld(_ gateway: NodeID) -> Bool {
        gateways[gateway]?.digest = nil
        gateways[gateway]?.awaitsAnswer = true
        return gateways[gateway] != nil
    }

    /// What was found before is still the result.
    /// - Returns: those that hold it and wait for an answer, by name, with the number of their announcements; and
    ///   whether others wait.
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

    /// A run found a result.
    /// - Parameters:
    ///   - result: without a body if the run brought none, because it found the digest that was known.
    ///   - actions: receives what the gateways are to hear.
    /// - Returns: true if one of them needs the body and there is none.
    mutating func refresh(
        _ item: RunBatch.Item, _ result: (digest: Digest, body: LiveResult?), isTimerRun: Bool,
        _ actions: inout [RefreshAction]
    ) -> Bool {
        let (shard, key, position) = (item.shard, item.query.key, item.position)
        var isBodyMissing = false
        for gateway in sortedGateways {
            // Those that announced while the run was in flight may need a later one.
            guard let subscriber = gateways[gateway], position.run > subscriber.afterRun else { continue }
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
        return isBodyMissing
    }

    /// A run failed. A gateway that has a result does not hear of passing faults.
    /// - Parameter actions: receives what the gateways are to hear.
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
