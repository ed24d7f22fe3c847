import CEL
import LiveModel

/// The outcome of a condition, or of one part of it, for one event and one live query.
///
/// Outcomes combine like CEL's `&&`: false decides; otherwise an error takes precedence over true. A condition that is
/// not false refreshes, so a rule matches exactly when none of its parts is false.
enum ConditionOutcome: Sendable {
    case no, error, yes

    init(_ program: Program, _ activation: ConditionActivation) {
        guard let value = try? program.evaluate(activation), case .bool(let holds) = value else {
            // A value that is not a bool counts as an error: docs/reference/sql-connect.md §5.7.
            self = .error
            return
        }
        self = holds ? .yes : .no
    }

    /// The outcome for an event. Operands of `&&` that read a part of the writer's `auth` which the event does not tell
    /// are errors.
    init(_ condition: Program, of event: MutationEvent, _ activation: ConditionActivation) {
        if let decidable = event.decidable(of: condition) {
            self = ConditionOutcome.error.and(ConditionPlan.evaluate(decidable, activation))
        } else {
            self.init(condition, activation)
        }
    }

    func and(_ other: ConditionOutcome) -> ConditionOutcome {
        switch (self, other) {
        case (.no, _), (_, .no): .no
        case (.error, _), (_, .error): .error
        case (.yes, .yes): .yes
        }
    }
}

extension MutationEvent {
    /// Returns the operands of the condition's outermost `&&` that can be evaluated although others read a part of the
    /// writer's `auth` that the event does not tell; nil if it tells all.
    ///
    /// A node that was suspended may publish by catalogs without the condition, which reads more than they do.
    func decidable(of condition: Program) -> [Program]? {
        tells(condition) ? nil : condition.conjuncts.map(\.program).filter(tells)
    }
}
