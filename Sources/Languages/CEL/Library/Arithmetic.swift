/// Arithmetic operators (langdef "Arithmetic"). Numeric types do not mix, integer overflow is an error, and doubles
/// follow IEEE 754. `+` also concatenates strings, bytes and lists, and adds durations to timestamps.
enum Arithmetic {
    static func add(
        _ left: Value, _ right: Value, _ budget: inout Budget, _ limits: Limits
    ) throws(EvaluationError) -> Value {
        switch (left, right) {
        case (.int(let left), .int(let right)): return .int(try checked(left.addingReportingOverflow(right)))
        case (.uint(let left), .uint(let right)): return .uint(try checked(left.addingReportingOverflow(right)))
        case (.double(let left), .double(let right)): return .double(left + right)
        case (.string(let left), .string(let right)):
            try chargeText(left.utf8.count, right.utf8.count, &budget, limits)
            return .string(left + right)
        case (.bytes(let left), .bytes(let right)):
            try chargeText(left.count, right.count, &budget, limits)
            return .bytes(left + right)
        case (.list(let left), .list(let right)):
            guard left.count + right.count <= limits.elementsMax else { throw EvaluationError(.sizeExceeded) }
            try budget.charge(left.count + right.count)
            return .list(left + right)
        case (.timestamp(let time), .duration(let duration)), (.duration(let duration), .timestamp(let time)):
            return .timestamp(try inRange(time.adding(nanoseconds: duration.nanoseconds)))
        case (.duration(let left), .duration(let right)):
            return .duration(try sum(left.nanoseconds.addingReportingOverflow(right.nanoseconds)))
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    static func subtract(_ left: Value, _ right: Value) throws(EvaluationError) -> Value {
        switch (left, right) {
        case (.int(let left), .int(let right)): return .int(try checked(left.subtractingReportingOverflow(right)))
        case (.uint(let left), .uint(let right)): return .uint(try checked(left.subtractingReportingOverflow(right)))
        case (.double(let left), .double(let right)): return .double(left - right)
        case (.timestamp(let left), .timestamp(let right)): return .duration(try inRange(left.since(right)))
        case (.timestamp(let time), .duration(let duration)):
            let (negated, overflow) = (0 as Int64).subtractingReportingOverflow(duration.nanoseconds)
            guard !overflow else { throw EvaluationError(.rangeError) }
            return .timestamp(try inRange(time.adding(nanoseconds: negated)))
        case (.duration(let left), .duration(let right)):
            return .duration(try sum(left.nanoseconds.subtractingReportingOverflow(right.nanoseconds)))
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    static func multiply(_ left: Value, _ right: Value) throws(EvaluationError) -> Value {
        switch (left, right) {
        case (.int(let left), .int(let right)): return .int(try checked(left.multipliedReportingOverflow(by: right)))
        case (.uint(let left), .uint(let right)): return .uint(try checked(left.multipliedReportingOverflow(by: right)))
        case (.double(let left), .double(let right)): return .double(left * right)
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    static func divide(_ left: Value, _ right: Value) throws(EvaluationError) -> Value {
        switch (left, right) {
        case (.int(_), .int(0)), (.uint(_), .uint(0)): throw EvaluationError(.divisionByZero)
        case (.int(let left), .int(let right)): return .int(try checked(left.dividedReportingOverflow(by: right)))
        case (.uint(let left), .uint(let right)): return .uint(left / right)
        case (.double(let left), .double(let right)): return .double(left / right)
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    static func remainder(_ left: Value, _ right: Value) throws(EvaluationError) -> Value {
        switch (left, right) {
        case (.int(_), .int(0)), (.uint(_), .uint(0)): throw EvaluationError(.divisionByZero)
        case (.int(let left), .int(let right)):
            return .int(try checked(left.remainderReportingOverflow(dividingBy: right)))
        case (.uint(let left), .uint(let right)): return .uint(left % right)
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    static func negate(_ value: Value) throws(EvaluationError) -> Value {
        switch value {
        case .int(let value): return .int(try checked((0 as Int64).subtractingReportingOverflow(value)))
        case .double(let value): return .double(-value)
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    private static func checked<T>(_ result: (partialValue: T, overflow: Bool)) throws(EvaluationError) -> T {
        guard !result.overflow else { throw EvaluationError(.overflow) }
        return result.partialValue
    }

    private static func sum(
        _ result: (partialValue: Int64, overflow: Bool)
    ) throws(EvaluationError) -> DurationValue {
        guard !result.overflow else { throw EvaluationError(.rangeError) }
        return DurationValue(nanoseconds: result.partialValue)
    }

    private static func inRange<T>(_ value: T?) throws(EvaluationError) -> T {
        guard let value else { throw EvaluationError(.rangeError) }
        return value
    }

    private static func chargeText(
        _ left: Int, _ right: Int, _ budget: inout Budget, _ limits: Limits
    ) throws(EvaluationError) {
        guard left + right <= limits.textBytesMax else { throw EvaluationError(.sizeExceeded) }
        try budget.charge(bytes: left + right)
    }
}

/// The operator `in`.
enum Membership {
    static func contains(
        _ collection: Value, _ value: Value, _ budget: inout Budget
    ) throws(EvaluationError) -> Bool {
        switch collection {
        case .list(let elements):
            for element in elements {
                try budget.charge(1)
                if try Value.equals(element, value, &budget) { return true }
            }
            return false
        case .map(let map): return map.value(forKey: value) != nil
        default: throw EvaluationError(.noSuchOverload)
        }
    }
}
