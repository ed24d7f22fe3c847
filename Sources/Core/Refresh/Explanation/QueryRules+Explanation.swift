import CEL
package import Inspection
import JSON
package import LiveModel

/// Why an event refreshes a live query or not, rule by rule.
///
/// This asks the same condition plans and sites as `RuleIndex`, but one live query at a time and to the end: the index
/// stops at the first part that is false, and does not know which. A random test compares the verdicts.
extension QueryRules {
    /// - Parameter redaction: hides values in the reasons.
    /// - Returns: the verdict of each lookup key, trigger and site, in this order. The live query is concerned exactly
    ///   if one of them is a match.
    package func explain(_ event: MutationEvent, _ redaction: Redaction = Redaction()) -> [RuleVerdict] {
        lookupKeys.map { explain($0, event) }
            + triggers.map { $0.explain(event, request: request, redaction) }
            + (automatic?.explain(event, redaction) ?? [])
    }

    private func explain(_ key: EntityKey, _ event: MutationEvent) -> RuleVerdict {
        let rule = "implicit: key of \(key.table)"
        if event.keysWritten.contains(key) {
            return RuleVerdict(rule: rule, kind: .key, outcome: .matched, reason: "the mutation wrote this row")
        }
        let hasTable = event.keysWritten.contains { $0.table == key.table }
        return RuleVerdict(
            rule: rule, kind: .key, outcome: hasTable ? .no : .notConcerned,
            reason: hasTable
                ? "the mutation wrote another row of \(key.table)"
                : "the mutation wrote no row of \(key.table) by its key")
    }
}

extension Trigger {
    /// The rule in words.
    package var text: String {
        "onMutationExecuted \(mutation.name(within: id.operation.connector))"
            + (condition.map { " when \($0.source)" } ?? "")
    }

    fileprivate func explain(_ event: MutationEvent, request: Value, _ redaction: Redaction) -> RuleVerdict {
        func verdict(_ outcome: RuleVerdict.Outcome, _ reason: String, _ parts: [ConditionPart] = []) -> RuleVerdict {
            RuleVerdict(rule: text, kind: .trigger, outcome: outcome, reason: reason, parts: parts)
        }
        guard mutation == event.operation else {
            return verdict(.notConcerned, "the rule is about \(mutation), not about \(event.operation)")
        }
        guard let condition else { return verdict(.matched, "the rule has no condition") }
        let activation = ConditionActivation(request: request, mutation: event.conditionValue)
        let parts = ConditionPlan.parts(of: condition).map { ConditionPartVerdict($0, event, activation, redaction) }
        let told = parts.map(\.part)
        if let deciding = parts.first(where: { $0.part.outcome == .no }) { return verdict(.no, deciding.reason, told) }
        if let failing = parts.first(where: { $0.part.outcome == .error }) {
            return verdict(.error, "\(failing.reason); a condition that fails refreshes", told)
        }
        return verdict(.matched, "the condition holds", told)
    }
}

/// The verdict on one operand of a condition's outermost `&&`.
private struct ConditionPartVerdict {
    let part: ConditionPart
    let reason: String

    init(_ part: ConditionPlan.Part, _ event: MutationEvent, _ activation: ConditionActivation, _ redaction: Redaction)
    {
        let program = part.program
        let values = program.attributes.map { path in
            (path: path.description, value: Self.text(of: path, activation, redaction))
        }
        guard event.tells(program) else {
            self.part = ConditionPart(text: program.source, outcome: .error, values: values)
            reason = "\(program.source): the event does not tell this part of the writer's auth"
            return
        }
        let outcome: ConditionPart.Outcome
        var problem = ""
        do {
            switch try program.evaluate(activation) {
            case .bool(true): outcome = .yes
            case .bool(false): outcome = .no
            case let other:
                outcome = .error
                problem = "is a \(other.typeValue.name), not true or false"
            }
        } catch {
            outcome = .error
            problem = "fails: \(error.code.rawValue)"
        }
        self.part = ConditionPart(text: program.source, outcome: outcome, values: values)
        switch (outcome, part.side) {
        case (.no, .join(let join)):
            let mutation = Self.text(of: join.mutationPath, activation, redaction)
            let request = Self.text(of: join.requestPath, activation, redaction)
            reason = "\(join.mutationPath): \(mutation) ≠ \(request)"
        case (.error, _): reason = "\(program.source) \(problem)" + Self.suffix(values)
        case (.no, _), (.yes, _):
            reason = "\(program.source) is \(outcome == .yes ? "true" : "false")" + Self.suffix(values)
        }
    }

    private static func suffix(_ values: [(path: String, value: String)]) -> String {
        if values.isEmpty { return "" }
        return " (" + values.map { "\($0.path) = \($0.value)" }.joined(separator: ", ") + ")"
    }

    private static func text(
        of path: AttributePath, _ activation: ConditionActivation, _ redaction: Redaction
    ) -> String {
        guard !redaction.hides(path: [path.root] + path.fields) else { return Redaction.mark }
        guard let reader = ConditionActivation.environment.reader(for: path),
            let value = try? reader.value(in: activation)
        else { return "absent" }
        return ValueText.text(value, redaction)
    }
}

/// CEL values as operators read them.
enum ValueText {
    private static let bytesMax = 80
    private static let elementsMax = 8

    static func text(_ value: Value, _ redaction: Redaction) -> String {
        switch value {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .int(let value): "\(value)"
        case .uint(let value): "\(value)u"
        case .double(let value): "\(value)"
        case .string(let text): quoted(text)
        case .bytes(let bytes): "\(bytes.count) bytes"
        case .list(let values):
            "[" + values.prefix(elementsMax).map { text($0, redaction) }.joined(separator: ", ")
                + (values.count > elementsMax ? ", …" : "") + "]"
        case .map(let map):
            "{" + (0..<min(map.count, elementsMax)).map { member($0, of: map, redaction) }.joined(separator: ", ")
                + (map.count > elementsMax ? ", …" : "") + "}"
        case .duration, .timestamp, .type: value.typeValue.name
        case .optional(let value): value.map { "optional \(text($0, redaction))" } ?? "optional.none"
        }
    }

    private static func member(_ position: Int, of map: MapValue, _ redaction: Redaction) -> String {
        let key = map.key(at: position)
        let name = if case .string(let name) = key { name } else { text(key, redaction) }
        let value = map.value(forKey: key).map { text($0, redaction) } ?? ""
        return "\(name): \(redaction.hides(name) ? Redaction.mark : value)"
    }

    static func text(_ value: JSONValue) -> String {
        if case .string(let text) = value { return quoted(text) }
        return clipped(value.text)
    }

    static func quoted(_ text: String) -> String { "'\(clipped(text))'" }

    private static func clipped(_ text: String) -> String {
        text.utf8.count <= bytesMax ? text : text.prefix(bytesMax / 2) + "…"
    }
}
