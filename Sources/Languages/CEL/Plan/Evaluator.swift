/// The mutable state of one evaluation.
struct Frame {
    /// Values of macro variables, by slot.
    var locals: [Value]
    var budget: Budget

    init(plan: Plan) {
        locals = plan.localCount == 0 ? [] : Array(repeating: .null, count: plan.localCount)
        budget = Budget(remaining: plan.limits.costMax)
    }
}

/// Evaluates plans recursively. `Limits.depthMax` bounds the depth of the recursion at compile time, the budget its
/// length. Cases that need stack space are separate functions, which keeps the recursive function's frame small.
extension Plan {
    func evaluate<A: Activation>(
        _ index: NodeIndex, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        let node = nodes[Int(index)]
        switch node.operation {
        case .constant: return constants[Int(node.a)]
        case .attribute: return try paths[Int(node.a)].read(activation)
        case .attributePresence: return .bool(try paths[Int(node.a)].isPresent(activation))
        case .local: return frame.locals[Int(node.a)]
        case .select: return try select(node, activation, &frame)
        case .presence: return try presence(node, activation, &frame)
        case .index: return try element(node, activation, &frame)
        case .conditional:
            guard case .bool(let condition) = try evaluate(node.a, activation, &frame) else {
                throw failure(.noSuchOverload, node)
            }
            return try evaluate(condition ? node.b : node.c, activation, &frame)
        case .and: return try logic(node, deciding: false, activation, &frame)
        case .or: return try logic(node, deciding: true, activation, &frame)
        case .list: return try list(node, activation, &frame)
        case .map: return try map(node, activation, &frame)
        case .all: return try quantifier(node, deciding: false, activation, &frame)
        case .exists: return try quantifier(node, deciding: true, activation, &frame)
        case .existsOne: return try existsOne(node, activation, &frame)
        case .mapping, .filter: return try collect(node, activation, &frame)
        case .not:
            guard case .bool(let value) = try evaluate(node.a, activation, &frame) else {
                throw failure(.noSuchOverload, node)
            }
            return .bool(!value)
        case .equal: return .bool(try isEqual(node, activation, &frame))
        case .notEqual: return .bool(try !isEqual(node, activation, &frame))
        case .less, .lessOrEqual, .greater, .greaterOrEqual: return .bool(try compare(node, activation, &frame))
        case .contained, .negate, .add, .subtract, .multiply, .divide, .remainder:
            return try arithmetic(node, activation, &frame)
        case .standardCall: return try standardCall(node, activation, &frame)
        case .matches: return try matches(node, activation, &frame)
        case .declaredCall: return try declaredCall(node, activation, &frame)
        case .optionalSelect: return try optionalSelect(node, activation, &frame)
        case .optionalIndex: return try optionalElement(node, activation, &frame)
        case .splice: return try evaluate(node.a, activation, &frame)
        case .bind: return try bind(node, activation, &frame)
        case .optionalMap, .optionalFlatMap: return try optionalMap(node, activation, &frame)
        case .failure: throw failure(failures[Int(node.a)], node)
        }
    }

    func failure(_ code: EvaluationError.Code, _ node: PlanNode) -> EvaluationError {
        EvaluationError(code, offset: Int(node.offset))
    }

    /// Adds the offset of the call to an error that a library function threw.
    func located(_ error: EvaluationError, _ node: PlanNode) -> EvaluationError {
        error.offset == nil ? EvaluationError(error.code, offset: Int(node.offset)) : error
    }

    // MARK: Logic

    /// Evaluates `&&` and `||`, which are commutative: a deciding operand absorbs the errors of the others.
    private func logic<A: Activation>(
        _ node: PlanNode, deciding: Bool, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        var firstError: EvaluationError?
        for child in Int(node.a)..<Int(node.a + node.b) {
            let outcome = try truth(children[child], node, &firstError, activation, &frame)
            if outcome == deciding { return .bool(deciding) }
        }
        if let firstError { throw firstError }
        return .bool(!deciding)
    }

    /// Evaluates an operand to a boolean. Returns nil if it fails and keeps the first such error; an exhausted budget
    /// is never absorbed.
    func truth<A: Activation>(
        _ operand: NodeIndex, _ node: PlanNode, _ firstError: inout EvaluationError?, _ activation: A,
        _ frame: inout Frame
    ) throws(EvaluationError) -> Bool? {
        do throws(EvaluationError) {
            guard case .bool(let value) = try evaluate(operand, activation, &frame) else {
                throw failure(.noSuchOverload, node)
            }
            return value
        } catch {
            if error.code == .costExceeded { throw error }
            if firstError == nil { firstError = error }
            return nil
        }
    }

    // MARK: Relations

    private func isEqual<A: Activation>(
        _ node: PlanNode, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Bool {
        let left = try evaluate(node.a, activation, &frame)
        let right = try evaluate(node.b, activation, &frame)
        do throws(EvaluationError) {
            return try Value.equals(left, right, &frame.budget)
        } catch {
            throw located(error, node)
        }
    }

    private func compare<A: Activation>(
        _ node: PlanNode, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Bool {
        let left = try evaluate(node.a, activation, &frame)
        let right = try evaluate(node.b, activation, &frame)
        guard let order = left.order(relativeTo: right) else { throw failure(.noSuchOverload, node) }
        switch node.operation {
        case .less: return order == .ascending
        case .lessOrEqual: return order == .ascending || order == .same
        case .greater: return order == .descending
        default: return order == .descending || order == .same
        }
    }

    // MARK: Calls

    private func arithmetic<A: Activation>(
        _ node: PlanNode, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        let left = try evaluate(node.a, activation, &frame)
        do throws(EvaluationError) {
            if node.operation == .negate { return try Arithmetic.negate(left) }
            let right = try evaluate(node.b, activation, &frame)
            switch node.operation {
            case .contained: return .bool(try Membership.contains(right, left, &frame.budget))
            case .add: return try Arithmetic.add(left, right, &frame.budget, limits)
            case .subtract: return try Arithmetic.subtract(left, right)
            case .multiply: return try Arithmetic.multiply(left, right)
            case .divide: return try Arithmetic.divide(left, right)
            default: return try Arithmetic.remainder(left, right)
            }
        } catch {
            throw located(error, node)
        }
    }

    private func standardCall<A: Activation>(
        _ node: PlanNode, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        let first = try evaluate(children[Int(node.b)], activation, &frame)
        let second: Value? = node.c > 1 ? try evaluate(children[Int(node.b) + 1], activation, &frame) : nil
        do throws(EvaluationError) {
            return try StandardFunction.numbered[Int(node.a)].call(first, second, &frame.budget, limits)
        } catch {
            throw located(error, node)
        }
    }

    private func matches<A: Activation>(
        _ node: PlanNode, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        guard case .string(let text) = try evaluate(node.a, activation, &frame) else {
            throw failure(.noSuchOverload, node)
        }
        do throws(EvaluationError) {
            return .bool(try patterns[Int(node.b)].isFound(in: text, &frame.budget))
        } catch {
            throw located(error, node)
        }
    }

    private func declaredCall<A: Activation>(
        _ node: PlanNode, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        var arguments: [Value] = []
        arguments.reserveCapacity(Int(node.c))
        for child in Int(node.b)..<Int(node.b + node.c) {
            arguments.append(try evaluate(children[child], activation, &frame))
        }
        do throws(EvaluationError) {
            try frame.budget.charge(1)
            return try functions[Int(node.a)](arguments, &frame.budget, limits)
        } catch {
            throw located(error, node)
        }
    }
}
