/// Evaluates fields, elements, list and map literals, and macros.
extension Plan {
    func select<A: Activation>(
        _ node: PlanNode, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        switch try evaluate(node.a, activation, &frame) {
        case .map(let map):
            guard let value = map[keys[Int(node.b)]] else { throw failure(.noSuchKey, node) }
            return value
        case .null where node.c == 1: return .null
        case .optional(let inner): return try field(keys[Int(node.b)], of: inner, node)
        default: throw failure(.noSuchOverload, node)
        }
    }

    func presence<A: Activation>(
        _ node: PlanNode, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        switch try evaluate(node.a, activation, &frame) {
        case .map(let map): return .bool(map[keys[Int(node.b)]] != nil)
        case .null where node.c == 1: return .bool(false)
        case .optional(let inner):
            guard case .optional(.some) = try field(keys[Int(node.b)], of: inner, node) else { return .bool(false) }
            return .bool(true)
        default: throw failure(.noSuchOverload, node)
        }
    }

    func element<A: Activation>(
        _ node: PlanNode, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        let operand = try evaluate(node.a, activation, &frame)
        let index = try evaluate(node.b, activation, &frame)
        switch operand {
        case .list(let elements):
            guard let position = try self.position(index, node), position >= 0, position < elements.count else {
                throw failure(.indexOutOfRange, node)
            }
            return elements[Int(position)]
        case .optional(let inner): return try self.element(index, of: inner, node)
        case .map(let map):
            guard let value = map.value(forKey: index) else { throw failure(.noSuchKey, node) }
            return value
        case .null where node.c == 1: return .null
        default: throw failure(.noSuchOverload, node)
        }
    }

    /// Converts a list index to an integer; nil if it is out of range.
    func position(_ index: Value, _ node: PlanNode) throws(EvaluationError) -> Int64? {
        switch index {
        case .int(let value): return value
        case .uint(let value): return Int64(exactly: value)
        case .double(let value):
            guard let whole = Int64(exactly: value) else { throw failure(.invalidArgument, node) }
            return whole
        default: throw failure(.noSuchOverload, node)
        }
    }

    func list<A: Activation>(_ node: PlanNode, _ activation: A, _ frame: inout Frame) throws(EvaluationError) -> Value {
        try charge(Int(node.b), node, &frame)
        var elements: [Value] = []
        elements.reserveCapacity(Int(node.b))
        for child in Int(node.a)..<Int(node.a + node.b) {
            let value = try evaluate(children[child], activation, &frame)
            guard nodes[Int(children[child])].operation == .splice else {
                elements.append(value)
                continue
            }
            guard case .optional(let inner) = value else { throw failure(.noSuchOverload, node) }
            if let inner { elements.append(inner) }
        }
        return .list(elements)
    }

    func map<A: Activation>(_ node: PlanNode, _ activation: A, _ frame: inout Frame) throws(EvaluationError) -> Value {
        try charge(Int(node.b), node, &frame)
        var entries: [(key: Value, value: Value)] = []
        entries.reserveCapacity(Int(node.b))
        for child in stride(from: Int(node.a), to: Int(node.a + 2 * node.b), by: 2) {
            let key = try evaluate(children[child], activation, &frame)
            let value = try evaluate(children[child + 1], activation, &frame)
            guard nodes[Int(children[child + 1])].operation == .splice else {
                entries.append((key, value))
                continue
            }
            guard case .optional(let inner) = value else { throw failure(.noSuchOverload, node) }
            if let inner { entries.append((key, inner)) }
        }
        do throws(MapValue.EntryProblem) {
            return .map(try MapValue(entries: entries))
        } catch {
            switch error {
            case .unsupportedKeyType: throw failure(.unsupportedKeyType, node)
            case .repeatedKey: throw failure(.repeatedKey, node)
            }
        }
    }

    // MARK: Macros

    /// The collection that a macro iterates over: the elements of a list or the keys of a map.
    private enum Range {
        case elements([Value])
        case keys(MapValue)

        var count: Int {
            switch self {
            case .elements(let elements): elements.count
            case .keys(let map): map.count
            }
        }

        subscript(position: Int) -> Value {
            switch self {
            case .elements(let elements): elements[position]
            case .keys(let map): map.key(at: position)
            }
        }
    }

    private func range<A: Activation>(
        _ node: PlanNode, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Range {
        switch try evaluate(node.a, activation, &frame) {
        case .list(let elements): return .elements(elements)
        case .map(let map): return .keys(map)
        default: throw failure(.noSuchOverload, node)
        }
    }

    /// Evaluates `all` and `exists` as a chain of `&&` or `||` over the range, absorbing errors likewise.
    func quantifier<A: Activation>(
        _ node: PlanNode, deciding: Bool, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        let range = try range(node, activation, &frame)
        let predicate = children[Int(node.c)]
        var firstError: EvaluationError?
        for position in 0..<range.count {
            try charge(1, node, &frame)
            frame.locals[Int(node.b)] = range[position]
            if try truth(predicate, node, &firstError, activation, &frame) == deciding { return .bool(deciding) }
        }
        if let firstError { throw firstError }
        return .bool(!deciding)
    }

    /// Evaluates `exists_one`. Errors are not absorbed, since every element affects the result.
    func existsOne<A: Activation>(
        _ node: PlanNode, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        let range = try range(node, activation, &frame)
        var count = 0
        for position in 0..<range.count {
            try charge(1, node, &frame)
            frame.locals[Int(node.b)] = range[position]
            if try holds(children[Int(node.c)], node, activation, &frame) { count += 1 }
        }
        return .bool(count == 1)
    }

    /// Evaluates `map`, with or without a condition, and `filter`.
    func collect<A: Activation>(
        _ node: PlanNode, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Value {
        let range = try range(node, activation, &frame)
        let predicate = children[Int(node.c)]
        let transform = children[Int(node.c) + 1]
        var elements: [Value] = []
        for position in 0..<range.count {
            try charge(1, node, &frame)
            frame.locals[Int(node.b)] = range[position]
            if predicate >= 0, try !holds(predicate, node, activation, &frame) { continue }
            elements.append(transform >= 0 ? try evaluate(transform, activation, &frame) : range[position])
        }
        guard elements.count <= limits.elementsMax else { throw failure(.sizeExceeded, node) }
        return .list(elements)
    }

    private func holds<A: Activation>(
        _ predicate: NodeIndex, _ node: PlanNode, _ activation: A, _ frame: inout Frame
    ) throws(EvaluationError) -> Bool {
        guard case .bool(let value) = try evaluate(predicate, activation, &frame) else {
            throw failure(.noSuchOverload, node)
        }
        return value
    }

    private func charge(_ steps: Int, _ node: PlanNode, _ frame: inout Frame) throws(EvaluationError) {
        do throws(EvaluationError) {
            try frame.budget.charge(steps)
        } catch {
            throw located(error, node)
        }
    }
}
