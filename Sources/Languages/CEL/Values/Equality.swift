/// CEL equality (langdef "Equality"): values of different types are unequal, except that numbers compare
/// mathematically; NaN equals nothing; lists and maps compare by element. Comparing shared structures can take far more
/// time than their size suggests, so it is charged to the evaluation's budget.
extension Value {
    /// Returns whether CEL's `==` holds.
    /// - Throws: `.sizeExceeded` for values nested deeper than `Limits.valueDepthMax`.
    static func equals(
        _ left: Value, _ right: Value, _ budget: inout Budget, depth: Int = 0
    ) throws(EvaluationError) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)): return sameCodePoints(left, right)
        case (.int(let left), .int(let right)): return left == right
        case (.bool(let left), .bool(let right)): return left == right
        case (.null, .null): return true
        case (.uint(let left), .uint(let right)): return left == right
        case (.double(let left), .double(let right)): return left == right
        case (.int(let left), .uint(let right)), (.uint(let right), .int(let left)):
            return UInt64(exactly: left) == right
        case (.int(let left), .double(let right)), (.double(let right), .int(let left)):
            return Int64(exactly: right) == left
        case (.uint(let left), .double(let right)), (.double(let right), .uint(let left)):
            return UInt64(exactly: right) == left
        case (.bytes(let left), .bytes(let right)): return left == right
        case (.duration(let left), .duration(let right)): return left == right
        case (.timestamp(let left), .timestamp(let right)): return left == right
        case (.type(let left), .type(let right)): return left == right
        case (.list(let left), .list(let right)): return try equals(left, right, &budget, depth: depth)
        case (.map(let left), .map(let right)): return try equals(left, right, &budget, depth: depth)
        case (.optional(let left), .optional(let right)):
            guard let left, let right else { return isNone(left) && isNone(right) }
            guard depth < Limits.valueDepthMax else { throw EvaluationError(.sizeExceeded) }
            return try equals(left, right, &budget, depth: depth + 1)
        default: return false
        }
    }

    private static func isNone(_ value: Value?) -> Bool {
        if case .none = value { true } else { false }
    }

    private static func equals(
        _ left: [Value], _ right: [Value], _ budget: inout Budget, depth: Int
    ) throws(EvaluationError) -> Bool {
        guard left.count == right.count else { return false }
        guard depth < Limits.valueDepthMax else { throw EvaluationError(.sizeExceeded) }
        for position in left.indices {
            try budget.charge(1)
            guard try equals(left[position], right[position], &budget, depth: depth + 1) else { return false }
        }
        return true
    }

    private static func equals(
        _ left: MapValue, _ right: MapValue, _ budget: inout Budget, depth: Int
    ) throws(EvaluationError) -> Bool {
        guard left.count == right.count else { return false }
        guard depth < Limits.valueDepthMax else { throw EvaluationError(.sizeExceeded) }
        for position in 0..<left.count {
            try budget.charge(1)
            guard let counterpart = right.value(forKey: left.key(at: position)) else { return false }
            guard try equals(left.value(at: position), counterpart, &budget, depth: depth + 1) else { return false }
        }
        return true
    }
}
