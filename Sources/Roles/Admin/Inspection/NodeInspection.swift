import Catalog
import Cluster
import Clocks
import Execution
import FanoutWorker
import Gateway
import Inspection
import JSON
import LiveModel
import Operations
import Recording
import Sessions
import Sharding
import Synchronization

/// This node's part of why, traces and sessions: what its roles know of one live query.
package struct NodeInspection: Sendable {
    let parts: AdministeredNode

    private var node: NodeID { parts.id }
    private var worker: FanoutWorker? { parts.components.worker }
    private var gateway: GatewayService? { parts.components.gateway }
    private var recorder: NodeRecorder { parts.components.recorder }
    private var redaction: Redaction { recorder.redaction }

    package init(_ node: AdministeredNode) {
        parts = node
    }

    /// The events that are listed.
    static let eventsMax = 32
    /// The time that the query has to answer.
    static let truthMs: Int64 = 3_000

    // MARK: A live query

    /// Returns what this node knows of a live query.
    /// - Parameter arms: whether it is recorded from now on, if the node knows it.
    func query(_ key: LiveQueryKey, arms: Bool) async -> JSONValue {
        let nowMs = parts.clock.nowMs()
        let owned = await worker?.inspect(key, events: Self.eventsMax, redaction)
        let held = gateway?.held(key)
        // Made-up keys must not push those out that somebody looks at.
        if arms, owned != nil || held != nil || recorder.read({ $0.isRecorded(key) }) {
            recorder.arm(key, nowMs: nowMs)
        }
        var answer: JSONObject = ["node": .string(node.name)]
        if let query = owned?.query ?? held?.query { answer["query"] = description(of: query) }
        if var owner = owned?.owner {
            owner.node = node.name
            answer["registered"] = owner.json
        }
        if let shard = held?.shard.number ?? owned?.owner.shard { answer["shard"] = .int(Int64(shard)) }
        let sessions = await parts.components.sessions.subscriptions(of: key, on: node).reports
        if held != nil || !sessions.isEmpty {
            answer["gateway"] =
                GatewayReport(
                    node: node.name, isDraining: parts.cluster.overrideList.overrides.drained.contains(node),
                    digest: held?.digest?.hex, position: held?.position?.description, bytes: held?.bytes ?? 0,
                    isAwaitingOwner: held?.isAwaitingOwner ?? false,
                    lingersMs: held?.lingersUntilMs.map { max(0, $0 - nowMs) } ?? 0, sessions: sessions,
                    markerLateMs: held.flatMap { gateway?.lag.missingMs(ofLate: $0.shard) } ?? 0
                ).json()
        }
        let record = recorder.read { $0.record(of: key) }
        answer["events"] = .array(Self.events(record?.verdicts ?? [], owned?.events ?? []).map(\.json))
        answer["runs"] = .array((record?.runs ?? []).reversed().map(\.json))
        answer["ended"] = .array((record?.ended ?? []).reversed().map(\.json))
        var recording: JSONObject = ["isArmed": .bool(record != nil)]
        if let record {
            recording["sinceMs"] = .int(record.sinceMs)
            recording["untilMs"] = .int(record.untilMs)
        }
        answer["recording"] = .object(recording)
        return .object(answer)
    }

    /// Returns the recorded verdicts and those of remembered events, the newest first.
    static func events(_ recorded: [EventVerdict], _ remembered: [EventVerdict]) -> [EventVerdict] {
        let known = Set(recorded.map(\.id))
        return Array((recorded.reversed() + remembered.filter { !known.contains($0.id) }).prefix(eventsMax))
    }

    private func description(of query: LiveQuery) -> JSONValue {
        let set = parts.catalogs.set
        let operation = set.operation(query.operation, version: query.version)
        var object: JSONObject = [
            "key": .string(query.key.description), "operation": .string(query.operation.description),
            "version": .string(query.version.hex),
            "isCurrentVersion": .bool(set.current.catalog.operation(query.operation)?.version == query.version),
            "variables": .object(redaction.variables(query.variables)),
        ]
        object["auth"] = redaction.auth(query.auth)
        object["rules"] = .array((operation.map(NodeInspector.rules(of:)) ?? []).map(JSONValue.string))
        object["readsTables"] = .array((operation?.readWriteSet.tablesRead ?? []).sorted().map(JSONValue.string))
        object["isPublic"] = .bool(operation?.auth.level == .everyone)
        return .object(object)
    }

    // MARK: The truth

    /// Runs a live query that this node knows, by the statement of re-runs but on the primary, without telling
    /// anybody: looking changes no screen.
    /// - Parameter known: the live query if the asker knows it.
    func truth(_ key: LiveQueryKey, known: LiveQuery? = nil) async -> JSONValue {
        var query = known ?? gateway?.held(key)?.query
        if query == nil { query = await worker?.inspect(key, events: 0, redaction)?.query }
        let startMs = parts.clock.nowMs()
        var answer: JSONObject = ["node": .string(node.name), "ranOn": .string(node.name), "atMs": .int(startMs)]
        guard let query, let operation = parts.catalogs.set.operation(query.operation, version: query.version) else {
            answer["state"] = "failed"
            answer["error"] = "this node does not serve the query's version"
            return .object(answer)
        }
        let item = QueryExecutor.Item(variables: query.variables, auth: query.projectedAuth, knownDigest: nil)
        let startNs = MonotonicClock.nowNs()
        let outcome = await outcome(of: operation, item)
        answer["ms"] = .double((Double(MonotonicClock.nowNs() - startNs) / 100_000).rounded() / 10)
        answer["replicas"] = await NodeInspector(parts).replicas()
        switch outcome {
        case .result(let result):
            answer["state"] = "answered"
            answer["digest"] = .string(result.digest.hex)
        case .failed(let error):
            answer["state"] = "failed"
            answer["error"] = .string(error.message)
        case .cutShort, .unchanged, nil: answer["state"] = "timedOut"
        }
        return .object(answer)
    }

    /// - Returns: nil if the time is over first; the run ends by itself.
    private func outcome(of operation: StoredOperation, _ item: QueryExecutor.Item) async -> QueryExecutor.Outcome? {
        let queries = parts.components.queries
        return await withCheckedContinuation { continuation in
            let waiting = Mutex<CheckedContinuation<QueryExecutor.Outcome?, Never>?>(continuation)
            let answer = Answer(waiting)
            Task { answer.give(await queries.runOnPrimary(operation, item, limitMs: Int(Self.truthMs))) }
            Task {
                try? await Task.sleep(for: .milliseconds(Self.truthMs))
                answer.give(nil)
            }
        }
    }

    /// The first of two answers.
    private final class Answer: Sendable {
        private let waiting: Mutex<CheckedContinuation<QueryExecutor.Outcome?, Never>?>

        init(_ waiting: consuming sending Mutex<CheckedContinuation<QueryExecutor.Outcome?, Never>?>) {
            self.waiting = waiting
        }

        func give(_ outcome: QueryExecutor.Outcome?) {
            waiting.withLock { waiting in
                defer { waiting = nil }
                return waiting
            }?.resume(returning: outcome)
        }
    }

    // MARK: Sessions

    /// Returns the live queries of a session.
    func session(_ id: UInt64) async -> JSONValue {
        let (isKnown, reports) = await parts.components.sessions.subscriptions(only: id, of: nil, on: node)
        return [
            "node": .string(node.name), "isKnown": .bool(isKnown),
            "ended": .array(recorder.read { $0.ends(of: recorder.name(id)) }.map(\.json)),
            "subscriptions": .array(
                reports.map { report in
                    var row = report.json.objectValue ?? JSONObject()
                    let key = Digest(hex: report.key).map(LiveQueryKey.init(digest:))
                    row["operation"] = .string(key.flatMap { gateway?.held($0)?.query.operation.description } ?? "")
                    return .object(row)
                }),
        ]
    }

    // MARK: Traces and recording

    func spans(of trace: String) -> JSONValue {
        ["node": .string(node.name), "spans": .array(recorder.read { $0.spans(of: trace) }.map(\.json))]
    }

    func traces(limit: Int) -> JSONValue {
        [
            "node": .string(node.name),
            "traces": .array(
                recorder.read { $0.traces(limit: limit) }.map { commit, spans in
                    [
                        "trace": .string(commit.trace), "mutation": commit.details["mutation"] ?? "",
                        "committedAtMs": .int(commit.atUs / 1_000), "spans": .int(Int64(spans)),
                    ]
                }),
        ]
    }

    func recording() -> JSONValue {
        let nowMs = parts.clock.nowMs()
        let settings = recorder.settings
        return recorder.read { state in
            var object: JSONObject = ["node": .string(node.name), "isArmed": .bool(state.isOn)]
            object["untilMs"] = state.untilMs(nowMs: nowMs).map(JSONValue.int)
            object["traceRate"] = .double(state.traceRate)
            object["queries"] = .int(Int64(state.queryCount))
            object["queriesMax"] = .int(Int64(settings.queriesMax))
            object["bytes"] = .int(Int64(state.bytes))
            object["bytesMax"] = .int(Int64(settings.bytesMax))
            object["spans"] = .int(Int64(state.spanCount))
            object["spansMax"] = .int(Int64(settings.spansMax))
            object["tails"] = .int(Int64(state.tailCount))
            object["dropped"] = .int(Int64(clamping: state.dropped))
            return .object(object)
        }
    }
}
