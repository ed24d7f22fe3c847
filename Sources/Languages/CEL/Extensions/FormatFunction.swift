import Glibc

/// `"%s: %.2f".format([a, b])`: supports `%s %d %f %e %x %X %o %b %%`; `%f` and `%e` take a precision.
enum FormatFunction {
    static let declaration = FunctionDeclaration(
        "format", [Extensions.method("string_format", [.string, .list(.dyn)], .string)]
    ) { (arguments, budget, limits) throws(EvaluationError) in
        .string(try format(try arguments.text(0), try arguments.list(1), &budget, limits))
    }

    private static let precisionMax = 100
    private static let precisionDefault = 6

    private static func format(
        _ template: String, _ values: [Value], _ budget: inout Budget, _ limits: Limits
    ) throws(EvaluationError) -> String {
        try budget.charge(bytes: template.utf8.count)
        var result = ""
        var rest = Array(template.unicodeScalars)[...]
        var next = 0
        while let scalar = rest.popFirst() {
            guard scalar == "%" else {
                result.unicodeScalars.append(scalar)
                continue
            }
            if rest.first == "%" {
                rest.removeFirst()
                result += "%"
                continue
            }
            let precision = try precision(&rest)
            guard let verb = rest.popFirst(), next < values.count else { throw EvaluationError(.invalidArgument) }
            let value = values[next]
            next += 1
            let text = try text(of: value, verb, precision, &budget, limits)
            try budget.charge(1)
            try budget.charge(bytes: text.utf8.count)
            guard result.utf8.count + text.utf8.count <= limits.textBytesMax else {
                throw EvaluationError(.sizeExceeded)
            }
            result += text
        }
        return result
    }

    /// Parses an optional precision such as `.3`.
    private static func precision(_ rest: inout ArraySlice<Unicode.Scalar>) throws(EvaluationError) -> Int? {
        guard rest.first == "." else { return nil }
        rest.removeFirst()
        var digits = 0
        var value = 0
        while let digit = rest.first, ("0"..."9").contains(digit) {
            value = value * 10 + Int(digit.value - 0x30)
            digits += 1
            guard value <= precisionMax else { throw EvaluationError(.invalidArgument) }
            rest.removeFirst()
        }
        guard digits > 0 else { throw EvaluationError(.invalidArgument) }
        return value
    }

    private static func text(
        of value: Value, _ verb: Unicode.Scalar, _ precision: Int?, _ budget: inout Budget, _ limits: Limits
    ) throws(EvaluationError) -> String {
        switch verb {
        case "s": return try plain(value, &budget, limits, depth: 0)
        case "d":
            switch value {
            case .int(let number): return String(number)
            case .uint(let number): return String(number)
            case .double(let number) where !number.isFinite: return DoubleText.text(of: number)
            default: throw EvaluationError(.noSuchOverload)
            }
        case "f", "e":
            guard let number = number(value) else { throw EvaluationError(.noSuchOverload) }
            guard number.isFinite else { return DoubleText.text(of: number) }
            return decimal(number, precision ?? precisionDefault, isScientific: verb == "e")
        case "x": return try hexadecimal(value, isUpper: false)
        case "X": return try hexadecimal(value, isUpper: true)
        case "o":
            switch value {
            case .int(let number): return String(number, radix: 8)
            case .uint(let number): return String(number, radix: 8)
            default: throw EvaluationError(.noSuchOverload)
            }
        case "b":
            switch value {
            case .int(let number): return String(number, radix: 2)
            case .uint(let number): return String(number, radix: 2)
            case .bool(let flag): return flag ? "1" : "0"
            default: throw EvaluationError(.noSuchOverload)
            }
        default: throw EvaluationError(.invalidArgument)
        }
    }

    private static func number(_ value: Value) -> Double? {
        switch value {
        case .double(let number): number
        case .int(let number): Double(number)
        case .uint(let number): Double(number)
        default: nil
        }
    }

    /// Formats like C's `printf`, which rounds the exact value of the double.
    private static func decimal(_ number: Double, _ precision: Int, isScientific: Bool) -> String {
        // Up to 309 digits before the point, sign, point, precision, exponent and terminator.
        var buffer = [CChar](repeating: 0, count: 320 + precision)
        let written = withVaList([Int32(precision), number]) {
            vsnprintf(&buffer, buffer.count, isScientific ? "%.*e" : "%.*f", $0)
        }
        return String(decoding: buffer.prefix(Int(written)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func hexadecimal(_ value: Value, isUpper: Bool) throws(EvaluationError) -> String {
        func digits(_ bytes: some Sequence<UInt8>) -> String {
            bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: isUpper) }.joined()
        }
        switch value {
        case .int(let number): return String(number, radix: 16, uppercase: isUpper)
        case .uint(let number): return String(number, radix: 16, uppercase: isUpper)
        case .string(let text): return digits(text.utf8)
        case .bytes(let bytes): return digits(bytes)
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    /// Formats a value for `%s`. Map entries are sorted by the text of their keys.
    private static func plain(
        _ value: Value, _ budget: inout Budget, _ limits: Limits, depth: Int
    ) throws(EvaluationError) -> String {
        try budget.charge(1)
        guard depth <= Limits.valueDepthMax else { throw EvaluationError(.sizeExceeded) }
        switch value {
        case .null: return "null"
        case .string(let text): return text
        case .type(let type): return type.name
        case .list(let elements):
            var parts: [String] = []
            for element in elements { parts.append(try plain(element, &budget, limits, depth: depth + 1)) }
            return try joined(parts, "[", "]", &budget, limits)
        case .map(let map):
            var parts: [(key: String, value: String)] = []
            for entry in map.entries {
                parts.append(
                    (
                        try plain(entry.key, &budget, limits, depth: depth + 1),
                        try plain(entry.value, &budget, limits, depth: depth + 1)
                    ))
            }
            parts.sort { precedesByCodePoint($0.key, $1.key) }
            return try joined(parts.map { "\($0.key): \($0.value)" }, "{", "}", &budget, limits)
        case .optional: throw EvaluationError(.noSuchOverload)
        case .bool, .int, .uint, .double, .bytes, .timestamp, .duration:
            guard case .string(let text) = try Conversions.convert(value, to: .string, &budget) else { return "" }
            return text
        }
    }

    private static func joined(
        _ parts: [String], _ open: String, _ close: String, _ budget: inout Budget, _ limits: Limits
    ) throws(EvaluationError) -> String {
        let text = open + parts.joined(separator: ", ") + close
        try budget.charge(text: text.utf8.count, limits)
        return text
    }
}
