import Catalog
import Execution
import FanoutWorker
import Gateway
import Inspection
import JSON
import LiveModel
import Operations
import Recording

/// This node's part of recorded events and of flight recorders.
extension NodeInspection {
    /// The live queries that a recording lists, and their bytes as JSON.
    private static let queriesMax = 20_000
    private static let queryBytesMax = 6 << 20

    func recordEvents(forMs: Int64) -> JSONValue {
        parts.components.recorder.recordEvents(forMs: forMs, nowMs: parts.clock.nowMs())
        return eventsState
    }

    func stopEvents() -> JSONValue {
        parts.components.recorder.stopEvents(nowMs: parts.clock.nowMs())
        return eventsState
    }

    var eventsState: JSONValue {
        parts.components.recorder.read { state in
            var object: JSONObject = ["node": .string(parts.id.name)]
            object["untilMs"] = state.eventsUntilMs.map(JSONValue.int)
            object["events"] = .int(Int64(state.eventCount))
            object["bytes"] = .int(Int64(state.eventBytes))
            return .object(object)
        }
    }

    /// Returns what this node recorded, and the live queries that it owns now.
    /// - Parameters:
    ///   - operation: only this query or mutation; nil: all.
    ///   - tried: a mutation about which the query may have no rule yet.
    func events(of operation: OperationReference?, tried: OperationReference? = nil) async -> JSONValue {
        var answer = eventsState.objectValue ?? [:]
        var recording = parts.components.recorder.read { state in
            var recording = state.recordedEvents
            recording.runsSinceMs[parts.id.name] = state.runsSinceMs
            return recording
        }
        let redaction = parts.components.recorder.redaction
        var bytes = 0
        // Rules can be tried on queries that nobody follows now, too.
        var versions = Set(
            parts.catalogs.set.current.catalog.connectors.values.flatMap(\.operations.values)
                .filter { $0.kind == .query && !$0.refresh.triggers.isEmpty }
                .map { RuleVersion(operation: $0.reference, version: $0.version) })
        for (query, sinceMs) in await parts.components.worker?.registered(limit: Self.queriesMax + 1) ?? [] {
            let recorded = RecordedQuery(
                key: query.key, operation: query.operation, version: query.version,
                variables: redaction.variables(query.variables), auth: redaction.auth(query.auth),
                node: parts.id.name, sinceMs: sinceMs)
            bytes += recorded.byteCount
            guard recording.queries.count < Self.queriesMax, bytes <= Self.queryBytesMax else {
                recording.leftOut += 1
                recording.queriesLeftOut += 1
                continue
            }
            recording.queries.append(recorded)
            versions.insert(RuleVersion(operation: query.operation, version: query.version))
        }
        recording.operations = versions.compactMap { version in
            let set = parts.catalogs.set
            return set.operation(version.operation, version: version.version).map {
                RecordedOperation(
                    $0, isCurrent: set.current.catalog.operation(version.operation)?.version == $0.version)
            }
        }
        recording = EventRecording(merging: [operation.map { recording.only($0, tried: tried) } ?? recording])
        answer["lines"] = .array(recording.lines)
        return .object(answer)
    }

    private struct RuleVersion: Hashable {
        let operation: OperationReference
        let version: Digest
    }

    // MARK: Flight recorders

    func armFlight(of uid: String, forMs: Int64) async -> JSONValue {
        parts.components.recorder.armFlight(of: uid, forMs: forMs, nowMs: parts.clock.nowMs())
        return await flight(of: uid)
    }

    func stopFlight(of uid: String) async -> JSONValue {
        parts.components.recorder.disarmFlight(of: uid)
        return await flight(of: uid)
    }

    func flight(of uid: String) async -> JSONValue {
        let known = parts.components.recorder.read { $0.flight(of: uid) }
        let nowMs = parts.clock.nowMs()
        var object: JSONObject = ["node": .string(parts.id.name), "isArmed": .bool((known?.untilMs ?? 0) > nowMs)]
        if let known {
            object["sinceMs"] = .int(known.sinceMs)
            object["untilMs"] = .int(known.untilMs)
            object["dropped"] = .int(Int64(known.dropped))
        }
        object["sessions"] = .array(
            await parts.components.sessions.reports(limit: .max).filter { $0.user == uid }.map { report in
                [
                    "session": .string("\(parts.id)/\(report.id)"), "protocol": .string(report.protocolName),
                    "client": .string(report.client), "peer": .string(report.peer),
                    "subscriptions": .int(Int64(report.subscriptions)), "sinceMs": .int(max(0, nowMs - report.sinceMs)),
                ]
            })
        object["entries"] = .array((known?.entries ?? []).map { $0.json(on: parts.id.name) })
        return .object(object)
    }
}

extension RecordedOperation {
    init(_ operation: StoredOperation, isCurrent: Bool) {
        self.init(
            operation: operation.reference, version: operation.version,
            rules: operation.refresh.triggers.map { Rule(mutation: $0.mutation, condition: $0.conditionText) },
            authReads: operation.authReads, isCurrent: isCurrent)
    }
}
