import JSON
package import LiveModel

/// The records of a node while operators look: verdicts, runs and ends of some live queries, and the spans of traced
/// mutations. By default only which sessions the node itself ended lately, and why, without users and queries.
/// Everything is bounded: the newest replaces the oldest.
package struct Recorder: Sendable {
    package struct Settings: Sendable, Hashable {
        /// How long a look arms the recording.
        package var armedMs: Int64 = 600_000
        /// Live queries that are recorded at a time; another one replaces the one that was looked at longest ago.
        package var queriesMax = 64
        /// Verdicts, runs and ends that are kept of each.
        package var decisionsMax = 32
        /// Bytes of all of them.
        package var bytesMax = 4 << 20
        /// Spans that are kept.
        package var spansMax = 4_096
        /// Mutations per second that clients may have traced on this node.
        package var tracesPerSecond = 10
        /// Tails that may be open at a time.
        package var tailsMax = 8
        /// Events, and runs, that are recorded for trials of rules.
        package var eventsMax = 10_000
        /// Bytes of both.
        package var eventsBytesMax = 8 << 20
        /// Users with a flight recorder at a time; another one replaces the one that would end first.
        package var flightsMax = 16
        /// Entries that are kept of each.
        package var flightEntriesMax = 2_000
        package var redaction = Redaction()
        /// Whether spans are also handed to an exporter.
        package var exportsSpans = false

        package init() {}
    }

    /// The record of one live query, the oldest first.
    package struct QueryRecord: Sendable {
        package fileprivate(set) var sinceMs: Int64
        package fileprivate(set) var untilMs: Int64
        package fileprivate(set) var verdicts: [EventVerdict] = []
        package fileprivate(set) var runs: [RunRecord] = []
        package fileprivate(set) var ended: [EndRecord] = []
        fileprivate var bytes = 0
        fileprivate var lookedAtMs: Int64
    }

    package let settings: Settings
    /// Hides what the settings and the project's versions in service name.
    package private(set) var redaction: Redaction
    private var queries: [LiveQueryKey: QueryRecord] = [:]
    /// A ring: `nextSpan` is the oldest once it is full.
    private var spans: [Span] = []
    private var nextSpan = 0
    /// The spans that wait for `takeSpansToExport`, at most `exportMax`: more than one change brings.
    private var spansToExport: [Span] = []
    private static let exportMax = 4_096
    /// The traced mutations whose publication is awaited, by event; bounded like the spans.
    private var traced: [String: (trace: String, sinceUs: Int64)] = [:]
    /// The time after which a publication is not awaited any more: the event was left to a sweeper.
    private static let publicationUs: Int64 = 10_000_000
    private var tails: [UInt64: TailFilter] = [:]
    private var lastTail: UInt64 = 0
    /// The share of mutations that are traced, and until when.
    private var sampling: (rate: Double, untilMs: Int64) = (0, 0)
    private var armedUntilMs: Int64 = 0
    private var traceSecond: (ms: Int64, count: Int) = (0, 0)
    package private(set) var dropped: UInt64 = 0
    /// The sessions that the node ended or suspended lately.
    package var endedSessions = EndedSessions()
    var capture: EventCapture?
    var flights: FlightRecorders

    package init(_ settings: Settings = Settings()) {
        self.settings = settings
        redaction = settings.redaction
        flights = FlightRecorders(
            usersMax: settings.flightsMax, entriesMax: settings.flightEntriesMax, keptMs: settings.armedMs)
    }

    /// Hides the names that the project's versions in service mark, besides those of the settings.
    package mutating func redact(_ names: Set<String>) { redaction = settings.redaction.adding(names) }

    // MARK: Arming

    /// Whether anything is recorded beyond traces that clients ask for.
    package var isOn: Bool {
        !queries.isEmpty || !tails.isEmpty || sampling.rate > 0 || capture != nil || flights.isOn
    }
    package var isTracing: Bool { !traced.isEmpty }
    package var bytes: Int { queries.values.reduce(0) { $0 + $1.bytes } }
    package var queryCount: Int { queries.count }
    package var spanCount: Int { spans.count }
    package var tailCount: Int { tails.count }
    package var traceRate: Double { sampling.rate }

    /// The scope of the worker's observations.
    package var scope: ObservationScope {
        var scope = ObservationScope()
        scope.queries = Set(queries.keys)
        scope.everything = !tails.isEmpty
        scope.events = capture?.isOn ?? false
        scope.redaction = redaction
        return scope
    }

    /// Records a live query from now on.
    package mutating func arm(_ key: LiveQueryKey, nowMs: Int64) {
        if queries[key] == nil, queries.count >= settings.queriesMax,
            let oldest = queries.min(by: { $0.value.lookedAtMs < $1.value.lookedAtMs })?.key
        {
            queries[oldest] = nil
        }
        var record = queries[key] ?? QueryRecord(sinceMs: nowMs, untilMs: 0, lookedAtMs: 0)
        record.untilMs = nowMs + settings.armedMs
        record.lookedAtMs = nowMs
        queries[key] = record
        armedUntilMs = max(armedUntilMs, record.untilMs)
    }

    /// Traces a share of all mutations.
    package mutating func sample(rate: Double, forMs: Int64, nowMs: Int64) {
        sampling = (min(1, max(0, rate)), nowMs + forMs)
        armedUntilMs = max(armedUntilMs, sampling.untilMs)
    }

    /// Ends all recording but that of open tails.
    package mutating func disarm() {
        queries = [:]
        sampling = (0, 0)
        armedUntilMs = 0
        capture = nil
        flights.disarm()
    }

    /// Ends what has had its time.
    package mutating func expire(nowMs: Int64) {
        for (key, record) in queries where record.untilMs <= nowMs { queries[key] = nil }
        if sampling.untilMs <= nowMs { sampling = (0, 0) }
        if capture?.expire(nowMs: nowMs) == true { capture = nil }
        flights.expire(nowMs: nowMs)
    }

    package func untilMs(nowMs: Int64) -> Int64? {
        let untilMs = max(
            sampling.untilMs, queries.values.map(\.untilMs).max() ?? 0, capture?.untilMs ?? 0, flights.untilMs ?? 0)
        return untilMs > nowMs ? untilMs : nil
    }

    package func record(of key: LiveQueryKey) -> QueryRecord? { queries[key] }
    /// The ends of subscriptions that were recorded with their live queries, in no order.
    package var ends: [EndRecord] { queries.values.flatMap(\.ended) }
    package func isRecorded(_ key: LiveQueryKey) -> Bool { queries[key] != nil }

    // MARK: Live queries

    /// - Returns: the entries for tails.
    package mutating func observed(_ observation: WorkerObservation, on node: NodeID, nowUs: Int64) -> [TailEntry] {
        switch observation {
        case .event(let seen):
            for (key, verdict) in seen.verdicts { keep(verdict, of: key) }
            if capture?.isOn == true { capture?.add(RecordedEvent(seen, on: node, redaction)) }
            if seen.event.isTraced { for span in Span.matched(seen, on: node, nowUs: nowUs) { add(span) } }
            return tails.isEmpty ? [] : [.event(seen, on: node, nowMs: nowUs / 1_000)]
        case .run(let key, let operation, let shard, let run):
            keep(run, of: key)
            if capture?.isOn == true {
                capture?.add(
                    RecordedRun(node: node.name, key: key, startedAtMs: run.startedAtMs, outcome: run.outcome))
            }
            if run.isTraced { add(.ran(run, key, operation, shard, on: node, nowUs: nowUs)) }
            return tails.isEmpty ? [] : [.run(run, key, operation, on: node, nowMs: nowUs / 1_000)]
        }
    }

    package mutating func observationsDropped(_ count: Int, nowMs: Int64) {
        dropped += UInt64(count)
        capture?.drop(count, nowMs: nowMs)
    }

    private mutating func keep(_ verdict: EventVerdict, of key: LiveQueryKey) {
        change(key) { record, countMax in
            record.verdicts.append(verdict)
            record.bytes += verdict.byteCount
            if record.verdicts.count > countMax { record.bytes -= record.verdicts.removeFirst().byteCount }
        }
    }

    private mutating func keep(_ run: RunRecord, of key: LiveQueryKey) {
        change(key) { record, countMax in
            record.runs.append(run)
            record.bytes += run.byteCount
            if record.runs.count > countMax { record.bytes -= record.runs.removeFirst().byteCount }
        }
    }

    package mutating func ended(_ end: EndRecord, of key: LiveQueryKey) {
        change(key) { record, countMax in
            record.ended.append(end)
            if record.ended.count > countMax { record.ended.removeFirst() }
        }
    }

    /// Changes a record, unless all records together have too many bytes.
    private mutating func change(_ key: LiveQueryKey, _ body: (inout QueryRecord, Int) -> Void) {
        guard let place = queries.index(forKey: key) else { return }
        body(&queries.values[place], settings.decisionsMax)
        while bytes > settings.bytesMax, let largest = queries.max(by: { $0.value.bytes < $1.value.bytes })?.key {
            guard let record = queries[largest], record.bytes > 0 else { return }
            dropped += UInt64(record.verdicts.count + record.runs.count)
            queries[largest]?.verdicts = []
            queries[largest]?.runs = []
            queries[largest]?.bytes = 0
        }
    }

    // MARK: Traces

    /// Decides whether a mutation that begins now is traced.
    /// - Parameters:
    ///   - isWanted: whether its client asks for it.
    ///   - random: a number from 0 to below 1.
    package mutating func traces(isWanted: Bool, random: Double, nowMs: Int64) -> Bool {
        if isWanted {
            if nowMs - traceSecond.ms >= 1_000 { traceSecond = (nowMs, 0) }
            guard traceSecond.count < settings.tracesPerSecond else { return false }
            traceSecond.count += 1
            return true
        }
        return sampling.rate > 0 && sampling.untilMs > nowMs && random < sampling.rate
    }

    /// Notes that the publication of an event is to be noted.
    package mutating func awaitPublication(of event: String, trace: String, nowUs: Int64) {
        forgetPublications(nowUs: nowUs)
        if traced.count >= settings.spansMax { traced = [:] }
        traced[event] = (trace, nowUs)
    }

    private mutating func forgetPublications(nowUs: Int64) {
        for (event, awaited) in traced where nowUs - awaited.sinceUs > Self.publicationUs { traced[event] = nil }
    }

    package mutating func published(_ event: String, to shards: [ShardID], on node: NodeID, nowUs: Int64) {
        forgetPublications(nowUs: nowUs)
        guard let awaited = traced.removeValue(forKey: event) else { return }
        add(.published(awaited.trace, to: shards, on: node, nowUs: nowUs))
    }

    package mutating func add(_ span: Span) {
        if settings.exportsSpans, spansToExport.count < Self.exportMax { spansToExport.append(span) }
        if spans.count < settings.spansMax {
            spans.append(span)
        } else if settings.spansMax > 0 {
            spans[nextSpan] = span
            nextSpan = (nextSpan + 1) % settings.spansMax
        }
    }

    package mutating func takeSpansToExport() -> [Span] {
        defer { spansToExport = [] }
        return spansToExport
    }

    /// - Parameter trace: the id of one mutation's trace, or a W3C trace id, which may comprise several mutations.
    package func spans(of trace: String) -> [Span] {
        spans.filter { $0.trace == trace || $0.trace.hasPrefix(trace) && $0.trace.dropFirst(trace.count).first == "-" }
    }

    /// The spans that begin traces, the newest first.
    package func traces(limit: Int) -> [(commit: Span, spans: Int)] {
        var counts: [String: Int] = [:]
        for span in spans { counts[span.trace, default: 0] += 1 }
        return spans.filter { $0.kind == .committed }.sorted { $0.atUs > $1.atUs }.prefix(limit).map {
            ($0, counts[$0.trace] ?? 0)
        }
    }

    // MARK: Tails

    /// - Returns: the tail's number; nil if there are as many as may be.
    package mutating func openTail(_ filter: TailFilter) -> UInt64? {
        guard tails.count < settings.tailsMax else { return nil }
        lastTail += 1
        tails[lastTail] = filter
        return lastTail
    }

    package mutating func closeTail(_ number: UInt64) { tails[number] = nil }

    /// Returns the tails that get an entry.
    package func tails(for entry: TailEntry) -> [UInt64] {
        tails.filter { $0.value.accepts(entry) }.keys.sorted()
    }
}
