package import CEL

/// Checks `@default(expr:)`: a CEL expression over the values that every mutation has, or `uuidV4()` alone. The
/// variables of an operation (`vars`) are unavailable, since a table serves many operations.
package enum DefaultExpression {
    private static let environment = Environment(
        variables: [
            VariableDeclaration(name: "auth", type: .dyn),
            VariableDeclaration(name: "request", type: .map(.string, .dyn)),
        ],
        nullSafePaths: [["auth"]], allowNilLiteral: true)

    /// Returns the problem with an expression, or nil if it is valid.
    static func problem(of text: String, for type: ColumnType) -> String? {
        if text.filter({ !$0.isWhitespace }) == "uuidV4()" {
            return type == ColumnType(.uuid) || type == ColumnType(.string)
                ? nil : "uuidV4() yields a UUID, but the column has type \(type.scalar.typeName)"
        }
        do {
            let deduced = try environment.deduceType(text)
            return mayFit(deduced, type)
                ? nil : "it yields \(deduced.description), but the column has type \(type.scalar.typeName)"
        } catch {
            if text.contains("uuidV4") { return "uuidV4() must be the whole expression" }
            return error.diagnostics.first?.message ?? "it does not compile"
        }
    }

    /// Returns whether some value of the deduced type can be converted to the column type: times and dates may be
    /// strings, and numbers convert between types.
    package static func mayFit(_ deduced: CELType, _ type: ColumnType) -> Bool {
        switch deduced {
        case .dyn, .null, .error, .abstract, .wrapper, .typeParameter: return true
        default: break
        }
        if type.isList { if case .list = deduced { return true } else { return false } }
        switch type.scalar {
        case .uuid, .string, .enumeration: return deduced == .string
        case .int: return [.int, .uint, .double].contains(deduced)
        case .int64: return [.int, .uint, .double, .string].contains(deduced)
        case .float: return [.int, .uint, .double].contains(deduced)
        case .boolean: return deduced == .bool
        case .date, .timestamp: return [.timestamp, .string].contains(deduced)
        case .any: return true
        case .vector: if case .list = deduced { return true } else { return false }
        }
    }
}
