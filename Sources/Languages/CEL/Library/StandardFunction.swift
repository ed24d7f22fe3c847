/// The standard functions that are not operators. `StandardDeclarations` lists their signatures; at run time the types
/// of the values select the overload.
enum StandardFunction: String, CaseIterable {
    case size, type, dyn
    case contains, startsWith, endsWith, matches
    case bool, int, uint, double, string, bytes, timestamp, duration
    case getFullYear, getMonth, getDate, getDayOfMonth, getDayOfWeek, getDayOfYear
    case getHours, getMinutes, getSeconds, getMilliseconds

    /// All functions, indexed by their number in a plan.
    static let numbered = allCases

    var number: Int {
        Self.numbered.firstIndex(of: self) ?? 0
    }

    func call(
        _ first: Value, _ second: Value?, _ budget: inout Budget, _ limits: Limits
    ) throws(EvaluationError) -> Value {
        switch self {
        case .size: return .int(try Self.size(of: first, &budget))
        case .type: return .type(first.typeValue)
        case .dyn: return first
        case .contains, .startsWith, .endsWith, .matches:
            guard case .string(let text) = first, case .string(let part)? = second else {
                throw EvaluationError(.noSuchOverload)
            }
            return .bool(try search(text, part, &budget, limits))
        case .bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration:
            return try Conversions.convert(first, to: self, &budget)
        case .getFullYear, .getMonth, .getDate, .getDayOfMonth, .getDayOfWeek, .getDayOfYear, .getHours, .getMinutes,
            .getSeconds, .getMilliseconds:
            return .int(try TimeFunctions.part(self, of: first, zone: second))
        }
    }

    private static func size(of value: Value, _ budget: inout Budget) throws(EvaluationError) -> Int64 {
        switch value {
        case .string(let text):
            try budget.charge(bytes: text.utf8.count)
            return Int64(text.unicodeScalars.count)
        case .bytes(let bytes): return Int64(bytes.count)
        case .list(let elements): return Int64(elements.count)
        case .map(let map): return Int64(map.count)
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    private func search(
        _ text: String, _ part: String, _ budget: inout Budget, _ limits: Limits
    ) throws(EvaluationError) -> Bool {
        try budget.charge(bytes: text.utf8.count)
        switch self {
        case .startsWith: return text.utf8.starts(with: part.utf8)
        case .endsWith:
            return text.utf8.count >= part.utf8.count && text.utf8.suffix(part.utf8.count).elementsEqual(part.utf8)
        case .contains: return TextSearch.isFound(Array(part.utf8), in: Array(text.utf8))
        default:
            // Compiling a pattern costs about as much as matching as many bytes.
            try budget.charge(part.utf8.count)
            guard let pattern = try? Pattern(part, limits: limits) else { throw EvaluationError(.invalidArgument) }
            return try pattern.isFound(in: text, &budget)
        }
    }
}
