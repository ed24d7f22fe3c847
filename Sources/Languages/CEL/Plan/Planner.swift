/// Compiles a tree into a plan. Resolves names by the checker's rules, merges chains of selections below a variable
/// into one path, and flattens `a && (b && c)` into one conjunction. Operations of an unchecked expression that cannot
/// work become failing nodes, since `||` may absorb their errors.
struct Planner {
    let environment: Environment
    let source: String
    var builder = PlanBuilder()
    /// Variables of the enclosing macros, innermost last.
    var locals: [Local] = []
    /// How deeply the expression itself can nest lists and maps in the value of each node.
    var nestings: [NodeIndex: Int] = [:]

    struct Local {
        let name: String
        let slot: Int
        let nesting: Int
    }

    static func plan(
        _ expression: Expression, type: CELType, source: String, environment: Environment
    ) throws(CompileFailure) -> Program {
        var planner = Planner(environment: environment, source: source)
        do throws(SyntaxProblem) {
            return try planner.program(expression, type: type)
        } catch {
            throw CompileFailure(diagnostics: [
                Diagnostic(message: error.message.text, offset: error.offset, source: source)
            ])
        }
    }

    private init(environment: Environment, source: String) {
        self.environment = environment
        self.source = source
    }

    mutating func program(_ expression: Expression, type: CELType) throws(SyntaxProblem) -> Program {
        var parts: [Plan.Part] = []
        let root: NodeIndex
        if case .logic(.and, let operands) = expression.kind {
            let flat = Self.flatten(.and, operands)
            var nodes: [NodeIndex] = []
            for operand in flat {
                let firstPath = builder.paths.count
                let node = try plan(operand)
                nodes.append(node)
                parts.append(
                    Plan.Part(
                        root: node, source: text(of: operand),
                        attributes: Self.distinct(builder.paths[firstPath...]), kind: conjunctKind(operand)))
            }
            root = builder.add(.and, builder.add(children: nodes), Int32(nodes.count), at: expression)
        } else {
            root = try plan(expression)
            parts = [
                Plan.Part(
                    root: root, source: source, attributes: Self.distinct(builder.paths[...]),
                    kind: conjunctKind(expression))
            ]
        }
        return Program(
            source: source, resultType: type, attributes: Self.distinct(builder.paths[...]),
            plan: Plan(builder: builder, root: root, conjuncts: parts, limits: environment.limits), root: root)
    }

    static func distinct(_ paths: ArraySlice<PlannedPath>) -> [AttributePath] {
        Set(paths.map(\.path)).sorted()
    }

    func text(of expression: Expression) -> String {
        let bytes = source.utf8
        let start = bytes.index(bytes.startIndex, offsetBy: expression.range.lowerBound)
        let end = bytes.index(bytes.startIndex, offsetBy: expression.range.upperBound)
        return String(source[start..<end])
    }

    static func flatten(_ logic: Expression.Logic, _ operands: [Expression]) -> [Expression] {
        operands.flatMap { operand in
            if case .logic(logic, let inner) = operand.kind { flatten(logic, inner) } else { [operand] }
        }
    }

    func conjunctKind(_ expression: Expression) -> Conjunct.Kind {
        guard case .call(Operator.equal, target: nil, let arguments) = expression.kind, arguments.count == 2 else {
            return .other
        }
        let left = draft(arguments[0])?.path
        let right = draft(arguments[1])?.path
        if let left, let right { return .attributesEqual(left, right) }
        if let left, let constant = constant(arguments[1]) { return .attributeEqualsConstant(left, constant) }
        if let right, let constant = constant(arguments[0]) { return .attributeEqualsConstant(right, constant) }
        return .other
    }

    // MARK: Nodes

    /// Compiles an expression. `mayBeAttribute` is false below a selection that is not an attribute: its operand cannot
    /// be one either, and checking again at each level would make long chains quadratic.
    mutating func plan(
        _ expression: Expression, mayBeAttribute: Bool = true
    ) throws(SyntaxProblem) -> NodeIndex {
        if mayBeAttribute, let (path, variable) = draft(expression) {
            return builder.add(
                .attribute, builder.add(path: plannedPath(path, variable, at: expression)), at: expression)
        }
        if let value = constant(expression) {
            return builder.add(.constant, builder.add(constant: value), at: expression)
        }
        switch expression.kind {
        case .constant(let value): return builder.add(.constant, builder.add(constant: value), at: expression)
        case .identifier(let name, let isAbsolute):
            if !isAbsolute, let local = locals.last(where: { $0.name == name }) {
                return note(local.nesting, builder.add(.local, Int32(local.slot), at: expression))
            }
            return fail(.noSuchAttribute, at: expression)
        case .select(let operand, let field, _):
            let node = try plan(operand, mayBeAttribute: false)
            return note(
                nesting(node) - 1,
                builder.add(.select, node, builder.add(key: field), nullSafety(node), at: expression))
        case .presence(let operand, let field): return try planPresence(operand, field, at: expression)
        case .call(let name, let target, let arguments):
            return try planCall(name, target: target, arguments: arguments, at: expression)
        case .logic(let logic, let operands):
            let nodes = try plan(Self.flatten(logic, operands))
            return builder.add(
                logic == .and ? .and : .or, builder.add(children: nodes), Int32(nodes.count), at: expression)
        case .list(let elements):
            let nodes = try plan(elements)
            if let values = constants(nodes) {
                return try deepen(
                    nodes, builder.add(.constant, builder.add(constant: .list(values)), at: expression), at: expression)
            }
            return try deepen(
                nodes, builder.add(.list, builder.add(children: nodes), Int32(nodes.count), at: expression),
                at: expression)
        case .map(let entries):
            let nodes = try plan(entries.flatMap { [$0.key, $0.value] })
            return try deepen(
                nodes, builder.add(.map, builder.add(children: nodes), Int32(entries.count), at: expression),
                at: expression)
        case .message: return fail(.noSuchAttribute, at: expression)
        case .comprehension(let comprehension): return try planComprehension(comprehension, at: expression)
        case .optionalSelect(let operand, let field):
            let node = try plan(operand)
            return note(
                nesting(node),
                builder.add(.optionalSelect, node, builder.add(key: field), nullSafety(node), at: expression))
        case .splice(let operand):
            let node = try plan(operand)
            return note(nesting(node), builder.add(.splice, node, at: expression))
        case .bind(let variable, let value, let body):
            return try planBody(.bind, variable, value, body, at: expression)
        case .optionalMap(let operand, let variable, let body, let isFlat):
            return try planBody(isFlat ? .optionalFlatMap : .optionalMap, variable, operand, body, at: expression)
        }
    }

