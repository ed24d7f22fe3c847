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

    func and(_ other: ConditionOutcome) -> ConditionOutcome {
        switch (self, other) {
        case (.no, _), (_, .no): .no
        case (.error, _), (_, .error): .error
        case (.yes, .yes): .yes
        }
    }
}
