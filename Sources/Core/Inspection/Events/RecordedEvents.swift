package import JSON
package import LiveModel

/// An event that workers applied while events were recorded.
package struct RecordedEvent: Sendable, Hashable {
    package var id: String
    package var mutation: OperationReference
    package var variables: JSONObject
    /// The writer's `auth` without the token; null if signed out.
    package var auth: JSONValue
    /// The parts of the writer's `auth` that the event tells; nil: all.
    package var authParts: AuthReads?
    package var traceID: String
    package var committedAtMs: Int64
    /// When each worker applied it, by its own clock, in milliseconds since 1970.
    package var appliedAtMs: [String: Int64]
    /// The live queries that it concerns for another reason than a rule on mutations: a looked-up row, changed rows.
    package var others: Set<LiveQueryKey>
    /// The number of further ones, which were not recorded.
    package var othersLeftOut: Int

    /// The live queries of `others` that are recorded by each shard.
    package static let othersMax = 1_000

    package init(
        id: String, mutation: OperationReference, variables: JSONObject, auth: JSONValue, authParts: AuthReads?,
        traceID: String, committedAtMs: Int64, appliedAtMs: [String: Int64], others: Set<LiveQueryKey> = [],
        othersLeftOut: Int = 0
    ) {
        self.id = id
        self.mutation = mutation
        self.variables = variables
        self.auth = auth
        self.authParts = authParts
        self.traceID = traceID
        self.committedAtMs = committedAtMs
        self.appliedAtMs = appliedAtMs
        self.others = others
        self.othersLeftOut = othersLeftOut
    }

    /// Records an event without what `redaction` hides.
    package init(_ seen: EventObservation, on node: NodeID, _ redaction: Redaction) {
        let event = seen.event
        self.init(
            id: event.id, mutation: event.operation, variables: redaction.variables(event.variables),
            auth: redaction.auth(event.auth) ?? .null, authParts: event.authParts, traceID: event.traceID,
            committedAtMs: event.committedAtMs, appliedAtMs: [node.name: seen.appliedAtMs],
            others: Set(seen.others.prefix(Self.othersMax)),
            othersLeftOut: max(0, seen.others.count - Self.othersMax))
    }

    /// The approximate size in memory, and as JSON.
    package var byteCount: Int {
        300 + JSONValue.object(variables).compactBytes.count + auth.compactBytes.count + others.count * 72
    }

    /// Adds what another shard or node recorded of the same event.
    package mutating func merge(_ other: RecordedEvent) {
        appliedAtMs.merge(other.appliedAtMs) { min($0, $1) }
        others.formUnion(other.others)
        othersLeftOut += other.othersLeftOut
    }

    /// The event as conditions read it.
    package var event: MutationEvent {
        MutationEvent(
            id: id, operation: mutation, variables: variables, auth: auth, authParts: authParts, keysWritten: [],
            traceID: traceID, committedAtMs: committedAtMs)
    }
}

/// A run of a live query that ended while events were recorded.
package struct RecordedRun: Sendable, Hashable {
    package var node: String
    package var key: LiveQueryKey
    package var startedAtMs: Int64
    package var outcome: RunRecord.Outcome

    package init(node: String, key: LiveQueryKey, startedAtMs: Int64, outcome: RunRecord.Outcome) {
        self.node = node
        self.key = key
        self.startedAtMs = startedAtMs
        self.outcome = outcome
    }

    static let byteCount = 200
}

/// A live query that was registered when recorded events were read.
package struct RecordedQuery: Sendable, Hashable {
    package var key: LiveQueryKey
    package var operation: OperationReference
    package var version: Digest
    package var variables: JSONObject
    /// The subscriber's `auth` as far as the query reads it, without the token; nil if it reads none.
    package var auth: JSONValue?
    /// The owner of its shard.
    package var node: String
    /// When the owner registered it, in milliseconds since 1970.
    package var sinceMs: Int64

    package init(
        key: LiveQueryKey, operation: OperationReference, version: Digest, variables: JSONObject, auth: JSONValue?,
        node: String, sinceMs: Int64
    ) {
        self.key = key
        self.operation = operation
        self.version = version
        self.variables = variables
        self.auth = auth
        self.node = node
        self.sinceMs = sinceMs
    }
}

