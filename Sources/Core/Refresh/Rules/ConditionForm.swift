package import CEL

/// A readable form of how the rule index takes a condition apart: see `ConditionPlan`.
package struct ConditionForm: Sendable {
    /// `request.X == mutation.Y`: together the key of one hash lookup per event.
    package let hashKey: [String]
    /// Decided once per event.
    package let eventSide: [String]
    /// Decided once per live query, when it enters the index.
    package let subscriberSide: [String]
    /// Evaluated for each live query that the lookup finds; without a hash key, for each live query of the operation.
    package let remainder: [String]

    package init(_ program: Program) {
        let plan = ConditionPlan(program)
        hashKey = plan.joins.map(\.text)
        eventSide = plan.eventSide.map(\.source)
        subscriberSide = plan.subscriberSide.map(\.source)
        remainder = plan.residue.map(\.source)
    }
}
