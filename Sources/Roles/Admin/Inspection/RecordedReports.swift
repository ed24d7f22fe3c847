import Inspection
import JSON
import LiveModel
import Refresh

/// How the parts of nodes become recordings, trials and flights. Pure.
enum RecordedReports {
    /// Reads the parts of a recording; a part that cannot be read, of another version, is named.
    static func recording(_ parts: [ReportPart]) -> (recording: EventRecording, unreadable: [String]) {
        var read: [EventRecording] = []
        var unreadable: [String] = []
        for part in parts {
            if let recording = try? EventRecording(lines: part.json.array("lines")) {
                read.append(recording)
            } else {
                unreadable.append(part.node.name)
            }
        }
        var recording = EventRecording(merging: read)
        recording.missingNodes.formUnion(unreadable)
        return (recording, unreadable)
    }

    static func events(_ parts: [ReportPart]) -> JSONObject {
        let (recording, unreadable) = recording(parts)
        return [
            "events": .int(Int64(recording.events.count)), "runs": .int(Int64(recording.runs.count)),
            "liveQueries": .int(Int64(recording.queries.count)), "leftOut": .int(Int64(recording.leftOut)),
            "recording": .array(parts.map(state)), "unreadable": .array(unreadable.map(JSONValue.string)),
            "lines": .array(recording.lines),
        ]
    }

    /// The state of the recording on each node.
    static func states(_ parts: [ReportPart]) -> JSONObject { ["recording": .array(parts.map(state))] }

    private static func state(_ part: ReportPart) -> JSONValue {
        .object(
            JSONObject((part.json.objectValue?.entries ?? []).filter { $0.key != "lines" }.map { ($0.key, $0.value) }))
    }

    /// The entries of a user on all nodes, by time.
    static func flight(_ parts: [ReportPart]) -> JSONObject {
        let entries = parts.flatMap { $0.json.array("entries") }.sorted { $0.int("atMs") < $1.int("atMs") }
        return [
            "isArmed": .bool(parts.contains { $0.json.bool("isArmed") }),
            "untilMs": .int(parts.map { $0.json.int("untilMs") }.max() ?? 0),
            "dropped": MergedReports.sum(parts, "dropped"),
            "sessions": .array(parts.flatMap { $0.json.array("sessions") }), "entries": .array(entries),
        ]
    }
}

extension AdminServices {
    /// The pairs of an event and a live query that a trial on a node looks at.
    private static let trialPairsMax = 200_000

    /// Tries an edited rule on the events that all nodes recorded.
    /// - Throws: `.limitExceeded` while another trial runs on this node; `.badRequest`.
    func tryRule(
        _ operation: OperationReference, number: Int?, mutation: OperationReference?, condition: String?
    ) async throws -> JSONValue {
        guard trials.begin() else {
            throw RequestError(.limitExceeded, "another trial of rules runs on this node; try again when it has ended")
        }
        defer { trials.end() }
        let node = why.node
        var query = [(name: "operation", value: operation.description)]
        if let mutation { query.append((name: "mutation", value: mutation.description)) }
        let gathered = try await peers.gather("/admin/v1/events", query: query, only: nil, roles: [.worker]) {
            await node.events(of: operation, tried: mutation)
        }
        var (recording, unreadable) = RecordedReports.recording(gathered.parts)
        recording.missingNodes.formUnion(gathered.unreachable.map(\.node.name))
        var limits = RuleTrial.Limits()
        limits.pairsMax = Self.trialPairsMax
        let trial: RuleTrial
        do {
            let edit = try RuleEdit(
                operation, number: number, mutation: mutation, condition: condition, in: recording)
            trial = try RuleTrial(recording, limits: limits) { known throws(TrialRule.ConditionError) in
                try edit.rules(of: known)
            }
        } catch {
            throw RequestError(.badRequest, "\(error)")
        }
        var answer = trial.json.objectValue ?? [:]
        answer["recording"] = RecordedReports.states(gathered.parts)["recording"]
        answer["unreadable"] = .array(unreadable.map(JSONValue.string))
        answer["unreachable"] = WhyService.rows(gathered.unreachable)
        return .object(answer)
    }
}
