package import JSON

/// A run of a live query, as it ended.
package struct RunRecord: Sendable, Hashable {
    package enum Outcome: String, Sendable {
        /// The result is another one than before.
        case changed
        case same
        case failed
        /// Cancelled after its time; it runs again apart from others.
        case cutShort
    }

    package var startedAtMs: Int64
    package var ms: Int64
    /// `key`, `rule`, `rows`, `timer`, `check`; `subscriber` without any other.
    package var causes: [String]
    /// The trace of the oldest event that caused it; empty if none did.
    package var trace: String
    /// Whether that event's mutation is traced.
    package var isTraced: Bool
    /// The events that this run answers together.
    package var coalesced: Int
    package var outcome: Outcome
    package var digest: String?
    package var error: String?
    /// The gateways that got a message.
    package var gateways: [String]

    package init(
        startedAtMs: Int64, ms: Int64, causes: [String], trace: String, isTraced: Bool, coalesced: Int,
        outcome: Outcome, digest: String?, error: String?, gateways: [String]
    ) {
        self.startedAtMs = startedAtMs
        self.ms = ms
        self.causes = causes
        self.trace = trace
        self.isTraced = isTraced
        self.coalesced = coalesced
        self.outcome = outcome
        self.digest = digest
        self.error = error
        self.gateways = gateways
    }

    package var byteCount: Int { 256 + trace.utf8.count + (error?.utf8.count ?? 0) + 32 * gateways.count }

    package var json: JSONValue {
        var object: JSONObject = [
            "startedAtMs": .int(startedAtMs), "finishedAtMs": .int(startedAtMs + ms), "ms": .int(ms),
            "causes": .array(causes.map(JSONValue.string)), "coalesced": .int(Int64(coalesced)),
            "outcome": .string(outcome.rawValue), "gateways": .array(gateways.map(JSONValue.string)),
        ]
        if !trace.isEmpty { object["trace"] = .string(trace) }
        if let digest { object["digest"] = .string(digest) }
        if let error { object["error"] = .string(error) }
        return .object(object)
    }
}
