import CEL
import LiveModel

/// The live queries of one trigger, indexed by the values that an event's variables and claims must have.
///
/// A member is in one of three collections: `everybody` (no condition), `joined` (by the hash of its join values) or
/// `unhashed` (a join value that cannot be hashed, or a condition without a join). An event looks into `joined` once
/// and evaluates only the residue there; `unhashed` members are evaluated one by one.
struct TriggerIndex: Sendable {
    private struct Member: Sendable {
        /// Kept only if a condition must be evaluated per member.
        var request: Value?
        /// The subscriber side of the condition, decided on entry. Never `.no`: such members are not added.
        var subscriberSide: ConditionOutcome
        /// Nil for a member of `unhashed`.
        var joinKey: JoinKey?
    }

    let trigger: Trigger
    private let plan: ConditionPlan?
    private var everybody: Set<Int32> = []
    private var members: [Int32: Member] = [:]
    private var joined: [JoinKey: SlotSet] = [:]
    private var unhashed: Set<Int32> = []

    init(_ trigger: Trigger) {
        self.trigger = trigger
        self.plan = trigger.condition.map(ConditionPlan.init)
    }

    var isEmpty: Bool { everybody.isEmpty && members.isEmpty }

    mutating func insert(_ slot: Int32, request: Value) {
        guard let plan else {
            everybody.insert(slot)
            return
        }
        let activation = ConditionActivation(request: request, mutation: .null)
        let subscriberSide = ConditionPlan.evaluate(plan.subscriberSide, activation)
        if case .no = subscriberSide { return }
        let key = plan.joins.isEmpty ? nil : JoinKey(plan.joins.lazy.map(\.request), activation)
        let needsRequest = key == nil || !plan.residue.isEmpty
        members[slot] = Member(request: needsRequest ? request : nil, subscriberSide: subscriberSide, joinKey: key)
        if let key {
            joined.insert(slot, under: key)
        } else {
            unhashed.insert(slot)
        }
    }

    mutating func remove(_ slot: Int32) {
        everybody.remove(slot)
        guard let member = members.removeValue(forKey: slot) else { return }
        if let key = member.joinKey {
            joined.remove(slot, under: key)
        } else {
            unhashed.remove(slot)
        }
    }

    /// - Parameters:
    ///   - mutation: the condition value of `event`.
    ///   - request: returns the `request` value of a member that does not store it.
    /// - Returns: the number of members that were evaluated one by one.
    @discardableResult
    func match(
        _ event: MutationEvent, mutation: Value, request: (Int32) -> Value, found: (Int32) -> Void,
        errors: inout Int
    ) -> Int {
        everybody.forEach(found)
        guard let plan, !members.isEmpty else { return 0 }
        if let decidable = event.decidable(of: plan.whole) {
            for (slot, member) in members {
                let activation = ConditionActivation(request: member.request ?? request(slot), mutation: mutation)
                if case .no = ConditionPlan.evaluate(decidable, activation) { continue }
                errors += 1
                found(slot)
            }
            return members.count
        }
        let eventOnly = ConditionActivation(request: .null, mutation: mutation)
        let eventSide = ConditionPlan.evaluate(plan.eventSide, eventOnly)
        if case .no = eventSide { return 0 }
        var failures = 0
        var evaluated = 0
        func evaluate(_ slot: Int32, _ member: Member, joinHolds: Bool) {
            evaluated += 1
            var outcome = eventSide.and(member.subscriberSide)
            if !joinHolds || !plan.residue.isEmpty {
                let activation = ConditionActivation(request: member.request ?? request(slot), mutation: mutation)
                outcome =
                    joinHolds
                    ? outcome.and(ConditionPlan.evaluate(plan.residue, activation))
                    : ConditionOutcome(plan.whole, activation)
            }
            switch outcome {
            case .no: return
            case .error: failures += 1
            case .yes: break
            }
            found(slot)
        }
        if !joined.isEmpty {
            if let key = JoinKey(plan.joins.lazy.map(\.mutation), eventOnly) {
                joined[key]?.forEach { slot in
                    if let member = members[slot] { evaluate(slot, member, joinHolds: true) }
                }
            } else {
                // A join value of the event cannot be hashed: evaluate each member.
                for (slot, member) in members where member.joinKey != nil { evaluate(slot, member, joinHolds: false) }
            }
        }
        for slot in unhashed {
            if let member = members[slot] { evaluate(slot, member, joinHolds: false) }
        }
        errors += failures
        return evaluated
    }
}
