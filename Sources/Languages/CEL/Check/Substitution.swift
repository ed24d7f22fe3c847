/// The bindings of type parameters during one compilation, and the assignability check that extends them. The rules are
/// those of the reference checker: `dyn` is assignable to and from everything, a parameter takes the more general of
/// the types it is unified with, and null is assignable to wrappers, messages and times.
struct Substitution {
    private var bindings: [String: CELType] = [:]
    /// The previous values of bindings changed by the current assignment, for rollback.
    private var trail: [(name: String, previous: CELType?)] = []
    private var freshCount = 0

    mutating func freshParameter() -> CELType {
        freshCount += 1
        // The space keeps the name distinct from any that a declaration could use.
        return .typeParameter("T \(freshCount)")
    }

    /// Returns the signature with fresh type parameters.
    mutating func instantiate(_ overload: Overload) -> (parameters: [CELType], result: CELType) {
        var fresh: [String: CELType] = [:]
        let parameters = overload.parameters.map { renamed($0, &fresh) }
        return (parameters, renamed(overload.result, &fresh))
    }

    private mutating func renamed(_ type: CELType, _ fresh: inout [String: CELType]) -> CELType {
        switch type {
        case .typeParameter(let name):
            if let known = fresh[name] { return known }
            let parameter = freshParameter()
            fresh[name] = parameter
            return parameter
        case .list(let element): return .list(renamed(element, &fresh))
        case .map(let key, let value): return .map(renamed(key, &fresh), renamed(value, &fresh))
        case .type(let type?): return .type(renamed(type, &fresh))
        case .abstract(let name, let parameters):
            var result: [CELType] = []
            for parameter in parameters { result.append(renamed(parameter, &fresh)) }
            return .abstract(name, result)
        case .null, .bool, .int, .uint, .double, .string, .bytes, .duration, .timestamp, .dyn, .error, .type, .wrapper,
            .message, .function:
            return type
        }
    }

    /// Replaces bound type parameters; unbound ones become `dyn` if `unknownToDyn` is set.
    func apply(_ type: CELType, unknownToDyn: Bool = false) -> CELType {
        switch type {
        case .typeParameter(let name):
            if let bound = bindings[name] { return apply(bound, unknownToDyn: unknownToDyn) }
            return unknownToDyn ? .dyn : type
        case .list(let element): return .list(apply(element, unknownToDyn: unknownToDyn))
        case .map(let key, let value):
            return .map(apply(key, unknownToDyn: unknownToDyn), apply(value, unknownToDyn: unknownToDyn))
        case .type(let type?): return .type(apply(type, unknownToDyn: unknownToDyn))
        case .abstract(let name, let parameters):
            return .abstract(name, parameters.map { apply($0, unknownToDyn: unknownToDyn) })
        case .null, .bool, .int, .uint, .double, .string, .bytes, .duration, .timestamp, .dyn, .error, .type, .wrapper,
            .message, .function:
            return type
        }
    }

    /// Returns whether each type is assignable to its counterpart. The bindings that follow are kept only if all of
    /// them are.
    mutating func assign(_ types: [CELType], to expected: [CELType]) -> Bool {
        guard types.count == expected.count else { return false }
        trail.removeAll(keepingCapacity: true)
        for (type, expected) in zip(types, expected) where !agree(type, expected) {
            for change in trail.reversed() { bindings[change.name] = change.previous }
            return false
        }
        return true
    }

    mutating func assign(_ type: CELType, to expected: CELType) -> Bool {
        assign([type], to: [expected])
    }

    /// Returns the element type of a list with elements of both types: the more general one, or `dyn` if neither is
    /// assignable to the other.
    mutating func join(_ previous: CELType?, _ current: CELType) -> CELType {
        guard let previous else { return current }
        guard assign(previous, to: current) else { return .dyn }
        return Self.moreGeneral(previous, current)
    }

