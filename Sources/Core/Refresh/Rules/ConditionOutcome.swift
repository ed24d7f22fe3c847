import CEL
import LiveModel

/// What a condition, or one part of it, says of one event and one live query.
///
/// CEL's `&&`: false decides, else an error wins over true. A condition that is not false refreshes
/// ("doubt refreshes"), so a rule matches exactly when none of its parts is false.
enum ConditionOutcome: Sendable {
    case no, error, yes

    init(_ program: Program, _ activation: ConditionActivation) {
        guard let value = try? program.evaluate(activation), case .bool(let holds) = value else {
            // Not a bool is an error, too: refresh conformance, reading 7.
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
