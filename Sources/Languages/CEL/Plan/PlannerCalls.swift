/// Compiles operators and function calls.
extension Planner {
    mutating func planCall(
        _ name: String, target: Expression?, arguments: [Expression], at expression: Expression
    ) throws(SyntaxProblem) -> NodeIndex {
        let names = environment.names
        let locals = self.locals
        let call = CallResolution(name, target: target, arguments: arguments, names: names) { root in
            locals.contains { $0.name == root }
        }
        let nodes = try plan(call.operands)
        let fits = environment.overloads(of: call).contains {
            $0.isInstance == call.isInstance && $0.parameters.count == nodes.count
        }
        guard fits, let function = call.function else { return fail(.noSuchOverload, at: expression) }
        switch function {
        case .declared(let index):
            guard let implementation = environment.functions[index].bounded else {
                return fail(.unboundFunction, at: expression)
            }
            let node = builder.add(
                .declaredCall, builder.add(function: implementation), builder.add(children: nodes),
                Int32(nodes.count), at: expression)
            return try deepen(nodes, node, at: expression)
        case .standard(let name):
            return try planStandard(name, call.operands, nodes, at: expression)
        }
    }

    static let operations: [String: PlanNode.Operation] = [
        Operator.conditional: .conditional, Operator.not: .not, Operator.negate: .negate, Operator.index: .index,
        Operator.optionalIndex: .optionalIndex,
        Operator.contained: .contained, Operator.equal: .equal, Operator.notEqual: .notEqual, Operator.less: .less,
        Operator.lessOrEqual: .lessOrEqual, Operator.greater: .greater, Operator.greaterOrEqual: .greaterOrEqual,
        Operator.add: .add, Operator.subtract: .subtract, Operator.multiply: .multiply, Operator.divide: .divide,
        Operator.remainder: .remainder,
    ]

    mutating func planStandard(
        _ name: String, _ operands: [Expression], _ nodes: [NodeIndex], at expression: Expression
    ) throws(SyntaxProblem) -> NodeIndex {
        let deepest = nodes.map { nesting($0) }.max() ?? 0
        if let operation = Self.operations[name] {
            let second = nodes.count > 1 ? nodes[1] : 0
            switch operation {
            case .conditional: return note(deepest, builder.add(operation, nodes[0], second, nodes[2], at: expression))
            case .optionalIndex:
                return note(deepest, builder.add(operation, nodes[0], second, nullSafety(nodes[0]), at: expression))
            case .index:
                return note(deepest - 1, builder.add(operation, nodes[0], second, nullSafety(nodes[0]), at: expression))
            case .add: return note(deepest, builder.add(operation, nodes[0], second, at: expression))
            default: return builder.add(operation, nodes[0], second, at: expression)
            }
        }
        guard let function = StandardFunction(rawValue: name) else { return fail(.noSuchOverload, at: expression) }
        if function == .matches, case .constant(.string(let text)) = operands[1].kind {
            return try planMatches(nodes[0], text, operands[1], at: expression)
        }
        let node = builder.add(
            .standardCall, Int32(function.number), builder.add(children: nodes), Int32(nodes.count), at: expression)
        return note(deepest, node)
    }

    /// Compiles a literal pattern once; a malformed one is reported at compile time.
    mutating func planMatches(
        _ operand: NodeIndex, _ text: String, _ pattern: Expression, at expression: Expression
    ) throws(SyntaxProblem) -> NodeIndex {
        do throws(Pattern.Problem) {
            let pattern = builder.add(pattern: try Pattern(text, limits: environment.limits))
            return builder.add(.matches, operand, pattern, at: expression)
        } catch {
            throw SyntaxProblem(message: .malformedPattern(error.reason), offset: pattern.range.lowerBound)
        }
    }
}
