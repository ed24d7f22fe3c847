import LiveModel

// What happens while the owner of a shard does not answer, or its answers are refused.

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
        let error = RequestError(.unavailable, "no worker answers for this query, try again later")
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
}
