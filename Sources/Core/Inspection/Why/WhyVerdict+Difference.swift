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
            next: [
                "Change the rule's condition, or remove it.",
                "Operations in the console, and freshet explain, show how it is decided.",
            ])
    }

    /// Names the mutations that no rule is about: those that ran since the last run, as far as that is known. A
    /// difference that none of them made was made by another program.
    private static func ofMissingRule(_ facts: WhyFacts) -> WhyVerdict {
        let ran = facts.missing.filter { isUnseen($0.mutation, facts) }
        let wal = "source: wal in refresh.yaml notices what other programs write."
        if ran.isEmpty, facts.areExecutionsKnown {
            return WhyVerdict(
                .staleUnexplained,
                "The screen is stale, and nothing recorded explains it: something wrote without Freshet. No rule is "
                    + "about \(named(facts.missing)), which no node has executed since the last run.",
                next: [wal, watch])
        }
        let blamed = ran.isEmpty ? facts.missing : ran
        let tables = Set(blamed.flatMap(\.tables)).sorted().joined(separator: ", ")
        let isOne = blamed.count == 1
        let ended = ran.isEmpty ? "" : " and ran after the query's last run"
        return WhyVerdict(
            .noRule,
            "The screen is stale, and no rule is about \(named(blamed)), which \(isOne ? "writes" : "write") "
                + "\(tables)\(ended)" + (ran.isEmpty ? "; or something wrote without Freshet." : "."),
            next: ["Add \(blamed[0].rule)", "or write automatic: lists into refresh.yaml."]
                + (ran.isEmpty ? [wal] : []))
    }

    /// Whether a mutation ran that the owner's last run may not have seen.
    private static func isUnseen(_ mutation: String, _ facts: WhyFacts) -> Bool {
        if facts.events.contains(where: { $0.mutation == mutation && isLater($0, than: facts.owner) }) { return true }
        guard let atMs = facts.executions[mutation], atMs > 0 else { return false }
        guard let owner = facts.owner, owner.lastRunAtMs > 0 else { return true }
        return atMs + clockErrorMs >= owner.lastRunAtMs - owner.lastRunMs
    }

    /// The difference of two nodes' clocks that is allowed for.
    private static let clockErrorMs: Int64 = 1_000
    private static let namedMax = 5

    /// The names of the first mutations.
    private static func named(_ rules: [WhyFacts.MissingRule]) -> String {
        let names = rules.prefix(namedMax).map(\.mutation) + (rules.count > namedMax ? ["…"] : [])
        return names.count < 2
            ? names.joined() : names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
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
