package import LiveModel

/// An observation of a worker's machine while something is recorded or traced.
package enum WorkerObservation: Sendable {
    case event(EventObservation)
    case run(LiveQueryKey, OperationReference, ShardID, RunRecord)
}

/// An event that a shard applied.
package struct EventObservation: Sendable {
    package struct Match: Sendable, Hashable {
        package let key: LiveQueryKey
        package let operation: OperationReference
        /// `key`, `rule`, `rows`
        package let rules: [String]

        package init(key: LiveQueryKey, operation: OperationReference, rules: [String]) {
            self.key = key
            self.operation = operation
            self.rules = rules
        }
    }

    /// The matches that are listed one by one.
    package static let matchesMax = 64

    package let shard: ShardID
    package let id: StreamID
    package let event: MutationEvent
    /// The live queries of the shard.
    package let considered: Int
    package let matched: Int
    /// The first of them.
    package let matches: [Match]
    /// The verdicts for the live queries that are recorded.
    package let verdicts: [(key: LiveQueryKey, verdict: EventVerdict)]
    /// When the shard applied it, in milliseconds since 1970.
    package let appliedAtMs: Int64
    /// The live queries that it concerns for another reason than a rule on mutations; empty unless events are recorded.
    package let others: [LiveQueryKey]

    package init(
        shard: ShardID, id: StreamID, event: MutationEvent, considered: Int, matched: Int, matches: [Match],
        verdicts: [(key: LiveQueryKey, verdict: EventVerdict)], appliedAtMs: Int64 = 0, others: [LiveQueryKey] = []
    ) {
        self.appliedAtMs = appliedAtMs
        self.others = others
        self.shard = shard
        self.id = id
        self.event = event
        self.considered = considered
        self.matched = matched
        self.matches = matches
        self.verdicts = verdicts
    }
}

/// The scope of a worker's observations.
package struct ObservationScope: Sendable {
    /// The live queries whose events get a verdict of each rule. Bound: the recorder's.
    package var queries: Set<LiveQueryKey> = []
    /// Whether all events and runs are noticed, for a tail.
    package var everything = false
    /// Whether all events and runs are noticed for trials of rules.
    package var events = false
    package var redaction = Redaction()

    package static let nothing = ObservationScope()

    package init() {}

    /// Whether the same is noticed.
    package func isSame(as other: ObservationScope) -> Bool {
        queries == other.queries && everything == other.everything && events == other.events
            && redaction == other.redaction
    }

    package var isEmpty: Bool { queries.isEmpty && !everything && !events }
}
