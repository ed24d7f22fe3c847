import CEL
import Inspection
import JSON
import LiveModel

/// The present and the edited rules of one version of a query, asked about the same events.
struct TrialComparison {
    struct Pair {
        /// The position of the event.
        let event: Int
        let slot: Int32
        var effect: RuleTrial.Effect
        /// Nil if the rules tell it.
        let reason: String?
    }

    let queries: [RecordedQuery]
    private let requests: [Value]
    private let redaction: Redaction
    private let present: Side
    private let edited: Side
    private(set) var results: [Pair] = []
    private(set) var pairs = 0
    private(set) var isCutShort = false

    private struct Side {
        var triggers: [OperationReference: [TrialTrigger]] = [:]

        init(
            _ rules: [TrialRule], _ operation: RecordedOperation, _ requests: [Value], _ redaction: Redaction
        ) {
            for (number, rule) in rules.enumerated() {
                var trigger = TrialTrigger(
                    Trigger(
                        id: .init(operation: operation.operation, version: operation.version, number: number),
                        mutation: rule.mutation, condition: rule.condition),
                    known: operation.authReads, redaction)
                for (slot, request) in requests.enumerated() { trigger.insert(Int32(slot), request: request) }
                triggers[rule.mutation, default: []].append(trigger)
            }
        }

        /// Adds up the verdicts of all rules: one that matches decides.
        func verdicts(on event: RecordedEvent, evaluated: inout Int) -> [Int32: TrialTrigger.Verdict] {
            var verdicts: [Int32: TrialTrigger.Verdict] = [:]
            for trigger in triggers[event.mutation] ?? [] {
                evaluated += trigger.match(event) { slot, verdict in
                    if verdict.isMatched || verdicts[slot] == nil { verdicts[slot] = verdict }
                }
            }
            return verdicts
        }
    }

    init(
        _ operation: RecordedOperation, present: [TrialRule], edited: [TrialRule], _ queries: [RecordedQuery],
        _ redaction: Redaction
    ) {
        self.queries = queries
        self.redaction = redaction
        requests = queries.map { query in
            .map(
                MapValue([
                    ("variables", Value(jsonObject: query.variables)),
                    ("auth", query.auth.map(Value.init(json:)) ?? .null),
                ]))
        }
        self.present = Side(present, operation, requests, redaction)
        self.edited = Side(edited, operation, requests, redaction)
    }

    /// - Parameter pairsMax: pairs that are looked at before the comparison ends early.
    mutating func judge(_ events: [RecordedEvent], _ runs: RunsByQuery, _ pairsMax: Int) {
        // The runs that would still happen, because of another event that they answer.
        var kept: Set<Int> = []
        var dropped: [(place: Int, run: Int)] = []
        for (number, event) in events.enumerated() {
            guard pairs < pairsMax else {
                isCutShort = true
                return finish(dropped, kept)
            }
            let (before, after) = (
                present.verdicts(on: event, evaluated: &pairs), edited.verdicts(on: event, evaluated: &pairs)
            )
            for slot in Set(before.keys).union(after.keys).sorted() {
                guard pairs < pairsMax else {
                    isCutShort = true
                    return finish(dropped, kept)
                }
                pairs += 1
                let query = queries[Int(slot)]
                let appliedAtMs = event.appliedAtMs[query.node] ?? event.appliedAtMs.values.min() ?? event.committedAtMs
                // It was registered later, and read what the mutation wrote.
                if query.sinceMs > appliedAtMs { continue }
                let isOther = event.others.contains(query.key)
                let run = runs.answering(query, appliedAtMs: appliedAtMs)
                // If the event concerns live queries that were not recorded, this one may be among them.
                let pair = Self.pair(
                    number, slot, before[slot] ?? .no, after[slot] ?? .no, isOther: isOther,
                    event.othersLeftOut > 0 ? nil : run?.outcome)
                if let run {
                    switch pair.effect {
                    case .refreshed, .added: kept.insert(run.number)
                    case .missed, .spared: dropped.append((results.count, run.number))
                    case .unproven, .unjudged: break
                    }
                }
                results.append(pair)
            }
        }
        finish(dropped, kept)
    }

    private mutating func finish(_ dropped: [(place: Int, run: Int)], _ kept: Set<Int>) {
        for (place, run) in dropped where kept.contains(run) { results[place].effect = .refreshed }
    }

    private static func pair(
        _ event: Int, _ slot: Int32, _ before: TrialTrigger.Verdict, _ after: TrialTrigger.Verdict, isOther: Bool,
        _ run: RunRecord.Outcome?
    ) -> Pair {
        // What else refreshes it stays.
        if isOther { return Pair(event: event, slot: slot, effect: .refreshed, reason: nil) }
        switch (before, after) {
        case (_, .unknown(let reason)), (.unknown(let reason), .no):
            return Pair(event: event, slot: slot, effect: .unjudged, reason: reason)
        case (.matched, .matched), (.unknown, .matched), (.no, .no):
            return Pair(event: event, slot: slot, effect: .refreshed, reason: nil)
        case (.no, .matched): return Pair(event: event, slot: slot, effect: .added, reason: nil)
        case (.matched, .no):
            let effect: RuleTrial.Effect =
                switch run {
                case .changed: .missed
                case .same: .spared
                case .failed, .cutShort, nil: .unproven
                }
            return Pair(event: event, slot: slot, effect: effect, reason: nil)
        }
    }

    // MARK: Reasons

    /// Why the edited rules have this effect, in the words of `why`.
    func reason(of effect: RuleTrial.Effect, _ event: RecordedEvent, _ slot: Int32) -> String {
        let side = effect == .added ? present : edited
        let triggers = side.triggers[event.mutation] ?? []
        guard !triggers.isEmpty else {
            return effect == .added
                ? "no present rule is about \(event.mutation)" : "no edited rule is about \(event.mutation)"
        }
        let rules = QueryRules(
            triggers: triggers.map(\.trigger), lookupKeys: [], everyMs: nil, request: requests[Int(slot)])
        let reasons = rules.explain(event.event, redaction).filter { !$0.isMatch }.map(\.reason)
        let text = reasons.isEmpty ? "the condition holds" : reasons.joined(separator: "; ")
        switch effect {
        case .added: return "before: \(text)"
        case .unproven: return "\(text); no run that ended tells whether the result changed"
        case .refreshed, .missed, .spared, .unjudged: return text
        }
    }
}
