package import CEL

/// How the rule index takes a condition apart, for people to read: see `ConditionPlan`.
package struct ConditionForm: Sendable {
    /// `request.X == mutation.Y`: together the key of one hash look-up for each event.
    package let hashKey: [String]
    /// Decided once for each event.
    package let eventSide: [String]
    /// Decided once for each live query, when it enters the index.
    package let subscriberSide: [String]
    /// Evaluated for each live query that the look-up finds; without a hash key for each one of the operation.
    package let remainder: [String]

    package init(_ program: Program) {
        let plan = ConditionPlan(program)
        hashKey = plan.joins.map(\.text)
        eventSide = plan.eventSide.map(\.source)
        subscriberSide = plan.subscriberSide.map(\.source)
        remainder = plan.residue.map(\.source)
    }
}
