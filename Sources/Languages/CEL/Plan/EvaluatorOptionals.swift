/// Evaluates optional values and bindings: `a.?b`, `a[?i]`, `cel.bind`, `optMap`, `optFlatMap`.
extension Plan {
    func optionalSelect<A: Activation>(
        _ node: PlanNode, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        switch try evaluate(node.a, activation, &frame) {
        case .optional(let inner): return try field(keys[Int(node.b)], of: inner, node)
        case .null where node.c == 1: return .optional(nil)
        case let value: return try field(keys[Int(node.b)], of: value, node)
        }
    }

    /// Selects a field of an optional's content; none if it is empty or lacks the field.
    func field(_ key: String, of inner: Value?, _ node: PlanNode) throws(EvaluationError) -> Value {
        switch inner {
        case nil: return .optional(nil)
        case .map(let map)?: return .optional(map[key])
        case .optional(let deeper)?: return try field(key, of: deeper, node)
        default: throw failure(.noSuchKey, node)
        }
    }

    func optionalElement<A: Activation>(
        _ node: PlanNode, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        let operand = try evaluate(node.a, activation, &frame)
        let index = try evaluate(node.b, activation, &frame)
        switch operand {
        case .optional(let inner): return try element(index, of: inner, node)
        case .null where node.c == 1: return .optional(nil)
        default: return try element(index, of: operand, node)
        }
    }

    /// Returns an element of an optional's content; none if it is empty or lacks the element.
    func element(_ index: Value, of inner: Value?, _ node: PlanNode) throws(EvaluationError) -> Value {
        switch inner {
        case nil: return .optional(nil)
        case .map(let map)?: return .optional(map.value(forKey: index))
        case .list(let elements)?:
            guard let position = try position(index, node), position >= 0, position < elements.count else {
                return .optional(nil)
            }
            return .optional(elements[Int(position)])
        default: throw failure(.noSuchOverload, node)
        }
    }

    func bind<A: Activation>(
        _ node: PlanNode, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        let value = try evaluate(node.a, activation, &frame)
        frame.locals[Int(node.b)] = value
        return try evaluate(node.c, activation, &frame)
    }

    func optionalMap<A: Activation>(
        _ node: PlanNode, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        guard case .optional(let inner) = try evaluate(node.a, activation, &frame) else {
            throw failure(.noSuchOverload, node)
        }
        guard let inner else { return .optional(nil) }
        frame.locals[Int(node.b)] = inner
        let result = try evaluate(node.c, activation, &frame)
        if node.operation == .optionalMap { return .optional(result) }
        guard case .optional = result else { throw failure(.noSuchOverload, node) }
        return result
    }
}
