/// Conversion functions (langdef "Type Conversions"). A number outside the range of the result type is an error; it is
/// never clamped.
enum Conversions {
    static func convert(
        _ value: Value, to function: StandardFunction, _ budget: inout Budget
    ) throws(EvaluationError) -> Value {
        switch function {
        case .bool: return .bool(try bool(value))
        case .int: return .int(try int(value))
        case .uint: return .uint(try uint(value))
        case .double: return .double(try double(value))
        case .string: return .string(try string(value, &budget))
        case .bytes: return .bytes(try bytes(value, &budget))
        case .timestamp: return .timestamp(try timestamp(value))
        case .duration: return .duration(try duration(value))
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    private static func bool(_ value: Value) throws(EvaluationError) -> Bool {
        switch value {
        case .bool(let value): return value
        case .string("1"), .string("t"), .string("T"), .string("true"), .string("TRUE"), .string("True"): return true
        case .string("0"), .string("f"), .string("F"), .string("false"), .string("FALSE"), .string("False"):
            return false
        case .string: throw EvaluationError(.invalidConversion)
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    private static func int(_ value: Value) throws(EvaluationError) -> Int64 {
        switch value {
        case .int(let value): return value
        case .uint(let value): return try inRange(Int64(exactly: value))
        case .double(let value):
            // Both ends are excluded: a double near them may represent an integer out of range.
            guard value > -0x1p63, value < 0x1p63 else { throw EvaluationError(.rangeError) }
            return Int64(value)
        case .string(let text): return try parsed(Int64(text))
        case .timestamp(let value): return value.seconds
        case .duration(let value): return value.nanoseconds / DurationValue.perSecond
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    private static func uint(_ value: Value) throws(EvaluationError) -> UInt64 {
        switch value {
        case .uint(let value): return value
        case .int(let value): return try inRange(UInt64(exactly: value))
        case .double(let value):
            guard value >= 0, value < 0x1p64 else { throw EvaluationError(.rangeError) }
            return UInt64(value)
        case .string(let text):
            guard text.utf8.first.map(Lexer.isDigit) == true else { throw EvaluationError(.invalidConversion) }
            return try parsed(UInt64(text))
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    private static func double(_ value: Value) throws(EvaluationError) -> Double {
        switch value {
        case .double(let value): return value
        case .int(let value): return Double(value)
        case .uint(let value): return Double(value)
        case .string(let text):
            let result = try parsed(Double(text))
            // The text "inf" is valid; a decimal number too large for a double is not.
            if result.isInfinite, text.utf8.contains(where: Lexer.isDigit) { throw EvaluationError(.rangeError) }
            return result
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    private static func string(_ value: Value, _ budget: inout Budget) throws(EvaluationError) -> String {
        switch value {
        case .string(let value): return value
        case .bool(let value): return value ? "true" : "false"
        case .int(let value): return String(value)
        case .uint(let value): return String(value)
        case .double(let value): return DoubleText.text(of: value)
        case .bytes(let bytes):
            try budget.charge(bytes: bytes.count)
            guard let text = String(validating: bytes, as: UTF8.self) else { throw EvaluationError(.invalidConversion) }
            return text
        case .timestamp(let value): return value.text
        case .duration(let value): return value.text
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    private static func bytes(_ value: Value, _ budget: inout Budget) throws(EvaluationError) -> [UInt8] {
        switch value {
        case .bytes(let value): return value
        case .string(let text):
            try budget.charge(bytes: text.utf8.count)
            return Array(text.utf8)
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    private static func timestamp(_ value: Value) throws(EvaluationError) -> TimestampValue {
        switch value {
        case .timestamp(let value): return value
        case .int(let seconds): return try inRange(TimestampValue(seconds: seconds))
        case .string(let text): return try parsed(TimestampValue(text))
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    private static func duration(_ value: Value) throws(EvaluationError) -> DurationValue {
        switch value {
        case .duration(let value): return value
        case .int(let seconds): return try inRange(DurationValue(seconds: seconds))
        case .string(let text): return try parsed(DurationValue(text))
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    private static func inRange<T>(_ value: T?) throws(EvaluationError) -> T {
        guard let value else { throw EvaluationError(.rangeError) }
        return value
    }

    private static func parsed<T>(_ value: T?) throws(EvaluationError) -> T {
        guard let value else { throw EvaluationError(.invalidConversion) }
        return value
    }
}
