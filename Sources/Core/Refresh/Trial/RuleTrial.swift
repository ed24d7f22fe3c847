import CEL
package import Inspection
import JSON
package import LiveModel

/// A trial of edited rules on recorded events: which live queries the present rules refresh and the edited ones would,
/// and what the runs of the difference were worth.
///
/// The recording tells what happened, the index of rules what would have happened. A refresh that the edited rules
/// leave out was needless if its run found the same result (spared), and needed if it found another one (missed).
/// Values that the recording hides make no verdict: such pairs are counted apart, with the reason.
package struct RuleTrial: Sendable {
    /// The effect of a change of rules for one event and one live query.
    package enum Effect: String, Sendable, CaseIterable {
        /// Refreshed by both.
        case refreshed
        /// Refreshed no more, although the run found another result.
        case missed
        /// Refreshed no more, and the run found the same result.
        case spared
        /// Refreshed no more, and no recorded run tells whether that was needed.
        case unproven
        /// Refreshed by the edited rules alone.
        case added
        /// A condition reads what the recording hides.
        case unjudged
    }

    package struct Limits: Sendable {
        /// Pairs of an event and a live query that are looked at; then the trial ends early, at the latest before the
        /// next event.
        package var pairsMax = 1_000_000
        /// Examples of each effect and operation.
        package var examplesMax = 3

        package init() {}
    }

    package struct Example: Sendable {
        package let effect: Effect
        package let event: RecordedEvent
        package let query: RecordedQuery
        package let reason: String
    }

    package struct Row: Sendable {
        package let operation: OperationReference
        package let liveQueries: Int
        package fileprivate(set) var counts: [Effect: Int] = [:]
        package fileprivate(set) var examples: [Example] = []

        package subscript(_ effect: Effect) -> Int { counts[effect] ?? 0 }
    }

    /// An event about which the edited rules of some live queries cannot be judged.
    package struct Unjudged: Sendable {
        package let event: RecordedEvent
        package let reason: String
        package fileprivate(set) var liveQueries: Int
    }

    /// A query whose rules differ.
    package private(set) var rows: [Row] = []
    package private(set) var unjudged: [Unjudged] = []
    package let eventCount: Int
    package let queryCount: Int
    package let leftOut: Int
    /// Whether `pairsMax` was reached.
    package private(set) var isCutShort = false
    let queriesLeftOut: Int
    /// Workers whose part of the recording is missing.
    let missingNodes: Set<String>
    /// The mutations of compared rules whose events a filter left out of the recording.
    private(set) var filteredOut: Set<OperationReference> = []

    private static let unjudgedMax = 1_000

    package func total(_ effect: Effect) -> Int { rows.reduce(0) { $0 + $1[effect] } }

    /// - Parameters:
    ///   - edited: returns the edited rules of a query; nil leaves them as they are.
    /// - Throws: `TrialRule.ConditionError` if a recorded condition does not compile.
    package init(
        _ recording: EventRecording, limits: Limits = Limits(),
        edited: (RecordedOperation) throws(TrialRule.ConditionError) -> [TrialRule]?
    ) throws(TrialRule.ConditionError) {
        eventCount = recording.events.count
        queryCount = recording.queries.count
        leftOut = recording.leftOut
        queriesLeftOut = recording.queriesLeftOut
        missingNodes = recording.missingNodes
        let redaction = Redaction(names: recording.redacted)
        let runs = RunsByQuery(recording)
        var rows: [OperationReference: Row] = [:]
        var pairs = 0
        for operation in recording.operations {
            let present = try operation.rules.map { rule throws(TrialRule.ConditionError) in try TrialRule(rule) }
            guard let next = try edited(operation) else { continue }
            if present.count == next.count, zip(present, next).allSatisfy({ $0.isSame(as: $1) }) { continue }
            if let kept = recording.mutations {
                filteredOut.formUnion(Set((present + next).map(\.mutation)).subtracting(kept))
            }
            let queries = recording.queries.filter {
                $0.operation == operation.operation && $0.version == operation.version
            }
            var comparison = TrialComparison(operation, present: present, edited: next, queries, redaction)
            comparison.judge(recording.events, runs, limits.pairsMax - pairs)
            pairs += comparison.pairs
            isCutShort = isCutShort || comparison.isCutShort
            var row = Row(
                operation: operation.operation,
                liveQueries: (rows[operation.operation]?.liveQueries ?? 0) + queries.count)
            row.counts = rows[operation.operation]?.counts ?? [:]
            row.examples = rows[operation.operation]?.examples ?? []
            for pair in comparison.results { add(pair, comparison, recording.events, to: &row, limits) }
            rows[operation.operation] = row
        }
        self.rows = rows.values.sorted { $0.operation < $1.operation }
    }

    private mutating func add(
        _ pair: TrialComparison.Pair, _ comparison: TrialComparison, _ events: [RecordedEvent], to row: inout Row,
        _ limits: Limits
    ) {
        row.counts[pair.effect, default: 0] += 1
        let event = events[pair.event]
        if pair.effect == .unjudged {
            if unjudged.last?.event.id == event.id {
                unjudged[unjudged.count - 1].liveQueries += 1
            } else if unjudged.count < Self.unjudgedMax {
                unjudged.append(Unjudged(event: event, reason: pair.reason ?? "", liveQueries: 1))
            }
        }
        guard pair.effect != .refreshed, row.examples.count(where: { $0.effect == pair.effect }) < limits.examplesMax
        else { return }
        row.examples.append(
            Example(
                effect: pair.effect, event: event, query: comparison.queries[Int(pair.slot)],
                reason: pair.reason ?? comparison.reason(of: pair.effect, event, pair.slot)))
    }
}

/// The recorded runs of each live query, by start.
struct RunsByQuery {
    private struct Key: Hashable {
        let node: String
        let key: LiveQueryKey
    }

    private var runs: [Key: [(number: Int, run: RecordedRun)]] = [:]

    private let completeSinceMs: [String: Int64]

    init(_ recording: EventRecording) {
        completeSinceMs = recording.runsSinceMs
        for (number, run) in recording.runs.enumerated() {
            runs[Key(node: run.node, key: run.key), default: []].append((number, run))
        }
    }

    /// Returns the run that answers an event: the first that began after it was applied; nil if it is not recorded, or
    /// if runs of that time may be missing.
    func answering(_ query: RecordedQuery, appliedAtMs: Int64) -> (number: Int, outcome: RunRecord.Outcome)? {
        guard let sinceMs = completeSinceMs[query.node], appliedAtMs >= sinceMs else { return nil }
        guard let all = runs[Key(node: query.node, key: query.key)] else { return nil }
        // The runs are in order: binary search.
        var (low, high) = (0, all.count)
        while low < high {
            let middle = (low + high) / 2
            if all[middle].run.startedAtMs < appliedAtMs { low = middle + 1 } else { high = middle }
        }
        return low < all.count ? (all[low].number, all[low].run.outcome) : nil
    }
}