    /// Compiles a named value and the expression that uses it.
    mutating func planBody(
        _ operation: PlanNode.Operation, _ variable: String, _ value: Expression, _ body: Expression,
        at expression: Expression
    ) throws(SyntaxProblem) -> NodeIndex {
        let value = try plan(value)
        let slot = locals.count
        builder.localCount = max(builder.localCount, slot + 1)
        locals.append(Local(name: variable, slot: slot, nesting: nesting(value)))
        defer { locals.removeLast() }
        let body = try plan(body)
        let node = builder.add(operation, value, Int32(slot), body, at: expression)
        return operation == .optionalMap ? try deepen([body], node, at: expression) : note(nesting(body), node)
    }

    /// Returns the values if all nodes are constants, so that a literal list in a condition (`x in ['a', 'b']`) is
    /// built once.
    func constants(_ nodes: [NodeIndex]) -> [Value]? {
        var values: [Value] = []
        for node in nodes {
            let node = builder.nodes[Int(node)]
            guard node.operation == .constant else { return nil }
            values.append(builder.constants[Int(node.a)])
        }
        return values
    }

    mutating func plan(_ expressions: [Expression]) throws(SyntaxProblem) -> [NodeIndex] {
        var nodes: [NodeIndex] = []
        nodes.reserveCapacity(expressions.count)
        for expression in expressions { nodes.append(try plan(expression)) }
        return nodes
    }

    mutating func fail(_ code: EvaluationError.Code, at expression: Expression) -> NodeIndex {
        builder.add(.failure, builder.add(failure: code), at: expression)
    }

    mutating func planPresence(
        _ operand: Expression, _ field: String, at expression: Expression
    ) throws(SyntaxProblem) -> NodeIndex {
        if let (path, variable) = draft(operand) {
            let below = AttributePath(root: path.root, fields: path.fields + [field])
            let planned = plannedPath(below, variable, at: expression)
            return builder.add(.attributePresence, builder.add(path: planned), at: expression)
        }
        let node = try plan(operand, mayBeAttribute: false)
        return builder.add(.presence, node, builder.add(key: field), nullSafety(node), at: expression)
    }

    mutating func planComprehension(
        _ comprehension: Expression.Comprehension, at expression: Expression
    ) throws(SyntaxProblem) -> NodeIndex {
        let range = try plan(comprehension.range)
        let slot = locals.count
        builder.localCount = max(builder.localCount, slot + 1)
        locals.append(Local(name: comprehension.variable, slot: slot, nesting: nesting(range) - 1))
        defer { locals.removeLast() }
        let predicate = try comprehension.predicate.map { expression throws(SyntaxProblem) in try plan(expression) }
        let transform = try comprehension.transform.map { expression throws(SyntaxProblem) in try plan(expression) }
        let operation: PlanNode.Operation =
            switch comprehension.macro {
            case .all: .all
            case .exists: .exists
            case .existsOne: .existsOne
            case .map: .mapping
            case .filter: .filter
            }
        let bodies = builder.add(children: [predicate ?? -1, transform ?? -1])
        let node = builder.add(operation, range, Int32(slot), bodies, at: expression)
        if let transform { return try deepen([transform], node, at: expression) }
        return comprehension.macro == .filter ? note(nesting(range), node) : node
    }

    // MARK: Null safety and nesting

    func nullSafety(_ node: NodeIndex) -> Int32 {
        let node = builder.nodes[Int(node)]
        switch node.operation {
        case .attribute: return builder.paths[Int(node.a)].isNullSafe ? 1 : 0
        case .select, .index: return node.c
        default: return 0
        }
    }

    func nesting(_ node: NodeIndex) -> Int {
        nestings[node] ?? 0
    }

    mutating func note(_ nesting: Int, _ node: NodeIndex) -> NodeIndex {
        if nesting > 0 { nestings[node] = nesting }
        return node
    }

    /// Records one level of nesting more than the deepest of `parts`. Comparing or freeing values nested without bound
    /// would overflow the stack.
    mutating func deepen(
        _ parts: [NodeIndex], _ node: NodeIndex, at expression: Expression
    ) throws(SyntaxProblem) -> NodeIndex {
        let nesting = 1 + (parts.map { self.nesting($0) }.max() ?? 0)
        guard nesting <= Limits.valueDepthMax / 2 else {
            throw SyntaxProblem(message: .valueTooDeep, offset: expression.range.lowerBound)
        }
        return note(nesting, node)
    }
}
