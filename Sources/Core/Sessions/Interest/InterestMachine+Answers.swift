import LiveModel

// What happens while the owner of a shard does not answer, its answers are lost or refused, or there is no room.

extension InterestMachine {
    /// Gives the owner time to answer a new subscription.
    mutating func expectAnswer(_ key: LiveQueryKey, nowMs: Int64) {
        guard settings.answerMaxMs > 0 else { return }
        let byMs = nowMs + settings.answerMaxMs
        table.update(key) { $0.expectAnswer(byMs: byMs) }
    }

    /// Tells the subscribers that no owner has answered; announcements are repeated as before.
    mutating func unanswered(_ key: LiveQueryKey) -> [Action] {
        let hubs = table.update(key) { entry in
            entry.answerIsOverdue()
            return entry.sortedHubs
        }
        let error = RequestError(.unavailable, "no worker has answered for this query in time, try again later")
        return hubs.isEmpty ? [] : [.deliver(hubs: hubs, key: key, .unanswered(error), answers: .max)]
    }

    /// Begins a live query again whose held result is newer than all that its owner sends.
    mutating func restart(_ key: LiveQueryKey, nowMs: Int64) -> [Action] {
        let next = lastAnnouncement + 1
        let hubs = table.update(key) { entry in
            entry.restart(nextAnnouncement: next)
            return entry.sortedHubs
        }
        return (hubs.isEmpty ? [] : [.forgetPositions(hubs: hubs, key: key, from: next)])
            + announce(key, nowMs: nowMs)
    }

    /// Handles a loss of inbox entries: announces everything again.
    package mutating func inboxLost(nowMs: Int64) -> [Action] {
        table.keys().flatMap { announce($0, nowMs: nowMs) }
    }

    /// Handles a new connection to the broker. Earlier announcements may not have reached the broker, so all unanswered
    /// ones are repeated now instead of after their back-off.
    package mutating func brokerReconnected(nowMs: Int64) -> [Action] {
        table.keys(where: \.isAwaiting).flatMap { key in
            table.update(key) { $0.forgetRetries() }
            return announce(key, nowMs: nowMs)
        }
    }

    /// Makes room for another live query: one without subscriptions ends, however long it would have been kept.
    /// - Throws: `.limitExceeded` if all have subscriptions.
    mutating func makeRoom() throws(RequestError) -> [Action] {
        if table.count < settings.liveQueriesMax { return [] }
        guard let lingering = table.takeLingering() else {
            throw RequestError(.limitExceeded, "too many live queries on this gateway")
        }
        return end(lingering)
    }
}
