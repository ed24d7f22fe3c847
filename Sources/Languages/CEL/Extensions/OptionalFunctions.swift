/// Functions on optional values, such as `optional.of(x).orValue(y)`.
enum OptionalFunctions {
    private static let a = Extensions.a
    private static let some = CELType.optional(a)

    static let all: [FunctionDeclaration] = [
        FunctionDeclaration("optional.of", [Extensions.function("optional_of", [a], some)]) {
            (arguments, _, _) throws(EvaluationError) in .optional(arguments[0])
        },
        FunctionDeclaration("optional.none", [Extensions.function("optional_none", [], some)]) {
            (_, _, _) throws(EvaluationError) in .optional(nil)
        },
        FunctionDeclaration("optional.ofNonZeroValue", [Extensions.function("optional_ofNonZeroValue", [a], some)]) {
            (arguments, _, _) throws(EvaluationError) in isZero(arguments[0]) ? .optional(nil) : .optional(arguments[0])
        },
        FunctionDeclaration(
            "optional.unwrap", [Extensions.function("optional_unwrap", [.list(some)], .list(a))], unwrap),
        FunctionDeclaration("unwrapOpt", [Extensions.method("optional_unwrapOpt", [.list(some)], .list(a))], unwrap),
        FunctionDeclaration("hasValue", [Extensions.method("optional_hasValue", [some], .bool)]) {
            (arguments, _, _) throws(EvaluationError) in
            if case .none = try arguments.optional(0) { .bool(false) } else { .bool(true) }
        },
        FunctionDeclaration("value", [Extensions.method("optional_value", [some], a)]) {
            (arguments, _, _) throws(EvaluationError) in
            guard let inner = try arguments.optional(0) else { throw EvaluationError(.invalidArgument) }
            return inner
        },
        FunctionDeclaration("or", [Extensions.method("optional_or", [some, some], some)]) {
            (arguments, _, _) throws(EvaluationError) in
            let other = try arguments.optional(1)
            return .optional(try arguments.optional(0) ?? other)
        },
        FunctionDeclaration("orValue", [Extensions.method("optional_orValue", [some, a], a)]) {
            (arguments, _, _) throws(EvaluationError) in try arguments.optional(0) ?? arguments[1]
        },
    ]

    @Sendable private static func unwrap(
        _ arguments: [Value], _ budget: inout Budget, _ limits: Limits
    ) throws(EvaluationError) -> Value {
        var values: [Value] = []
        for element in try arguments.list(0) {
            try budget.charge(1)
            guard case .optional(let inner) = element else { throw EvaluationError(.noSuchOverload) }
            if let inner { values.append(inner) }
        }
        return .list(values)
    }

    /// Returns whether the value is the zero value of its type.
    private static func isZero(_ value: Value) -> Bool {
        switch value {
        case .null, .bool(false), .int(0), .uint(0): true
        case .double(let number): number == 0
        case .string(let text): text.isEmpty
        case .bytes(let bytes): bytes.isEmpty
        case .list(let elements): elements.isEmpty
        case .map(let map): map.count == 0
        case .duration(let duration): duration.nanoseconds == 0
        case .optional(.none): true
        case .bool, .int, .uint, .timestamp, .type, .optional: false
        }
    }
}
