import LiveModel

/// The gateways hold another result than the database answers: why.
extension WhyVerdict {
    static let watch = "Recording is on for this live query: repeat the mutation, and ask again."

    /// The gateways hold another result than the database answers.
    static func ofDifference(_ facts: WhyFacts) -> WhyVerdict {
        if let owner = facts.owner {
            if let stuck = ofMarkers(of: owner.shard, owner: owner.node, facts) { return stuck }
            if owner.isPending {
                return WhyVerdict(
                    .refreshPending, "A run is \(owner.phase == "running" ? "in flight" : "due") on \(owner.node).",
                    next: ["Ask again in a few seconds."])
            }
            if owner.digest == facts.truth.digest {
                return WhyVerdict(
                    .deliveryPending,
                    "\(owner.node) has read what the database answers; a gateway does not have that result yet.",
                    next: ["Ask again in a few seconds."])
            }
            if let last = facts.shard?.lastEventID.flatMap({ StreamID($0) }), let read = StreamID(owner.lastEventID),
                last > read
            {
                return WhyVerdict(
                    .refreshPending, "\(owner.node) has yet to read events of the shard \(owner.shard).",
                    next: ["Ask again in a few seconds.", "freshet admin shards"])
            }
        }
        if facts.readsLog, let problem = facts.slotProblem {
            return WhyVerdict(
                .slotLost, "The database's log is not read: \(problem).", next: ["freshet admin slot"])
        }
        let refusals = facts.events.compactMap(Refusal.init)
        if let refusal = refusals.first(where: { isLater($0.event, than: facts.owner) }) {
            return ofRefusal(refusal, facts)
        }
        if !facts.missing.isEmpty { return ofMissingRule(facts) }
        // A result that was confirmed without a run may be older than its position.
        if let refusal = refusals.first { return ofRefusal(refusal, facts) }
        return WhyVerdict(
            .staleUnexplained,
            "The screen is stale, and nothing recorded explains it; perhaps rows changed without a mutation.",
            next: [watch, "source: wal in refresh.yaml notices what other programs write."])
    }

    /// An event that no rule lets through, with a rule that is about its mutation.
    private struct Refusal {
        let event: EventVerdict
        let rule: RuleVerdict

        init?(_ event: EventVerdict) {
            guard !event.isMatched, let rule = event.rules.first(where: { $0.outcome == .no }) else { return nil }
            (self.event, self.rule) = (event, rule)
        }
    }

    private static func ofRefusal(_ refusal: Refusal, _ facts: WhyFacts) -> WhyVerdict {
        let (event, rule) = (refusal.event, refusal.rule)
        let which = rule.kind == .automatic ? "the site “\(rule.rule)”" : "the rule “\(rule.rule)”"
        return WhyVerdict(
            .conditionFalse,
            "The screen is stale: \(event.mutation) ran \(ago(facts.nowMs - event.atMs)) ago, and \(which) does "
                + "not match: \(rule.reason).",
            next: ["Change the rule's condition, or remove it.", "freshet explain shows how it is decided."])
    }

    private static func ofMissingRule(_ facts: WhyFacts) -> WhyVerdict {
        let names = facts.missing.map(\.mutation).joined(separator: ", ")
        let tables = Set(facts.missing.flatMap(\.tables)).sorted().joined(separator: ", ")
        return WhyVerdict(
            .noRule,
            "The screen is stale, and no rule is about \(names), which "
                + "\(facts.missing.count == 1 ? "writes" : "write") \(tables).",
            next: ["Add \(facts.missing[0].rule)", "or write automatic: lists into refresh.yaml."])
    }

    /// Whether the owner's last run may not have seen what the event is about: a run has seen the events up to its
    /// position.
    private static func isLater(_ event: EventVerdict, than owner: OwnerReport?) -> Bool {
        guard let position = owner?.position.flatMap({ Position($0) }), let id = StreamID(event.id) else { return true }
        return id > position.id
    }

    /// A duration in words: `340 ms`, `4.2 s`, `3 min`, `2 h`.
    package static func ago(_ ms: Int64) -> String {
        switch max(0, ms) {
        case ..<1_000: "\(max(0, ms)) ms"
        case ..<60_000: "\(ms / 1_000).\(ms % 1_000 / 100) s"
        case ..<3_600_000: "\(ms / 60_000) min"
        default: "\(ms / 3_600_000) h"
        }
    }
}
