package import CEL

/// A readable form of the rule index's decomposition of a condition (`ConditionPlan`).
package struct ConditionForm: Sendable {
    /// Equalities `request.X == mutation.Y`, which together form the key of one hash lookup per event.
    package let hashKey: [String]
    /// Conditions decided once per event.
    package let eventSide: [String]
    /// Conditions decided once per live query, when it enters the index.
    package let subscriberSide: [String]
    /// Conditions evaluated for each live query that the lookup finds; without a hash key, for each of the operation.
    package let remainder: [String]

    package init(_ program: Program) {
        let plan = ConditionPlan(program)
        hashKey = plan.joins.map(\.text)
        eventSide = plan.eventSide.map(\.source)
        subscriberSide = plan.subscriberSide.map(\.source)
        remainder = plan.residue.map(\.source)
    }
}