/// The rules on mutations of one version of a query.
package struct RecordedOperation: Sendable, Hashable {
    package struct Rule: Sendable, Hashable {
        package var mutation: OperationReference
        package var condition: String?

        package init(mutation: OperationReference, condition: String?) {
            self.mutation = mutation
            self.condition = condition
        }

        /// The rule in words.
        package var text: String { "onMutationExecuted \(mutation)" + (condition.map { " when \($0)" } ?? "") }
    }

    package var operation: OperationReference
    package var version: Digest
    /// The rules in source order.
    package var rules: [Rule]
    /// The parts of `request.auth` that its live queries keep.
    package var authReads: AuthReads
    /// Whether it is the version that new sessions get, of which an edit names a rule.
    package var isCurrent: Bool

    package init(
        operation: OperationReference, version: Digest, rules: [Rule], authReads: AuthReads, isCurrent: Bool = false
    ) {
        self.isCurrent = isCurrent
        self.operation = operation
        self.version = version
        self.rules = rules
        self.authReads = authReads
    }
}

/// A recording of nodes for trials of rules: events, runs, and the live queries and rules that were there when it was
/// read.
package struct EventRecording: Sendable {
    /// The names of variables, fields and claims whose values are hidden.
    package var redacted: Set<String> = []
    package var operations: [RecordedOperation] = []
    package var queries: [RecordedQuery] = []
    /// The events by commit time.
    package var events: [RecordedEvent] = []
    /// The runs by their starts.
    package var runs: [RecordedRun] = []
    /// The time from which the runs of each node are complete, in milliseconds since 1970 by its own clock. The run
    /// that answers an earlier event may be missing.
    package var runsSinceMs: [String: Int64] = [:]
    /// Events and runs that newer ones replaced, and live queries that are too many to list.
    package var leftOut = 0
    /// The live queries among `leftOut`.
    package var queriesLeftOut = 0
    /// The mutations whose events were kept by a filter; nil: all.
    package var mutations: Set<OperationReference>?
    /// Workers whose part could not be read.
    package var missingNodes: Set<String> = []

    package init() {}

    /// Puts the parts of nodes together.
    package init(merging parts: [EventRecording]) {
        var events: [String: RecordedEvent] = [:]
        var queries: [LiveQueryKey: RecordedQuery] = [:]
        var operations: [OperationReference: [Digest: RecordedOperation]] = [:]
        for part in parts {
            redacted.formUnion(part.redacted)
            runs += part.runs
            leftOut += part.leftOut
            queriesLeftOut += part.queriesLeftOut
            runsSinceMs.merge(part.runsSinceMs) { max($0, $1) }
            missingNodes.formUnion(part.missingNodes)
            if let kept = part.mutations { mutations = mutations?.intersection(kept) ?? kept }
            for event in part.events {
                if events[event.id] == nil { events[event.id] = event } else { events[event.id]?.merge(event) }
            }
            // Two owners while a shard moves.
            for query in part.queries where (queries[query.key]?.sinceMs ?? .min) < query.sinceMs {
                queries[query.key] = query
            }
            for operation in part.operations {
                var operation = operation
                // A node that has not loaded the last deployment yet calls another version current.
                operation.isCurrent =
                    operation.isCurrent || operations[operation.operation]?[operation.version]?.isCurrent == true
                operations[operation.operation, default: [:]][operation.version] = operation
            }
        }
        self.events = events.values.sorted { ($0.committedAtMs, $0.id) < ($1.committedAtMs, $1.id) }
        self.queries = queries.values.sorted { ($0.operation, $0.key.description) < ($1.operation, $1.key.description) }
        self.operations = operations.values.flatMap(\.values).sorted {
            ($0.operation, $0.version.hex) < ($1.operation, $1.version.hex)
        }
        runs.sort { ($0.startedAtMs, $0.key.description) < ($1.startedAtMs, $1.key.description) }
    }

    /// Keeps one query, or one mutation, and what belongs to it.
    /// - Parameter tried: a mutation whose events are kept, too, although no rule of the query is about it.
    package func only(_ operation: OperationReference, tried: OperationReference? = nil) -> EventRecording {
        var kept = self
        kept.operations = operations.filter { known in
            known.operation == operation || known.rules.contains { $0.mutation == operation }
        }
        let names = Set(kept.operations.map(\.operation))
        var wanted: Set = [operation]
        if names.contains(operation) { wanted.formUnion(kept.operations.flatMap(\.rules).map(\.mutation)) }
        if let tried { wanted.insert(tried) }
        kept.events = events.filter { wanted.contains($0.mutation) }
        kept.mutations = mutations?.intersection(wanted) ?? wanted
        kept.queries = queries.filter { names.contains($0.operation) }
        let keys = Set(kept.queries.map(\.key))
        kept.runs = runs.filter { keys.contains($0.key) }
        return kept
    }
}