    private mutating func agree(_ left: CELType, _ right: CELType) -> Bool {
        if case .typeParameter(let name) = right {
            let (isValid, wasBound) = bind(name, to: left)
            if isValid { return true }
            if wasBound { return false }
        }
        if case .typeParameter(let name) = left { return bind(name, to: right).isValid }
        if left.isDynamic || right.isDynamic { return true }
        if left == .null { return Self.isNullable(right) }
        if right == .null { return Self.isNullable(left) }
        switch (left, right) {
        case (.list(let left), .list(let right)): return agree(left, right)
        case (.map(let leftKey, let leftValue), .map(let rightKey, let rightValue)):
            return agree(leftKey, rightKey) && agree(leftValue, rightValue)
        case (.type, .type): return true
        case (.abstract(let leftName, let left), .abstract(let rightName, let right)):
            guard leftName == rightName, left.count == right.count else { return false }
            for (left, right) in zip(left, right) where !agree(left, right) { return false }
            return true
        case (.wrapper(let left), .wrapper(let right)): return left == right
        case (.wrapper(let wrapped), let plain), (let plain, .wrapper(let wrapped)): return wrapped == plain
        default: return left == right
        }
    }

    /// Binds a parameter to a type, or unifies the type with the present binding.
    private mutating func bind(_ name: String, to type: CELType) -> (isValid: Bool, wasBound: Bool) {
        if type == .typeParameter(name) { return (true, true) }
        guard let bound = bindings[name] else {
            guard !occurs(name, in: type) else { return (false, false) }
            set(name, type)
            return (true, false)
        }
        if type == bound { return (true, true) }
        guard agree(type, bound) else { return (false, true) }
        let general = Self.moreGeneral(type, bound)
        if !occurs(name, in: general) { set(name, general) }
        return (true, true)
    }

    private mutating func set(_ name: String, _ type: CELType) {
        trail.append((name, bindings[name]))
        bindings[name] = type
    }

    private func occurs(_ name: String, in type: CELType) -> Bool {
        switch type {
        case .typeParameter(let other):
            // A parameter bound to itself, even indirectly, would make `apply` recurse without end.
            return other == name || (bindings[other].map { occurs(name, in: $0) } ?? false)
        case .list(let element): return occurs(name, in: element)
        case .map(let key, let value): return occurs(name, in: key) || occurs(name, in: value)
        case .type(let type?): return occurs(name, in: type)
        case .abstract(_, let parameters): return parameters.contains { occurs(name, in: $0) }
        case .null, .bool, .int, .uint, .double, .string, .bytes, .duration, .timestamp, .dyn, .error, .type, .wrapper,
            .message, .function:
            return false
        }
    }

    private static func isNullable(_ type: CELType) -> Bool {
        switch type {
        case .null, .wrapper, .message, .duration, .timestamp, .abstract: true
        default: false
        }
    }

    private static func moreGeneral(_ left: CELType, _ right: CELType) -> CELType {
        isAsGeneral(left, as: right) ? left : right
    }

    /// Returns whether the first type equals the second or is less specific.
    private static func isAsGeneral(_ left: CELType, as right: CELType) -> Bool {
        if left.isDynamic { return true }
        if case .typeParameter = left { return true }
        if right.isDynamic { return false }
        if case .typeParameter = right { return false }
        if right == .null { return isNullable(left) }
        switch (left, right) {
        case (.list(let left), .list(let right)): return isAsGeneral(left, as: right)
        case (.map(let leftKey, let leftValue), .map(let rightKey, let rightValue)):
            return isAsGeneral(leftKey, as: rightKey) && isAsGeneral(leftValue, as: rightValue)
        case (.type, .type): return true
        case (.abstract(let leftName, let left), .abstract(let rightName, let right)):
            return leftName == rightName && left.count == right.count
                && zip(left, right).allSatisfy { isAsGeneral($0, as: $1) }
        // A wrapper is more general: it may also be null.
        case (.wrapper(let wrapped), let plain) where wrapped == plain: return true
        default: return left == right
        }
    }
}
