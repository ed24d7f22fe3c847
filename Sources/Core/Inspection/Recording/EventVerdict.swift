package import JSON

/// The verdict of all rules of one live query on one event.
package struct EventVerdict: Sendable, Hashable {
    /// The commit, in milliseconds since 1970.
    package var atMs: Int64
    /// The entry of the shard's events stream; empty if it is not known.
    package var id: String
    package var mutation: String
    package var trace: String
    /// Whether it was recorded when the event arrived. Otherwise the rules were asked afterwards, about an event that
    /// the shard remembers.
    package var isRecorded: Bool
    package var isMatched: Bool
    package var rules: [RuleVerdict]

    package init(
        atMs: Int64, id: String, mutation: String, trace: String, isRecorded: Bool, isMatched: Bool,
        rules: [RuleVerdict]
    ) {
        self.atMs = atMs
        self.id = id
        self.mutation = mutation
        self.trace = trace
        self.isRecorded = isRecorded
        self.isMatched = isMatched
        self.rules = rules
    }

    /// The approximate size in memory.
    package var byteCount: Int {
        256 + mutation.utf8.count
            + rules.reduce(0) { sum, rule in
                sum + 128 + rule.rule.utf8.count + rule.reason.utf8.count
                    + rule.parts.reduce(0) { $0 + 96 + $1.text.utf8.count + $1.values.count * 64 }
            }
    }

    package var json: JSONValue {
        [
            "atMs": .int(atMs), "id": .string(id), "mutation": .string(mutation), "trace": .string(trace),
            "isRecorded": .bool(isRecorded), "isMatched": .bool(isMatched), "rules": .array(rules.map(\.json)),
        ]
    }

    package init(json: JSONValue) {
        self.init(
            atMs: json.int("atMs"), id: json.string("id"), mutation: json.string("mutation"),
            trace: json.string("trace"), isRecorded: json.bool("isRecorded"), isMatched: json.bool("isMatched"),
            rules: json.array("rules").map(RuleVerdict.init))
    }
}

/// The verdict of one rule, or of one automatic site, on one event.
package struct RuleVerdict: Sendable, Hashable {
    package enum Kind: String, Sendable {
        /// A row that is looked up by primary key.
        case key
        /// `onMutationExecuted`
        case trigger
        case automatic
    }

    package enum Outcome: String, Sendable {
        case matched
        case no
        /// The condition cannot be evaluated, which counts as a match.
        case error
        /// A change that is only counted (`automatic: observe`).
        case observed
        /// The rule is about other mutations, or other tables.
        case notConcerned
    }

    /// The rule in words.
    package var rule: String
    package var kind: Kind
    package var outcome: Outcome
    /// Why: `mutation.variables.category: 'Drama' ≠ 'Sci-Fi'`.
    package var reason: String
    /// The operands of the condition's outermost `&&`.
    package var parts: [ConditionPart]

    package init(rule: String, kind: Kind, outcome: Outcome, reason: String, parts: [ConditionPart] = []) {
        self.rule = rule
        self.kind = kind
        self.outcome = outcome
        self.reason = reason
        self.parts = parts
    }

    /// Whether it refreshes the live query.
    package var isMatch: Bool { outcome == .matched || outcome == .error }

    var json: JSONValue {
        var object: JSONObject = [
            "rule": .string(rule), "kind": .string(kind.rawValue), "outcome": .string(outcome.rawValue),
            "reason": .string(reason),
        ]
        if !parts.isEmpty { object["parts"] = .array(parts.map(\.json)) }
        return .object(object)
    }

    init(json: JSONValue) {
        self.init(
            rule: json.string("rule"), kind: Kind(rawValue: json.string("kind")) ?? .trigger,
            outcome: Outcome(rawValue: json.string("outcome")) ?? .no, reason: json.string("reason"),
            parts: json.array("parts").map(ConditionPart.init))
    }
}

/// One operand of the outermost `&&` of a condition, with the values that it read.
package struct ConditionPart: Sendable, Hashable {
    package enum Outcome: String, Sendable {
        case yes, no, error
    }

    package var text: String
    package var outcome: Outcome
    /// The values by attribute, in CEL's notation.
    package var values: [(path: String, value: String)] { pairs.map { ($0.path, $0.value) } }
    private var pairs: [Pair]

    private struct Pair: Sendable, Hashable {
        let path: String
        let value: String
    }

    package init(text: String, outcome: Outcome, values: [(path: String, value: String)]) {
        self.text = text
        self.outcome = outcome
        pairs = values.map { Pair(path: $0.path, value: $0.value) }
    }

    var json: JSONValue {
        [
            "text": .string(text), "outcome": .string(outcome.rawValue),
            "values": .object(JSONObject(pairs.map { ($0.path, .string($0.value)) })),
        ]
    }

    init(json: JSONValue) {
        self.init(
            text: json.string("text"), outcome: Outcome(rawValue: json.string("outcome")) ?? .no,
            values: (json["values"]?.objectValue?.entries ?? []).map { ($0.key, $0.value.stringValue ?? "") })
    }
}

/// Lenient access to what another node reported, perhaps one of another version.
extension JSONValue {
    package func string(_ name: String) -> String { self[name]?.stringValue ?? "" }
    package func optionalString(_ name: String) -> String? { self[name]?.stringValue }
    package func int(_ name: String) -> Int64 { self[name]?.intValue ?? 0 }
    package func optionalInt(_ name: String) -> Int64? { self[name]?.intValue }
    package func bool(_ name: String) -> Bool { self[name]?.boolValue ?? false }
    package func array(_ name: String) -> [JSONValue] { self[name]?.arrayValue ?? [] }
    package func strings(_ name: String) -> [String] { array(name).compactMap(\.stringValue) }
}
