import LiveModel

/// What a gateway does because time passed.
extension InterestMachine {
    /// How often `timeReached` wants to be called.
    package static let sweepMs: Int64 = 500

    package mutating func timeReached(nowMs: Int64) -> [Action] {
        guard nowMs >= nextSweepMs else { return [] }
        nextSweepMs = nowMs + Self.sweepMs
        var actions: [Action] = []
        while let key = entries.takeDue(nowMs: nowMs) {
            if let until = entries[key]?.lingerUntilMs, until <= nowMs {
                actions += end(key)
            } else {
                entries[key]?.retries += 1
                actions += announce(key, nowMs: nowMs)
            }
        }
        if nowMs >= nextSummaryMs {
            nextSummaryMs = nowMs + settings.summaryMs
            for (shard, interest) in shards.sorted(by: { $0.key < $1.key }) {
                actions.append(
                    .tell(
                        shard,
                        .summary(
                            gateway: gateway, count: interest.count, fingerprint: interest.fingerprint,
                            settled: settledThrough[shard] ?? .zero)))
            }
        }
        return actions
    }

    /// The broker is back after it was away: what was announced meanwhile may not have come to it. Everything that waits
    /// for an answer is announced once more now, rather than at the end of a pause that grew.
    package mutating func linkRestored(nowMs: Int64) -> [Action] {
        entries.keys(where: \.isAwaiting).flatMap { key in
            entries[key]?.retries = 0
            return announce(key, nowMs: nowMs)
        }
    }

    /// The gateway leaves: every shard is told.
    package mutating func leave() -> [Action] {
        let told = shards.keys.sorted()
        entries = InterestTable()
        (shards, settledThrough) = ([:], [:])
        return told.map { .tell($0, .leave(gateway: gateway)) }
    }
}
