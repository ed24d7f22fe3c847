import CEL
import Inspection
import LiveModel

/// One rule with the recorded live queries that have it.
///
/// Live queries of which the condition reads nothing hidden are in the index that workers use. The others are judged
/// part by part: a part that is false decides, whatever the hidden ones say.
struct TrialTrigger {
    let trigger: Trigger
    private let redaction: Redaction
    /// The parts of `request.auth` that the live queries keep.
    private let known: AuthReads
    private var index: TriggerIndex
    private var requests: [Int32: Value] = [:]
    /// The live queries of which the condition reads something hidden.
    private var opaque: Set<Int32> = []

    enum Verdict {
        case no, matched
        /// - Parameter reason: what is hidden.
        case unknown(reason: String)

        var isMatched: Bool { if case .matched = self { true } else { false } }
    }

    init(_ trigger: Trigger, known: AuthReads, _ redaction: Redaction) {
        self.trigger = trigger
        self.known = known
        self.redaction = redaction
        index = TriggerIndex(trigger)
    }

    mutating func insert(_ slot: Int32, request: Value) {
        requests[slot] = request
        if let condition = trigger.condition, hidden(in: condition, request: request) != nil {
            opaque.insert(slot)
        } else {
            index.insert(slot, request: request)
        }
    }

    /// Judges an event of the rule's mutation.
    /// - Parameter found: called for each live query that it concerns, or may concern.
    /// - Returns: the number of live queries that were evaluated one by one.
    func match(_ event: RecordedEvent, found: (Int32, Verdict) -> Void) -> Int {
        let recorded = event.event
        let mutation = recorded.conditionValue
        let isOpaque = trigger.condition.map { hidden(in: $0, event, mutation) != nil } ?? false
        var evaluated = 0
        if !isOpaque {
            var errors = 0
            evaluated = index.match(
                recorded, mutation: mutation, request: { requests[$0] ?? .null }, found: { found($0, .matched) },
                errors: &errors)
        }
        guard let condition = trigger.condition, isOpaque || !opaque.isEmpty else { return evaluated }
        let parts = ConditionPlan.parts(of: condition).map(\.program)
        let hiddenByEvent = parts.map { hidden(in: $0, event, mutation) }
        let slots = isOpaque ? Array(requests.keys) : Array(opaque)
        for slot in slots {
            guard let request = requests[slot] else { continue }
            let isOpaqueQuery = opaque.contains(slot)
            let activation = ConditionActivation(request: request, mutation: mutation)
            var verdict = Verdict.matched
            for (part, byEvent) in zip(parts, hiddenByEvent) {
                if let reason = byEvent ?? (isOpaqueQuery ? hidden(in: part, request: request) : nil) {
                    if verdict.isMatched { verdict = .unknown(reason: reason) }
                } else if case .no = ConditionOutcome(part, activation) {
                    verdict = .no
                    break
                }
            }
            if case .no = verdict { continue }
            found(slot, verdict)
        }
        return evaluated + slots.count
    }

    // MARK: What is hidden

    private func hidden(in program: Program, request: Value) -> String? {
        let activation = ConditionActivation(request: request, mutation: .null)
        return program.attributes.lazy.compactMap { hidden($0, "request", activation, known) }.first
    }

    private func hidden(in program: Program, _ event: RecordedEvent, _ mutation: Value) -> String? {
        let activation = ConditionActivation(request: .null, mutation: mutation)
        return program.attributes.lazy.compactMap { hidden($0, "mutation", activation, event.authParts) }.first
    }

    /// Returns why an attribute of one side cannot be read; nil if it can, or is of the other side.
    /// - Parameter known: the parts of `auth` that were recorded; nil: all.
    private func hidden(
        _ attribute: AttributePath, _ side: String, _ activation: ConditionActivation, _ known: AuthReads?
    ) -> String? {
        guard attribute.root == side else { return nil }
        if let path = ConditionActivation.authPath(attribute, of: side) {
            let isSignedOut =
                Self.read(AttributePath(root: side, fields: ["auth"]), activation).map {
                    if case .null = $0 { true } else { false }
                } ?? false
            if let known, !(isSignedOut && known.presence), !known.includes(path: path) {
                return "\(attribute) was not recorded"
            }
            // All parts of a signed-out sender are null.
            if isSignedOut { return nil }
        }
        if redaction.hides(path: [attribute.root] + attribute.fields) { return "\(attribute) is redacted" }
        guard let value = Self.read(attribute, activation), Self.holdsMark(value) else { return nil }
        return "\(attribute) holds a redacted value"
    }

    private static func read(_ attribute: AttributePath, _ activation: ConditionActivation) -> Value? {
        guard let reader = ConditionActivation.environment.reader(for: attribute) else { return nil }
        return try? reader.value(in: activation)
    }

    private static func holdsMark(_ value: Value) -> Bool {
        switch value {
        case .string(let text): text == Redaction.mark
        case .list(let values): values.contains(where: holdsMark)
        case .map(let map): (0..<map.count).contains { map.value(forKey: map.key(at: $0)).map(holdsMark) ?? false }
        default: false
        }
    }
}
