/// Prints names, types and conversions of Dart.
enum DartText {
    private static let keywords: Set<String> = [
        "assert", "await", "break", "case", "catch", "class", "const", "continue", "default", "do", "else", "enum",
        "extends", "false", "final", "finally", "for", "if", "in", "is", "new", "null", "rethrow", "return", "super",
        "switch", "this", "throw", "true", "try", "var", "void", "while", "with", "yield",
    ]

    /// Members that every generated class has.
    private static let members: Set<String> = [
        "dataConnect", "dataDeserializer", "execute", "hashCode", "json", "noSuchMethod", "other", "ref", "runtimeType",
        "t",
        "toJson", "toString", "vars", "varsSerializer",
    ]

    /// A name as code can use it. Dart has no quotes for keywords, and what begins with `_` is private.
    static func name(_ name: String) -> String {
        let visible = String(name.drop { $0 == "_" })
        let usable = visible.isEmpty || visible.first?.isNumber == true ? "v\(visible)" : visible
        return keywords.contains(usable) ? usable + "_" : usable
    }

    /// The name of a variable or of an enum's value, which must not be that of a member either.
    static func memberName(_ name: String) -> String {
        let name = Self.name(name)
        return members.contains(name) ? name + "_" : name
    }

    static func literal(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'").replacing("$", with: "\\$") + "'"
    }

    static func enumName(_ name: String) -> String { Naming.pascal(name) }

    /// - Parameter object: the name of the class for the object of a result or for a key.
    static func type(_ type: ValueType, object: String) -> String {
        switch type {
        case .scalar(let scalar):
            switch scalar {
            case .string, .uuid, .id: "String"
            case .int: "int"
            case .int64: "BigInt"
            case .float: "double"
            case .boolean: "bool"
            case .date: "DateTime"
            case .timestamp: "Timestamp"
            case .any: "AnyValue"
            case .vector: "List<double>"
            }
        case .enumeration(let name): "EnumValue<\(enumName(name))>"
        case .key, .object: object
        case .input: "AnyValue"
        case .list(let element, let hasNullableElements):
            "List<\(Self.type(element, object: object))\(hasNullableElements ? "?" : "")>"
        }
    }

    /// An expression that reads a value that is not null.
    static func reading(_ type: ValueType, _ json: String, object: String) -> String {
        switch type {
        case .scalar(let scalar):
            switch scalar {
            case .string, .uuid, .id, .int, .float, .boolean:
                "nativeFromJson<\(Self.type(type, object: object))>(\(json))"
            case .int64: "BigInt.parse(\(json) as String)"
            case .date: "DateTime.parse(\(json) as String)"
            case .timestamp: "Timestamp.fromJson(\(json))"
            case .any: "AnyValue.fromJson(\(json))"
            case .vector: "(\(json) as List<dynamic>).map((e) => nativeFromJson<double>(e)).toList()"
            }
        case .enumeration(let name): "\(Naming.lowerFirst(enumName(name)))Deserializer(\(json))"
        case .key, .object: "\(object).fromJson(\(json))"
        case .input: "AnyValue.fromJson(\(json))"
        case .list(let element, let hasNullableElements):
            "(\(json) as List<dynamic>).map((e) => "
                + (hasNullableElements ? "e == null ? null : " : "")
                + "\(reading(element, "e", object: object))).toList()"
        }
    }

    /// An expression that writes a value that is not null.
    static func writing(_ type: ValueType, _ value: String, object: String) -> String {
        switch type {
        case .scalar(let scalar):
            switch scalar {
            case .string, .uuid, .id, .int, .float, .boolean:
                "nativeToJson<\(Self.type(type, object: object))>(\(value))"
            case .int64: "\(value).toString()"
            case .date: "\(value).toIso8601String().substring(0, 10)"
            case .timestamp, .any: "\(value).toJson()"
            case .vector: "\(value).map((e) => nativeToJson<double>(e)).toList()"
            }
        case .enumeration(let name): "\(Naming.lowerFirst(enumName(name)))Serializer(\(value))"
        case .key, .object, .input: "\(value).toJson()"
        case .list(let element, let hasNullableElements):
            "\(value).map((e) => "
                + (hasNullableElements ? "e == null ? null : " : "")
                + "\(writing(element, "e", object: object))).toList()"
        }
    }

    /// The function by which `Optional` reads a value.
    static func reader(_ type: ValueType, object: String) -> String {
        if isNative(type) { return "nativeFromJson" }
        return "(dynamic json) => \(reading(type, "json", object: object))"
    }

    /// The function by which `Optional` writes a value.
    static func writer(_ type: ValueType, object: String) -> String {
        if isNative(type) { return "nativeToJson" }
        return "(\(Self.type(type, object: object)) value) => \(writing(type, "value", object: object))"
    }

    private static func isNative(_ type: ValueType) -> Bool {
        guard case .scalar(let scalar) = type else { return false }
        return [.string, .uuid, .id, .int, .float, .boolean].contains(scalar)
    }
}
