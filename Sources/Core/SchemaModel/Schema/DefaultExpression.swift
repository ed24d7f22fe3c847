package import CEL

/// The check of `@default(expr:)`: CEL over what every mutation has, or `uuidV4()` alone. The variables of one
/// operation (`vars`) are nothing a table could rely on.
package enum DefaultExpression {
    private static let environment = Environment(
        variables: [
            VariableDeclaration(name: "auth", type: .dyn),
            VariableDeclaration(name: "request", type: .map(.string, .dyn)),
        ],
        nullSafePaths: [["auth"]], allowNilLiteral: true)

    /// What is wrong, nil if nothing is.
    static func problem(of text: String, for type: ColumnType) -> String? {
        if text.filter({ !$0.isWhitespace }) == "uuidV4()" {
            return type == ColumnType(.uuid) || type == ColumnType(.string)
                ? nil : "uuidV4() gives a UUID, the column is of type \(type.scalar.typeName)"
        }
        do {
            let deduced = try environment.deduceType(text)
            return mayFit(deduced, type)
                ? nil : "it gives \(deduced.description), the column is of type \(type.scalar.typeName)"
        } catch {
            if text.contains("uuidV4") { return "uuidV4() can only stand alone" }
            return error.diagnostics.first?.message ?? "it does not compile"
        }
    }

    /// Times and dates may come as text, numbers of either kind become the column's. False only where no value of the
    /// expression can become one of the type.
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
