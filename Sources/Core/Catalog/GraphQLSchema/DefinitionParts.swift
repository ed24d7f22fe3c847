import GraphQLLanguage
import JSON

// Short ways to write definitions, for the generators of this folder.

extension TypeReference {
    /// `[Movie!]!`
    init(_ text: some StringProtocol) {
        if text.hasSuffix("!") {
            self.init(.nonNull(TypeReference(text.dropLast())))
        } else if text.hasPrefix("[") {
            self.init(.list(TypeReference(text.dropFirst().dropLast())))
        } else {
            self.init(.named(String(text)))
        }
    }
}

extension InputValueDefinition {
    init(_ name: String, _ type: String, default value: ValueKind? = nil) {
        self.init(name: Name(name), type: TypeReference(type), defaultValue: value.map { Value($0) })
    }
}

extension FieldDefinition {
    init(_ name: String, _ type: String) {
        self.init(name, [], type)
    }

    init(_ name: String, _ arguments: [InputValueDefinition], _ type: String, _ description: String? = nil) {
        self.init(
            description: description.map { Description($0) }, name: Name(name), arguments: arguments,
            type: TypeReference(type))
    }
}

extension Definition {
    static func type(_ name: String, _ fields: [FieldDefinition], _ description: String? = nil) -> Definition {
        .object(
            ObjectTypeDefinition(
                description: description.map { Description($0) }, name: Name(name), fields: fields))
    }

    static func input(_ name: String, _ fields: [InputValueDefinition], _ description: String? = nil) -> Definition {
        .inputObject(
            InputObjectTypeDefinition(
                description: description.map { Description($0) }, name: Name(name), fields: fields))
    }

    static func scalar(_ name: String, _ description: String? = nil) -> Definition {
        .scalar(ScalarTypeDefinition(description: description.map { Description($0) }, name: Name(name)))
    }
}

extension ColumnType {
    /// Of a nullable value, `[String!]`.
    var typeText: String { InputType(self).text }
    var elementText: String { scalar.typeName }
    /// `Int_Filter`, `String_ListFilter`
    var filterName: String { "\(elementText)_\(isList ? "List" : "")Filter" }
    /// `Int_Expr`, `String_ListExpr`
    var expressionName: String { "\(elementText)_\(isList ? "List" : "")Expr" }
    /// `Int_Update`, `String_ListUpdate`
    var updateName: String { "\(elementText)_\(isList ? "List" : "")Update" }

    /// What `f_update` can do to a column of this type, each with the type of the amount.
    var changes: [(name: String, type: String)] {
        if isList { return ["append", "prepend", "add", "remove"].map { ($0, typeText) } }
        return switch scalar {
        case .int, .int64, .float: ["inc", "dec"].map { ($0, typeText) }
        case .date: ["inc", "dec"].map { ($0, "Date_Duration") }
        case .timestamp: ["inc", "dec"].map { ($0, "Timestamp_Duration") }
        case .uuid, .string, .boolean, .any, .vector, .enumeration: []
        }
    }

    /// What a change begins with where there is no value and no default: 0, or an empty list; nil for times, and where
    /// there are no changes.
    var changeStart: JSONValue? {
        if isList { return .array([]) }
        return switch scalar {
        case .int, .int64: .int(0)
        case .float: .double(0)
        case .uuid, .string, .boolean, .date, .timestamp, .any, .vector, .enumeration: nil
        }
    }
}
