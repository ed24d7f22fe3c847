import GraphQLLanguage
import JSON

// Convenience initialisers for the definitions generated in this module.

extension TypeReference {
    /// Creates a type reference from text such as `[Novel!]!`.
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
