package import JSON
package import LiveModel

/// One step of a traced mutation's way, as one node noted it.
package struct Span: Sendable {
    package enum Kind: String, Sendable {
        /// The request began.
        case received
        case committed
        /// The mutation failed; nothing was committed.
        case failed
        /// The event is in the streams of the shards.
        case published
        /// A shard's owner compared the event with its live queries.
        case matched
        /// One of those that it concerns.
        case query
        case ran
        /// The result is on a gateway.
        case arrived
        case delivered
    }

    package let trace: String
    package let kind: Kind
    package let node: String
    /// Microseconds since 1970, by the node's clock.
    package let atUs: Int64
    /// Further members of its JSON.
    package let details: JSONObject

    package init(_ trace: String, _ kind: Kind, on node: NodeID, atUs: Int64, _ details: JSONObject = [:]) {
        self.trace = trace
        self.kind = kind
        self.node = node.name
        self.atUs = atUs
        self.details = details
    }

    package static func received(
        _ trace: String, _ mutation: OperationReference, parentSpan: String?, on node: NodeID, nowUs: Int64
    ) -> Span {
        var details: JSONObject = ["mutation": .string(mutation.description)]
        details["parentSpan"] = parentSpan.map(JSONValue.string)
        return Span(trace, .received, on: node, atUs: nowUs, details)
    }

    package static func failed(_ trace: String, _ error: RequestError, on node: NodeID, nowUs: Int64) -> Span {
        Span(trace, .failed, on: node, atUs: nowUs, ["error": .string(error.code.rawValue)])
    }

    static func published(_ trace: String, to shards: [ShardID], on node: NodeID, nowUs: Int64) -> Span {
        Span(trace, .published, on: node, atUs: nowUs, ["shards": .array(shards.map { .int(Int64($0.number)) })])
    }

    /// - Parameter keys, rows: the numbers of rows written by key, and of changes of rows that the event tells.
    package static func committed(
        _ trace: String, _ mutation: OperationReference, event: String, committedAtMs: Int64, on node: NodeID,
        nowUs: Int64
    ) -> Span {
        Span(
            trace, .committed, on: node, atUs: nowUs,
            [
                "mutation": .string(mutation.description), "event": .string(event),
                "committedAtMs": .int(committedAtMs),
            ])
    }

    static func matched(_ seen: EventObservation, on node: NodeID, nowUs: Int64) -> [Span] {
        let trace = seen.event.traceID
        let whole = Span(
            trace, .matched, on: node, atUs: nowUs,
            [
                "shard": .int(Int64(seen.shard.number)), "id": .string(seen.id.description),
                "considered": .int(Int64(seen.considered)), "matched": .int(Int64(seen.matched)),
                "keys": .int(Int64(seen.event.keysWritten.count)), "rows": .int(Int64(seen.event.rows?.all.count ?? 0)),
                "mutation": .string(seen.event.operation.description), "committedAtMs": .int(seen.event.committedAtMs),
            ])
        return [whole]
            + seen.matches.map { match in
                Span(
                    trace, .query, on: node, atUs: nowUs,
                    [
                        "shard": .int(Int64(seen.shard.number)), "key": .string(match.key.description),
                        "operation": .string(match.operation.description),
                        "rules": .array(match.rules.map(JSONValue.string)),
                    ])
            }
    }

    static func ran(
        _ run: RunRecord, _ key: LiveQueryKey, _ operation: OperationReference, _ shard: ShardID, on node: NodeID,
        nowUs: Int64
    ) -> Span {
        var details: JSONObject = [
            "durationMs": .int(run.ms), "shard": .int(Int64(shard.number)), "key": .string(key.description),
            "operation": .string(operation.description), "coalesced": .int(Int64(run.coalesced)),
            "outcome": .string(run.outcome.rawValue), "gateways": .array(run.gateways.map(JSONValue.string)),
        ]
        details["digest"] = run.digest.map(JSONValue.string)
        details["error"] = run.error.map(JSONValue.string)
        return Span(run.trace, .ran, on: node, atUs: nowUs, details)
    }

    package static func arrived(_ result: LiveResult, _ key: LiveQueryKey, on node: NodeID, nowUs: Int64) -> Span {
        Span(
            result.traceID, .arrived, on: node, atUs: nowUs,
            ["key": .string(key.description), "bytes": .int(Int64(result.answer.byteCount))])
    }

    /// The sessions that a span lists by name.
    private static let sessionsMax = 20

    /// - Parameter held: the number of sessions that do not read, for which the result waits.
    package static func delivered(
        _ trace: String, _ key: LiveQueryKey, sessions: [String], count: Int, held: Int, on node: NodeID, nowUs: Int64
    ) -> Span {
        Span(
            trace, .delivered, on: node, atUs: nowUs,
            [
                "key": .string(key.description),
                "sessions": .array(sessions.prefix(sessionsMax).map(JSONValue.string)),
                "sessionCount": .int(Int64(count)), "held": .int(Int64(held)),
            ])
    }

    /// The form between nodes.
    package var json: JSONValue {
        var object: JSONObject = [
            "trace": .string(trace), "kind": .string(kind.rawValue), "node": .string(node), "atUs": .int(atUs),
        ]
        for member in details.entries { object[member.key] = member.value }
        return .object(object)
    }

    /// Returns nil for a kind of a later version.
    package init?(json: JSONValue) {
        guard let kind = Kind(rawValue: json.string("kind")), case .object(var details) = json else { return nil }
        self.kind = kind
        trace = json.string("trace")
        node = json.string("node")
        atUs = json.int("atUs")
        for name in ["trace", "kind", "node", "atUs"] { details[name] = nil }
        self.details = details
    }
}
