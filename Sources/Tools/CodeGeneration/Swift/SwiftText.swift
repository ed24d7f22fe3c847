/// Prints names and types of Swift, as both flavours of generated code use them.
enum SwiftText {
    private static let keywords: Set<String> = [
        "Any", "Protocol", "Self", "Type", "actor", "as", "associatedtype", "async", "await", "break", "case", "catch",
        "class", "continue", "default", "defer", "deinit", "do", "else", "enum", "extension", "fallthrough", "false",
        "fileprivate", "for", "func", "guard", "if", "import", "in", "init", "inout", "internal", "is", "let", "nil",
        "operator", "package", "precedencegroup", "private", "protocol", "public", "repeat", "rethrows", "return",
        "self", "some", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try",
        "typealias", "var", "where", "while",
    ]

    /// A name as code can use it, in backquotes if it is a keyword.
    static func name(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

    /// The key of a table: `MovieKey`.
    static func key(of typeName: String) -> String { Naming.pascal(typeName) + "Key" }

    static func literal(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    static func scalar(_ scalar: ValueType.Scalar) -> String {
        switch scalar {
        case .string, .id: "String"
        case .int: "Int"
        case .int64: "Int64"
        case .float: "Double"
        case .boolean: "Bool"
        case .uuid: "UUID"
        case .date: "LocalDate"
        case .timestamp: "Timestamp"
        case .any: "AnyValue"
        case .vector: "[Double]"
        }
    }

    /// - Parameter object: the name of the struct for the object of a result.
    static func type(_ type: ValueType, object: String = "AnyValue") -> String {
        switch type {
        case .scalar(let scalar): Self.scalar(scalar)
        case .enumeration(let name): Naming.pascal(name)
        case .key(let typeName): key(of: typeName)
        // Filters, orders and the like contain themselves, which structs cannot.
        case .input: "AnyValue"
        case .object: object
        case .list(let element, let hasNullableElements):
            "[\(Self.type(element, object: object))\(hasNullableElements ? "?" : "")]"
        }
    }

    /// Names that a struct nested in generated code must not hide.
    static let usedTypes: Set<String> = [
        "AnyValue", "Bool", "CodecHelper", "CodingKey", "CodingKeys", "Data", "Decodable", "Decoder", "Double",
        "Encodable", "Encoder", "Hashable", "Hasher", "Identifiable", "Int", "Int64", "LocalDate", "MainActor",
        "Sendable", "String", "Timestamp", "UUID", "Variables", "Void",
    ]

    /// The name of a result's struct: that of the GraphQL type, followed by the alias if there is one.
    static func structName(of field: ResultField, _ shape: ObjectShape, _ taken: inout Set<String>) -> String {
        var name = Naming.pascal(shape.typeName) + (field.isAliased ? Naming.pascal(field.name) : "")
        // Two fields of one type, such as author and editor.
        if taken.contains(name) { name = Naming.pascal(shape.typeName) + Naming.pascal(field.name) }
        if usedTypes.contains(name) { name += "_" }
        return Naming.unique(name, &taken)
    }
}
