import GraphQLLanguage

/// The types of a project's generated GraphQL schema by name, as results and variables use them.
struct GraphQLTypes {
    private(set) var objects: [String: ObjectTypeDefinition] = [:]
    private(set) var inputs: [String: InputObjectTypeDefinition] = [:]
    private(set) var enums: [String: [String]] = [:]

    private static let keyOutput = "_KeyOutput"
    private static let key = "_Key"

    init(_ document: Document) {
        for definition in document.definitions {
            switch definition {
            case .object(let node): objects[node.name.value] = node
            case .inputObject(let node): inputs[node.name.value] = node
            case .enum(let node): enums[node.name.value] = node.values.map(\.name.value)
            case .operation, .fragment, .schema, .scalar, .interface, .union, .directive: continue
            }
        }
    }

    func field(_ name: String, of typeName: String) -> FieldDefinition? {
        objects[typeName]?.fields.first { $0.name.value == name }
    }

    /// Returns a type that is not an object of a result. A scalar that clients cannot know more about is `Any`.
    func valueType(_ reference: TypeReference) -> ValueType {
        switch reference.kind {
        case .nonNull(let inner): return valueType(inner)
        case .list(let element): return .list(valueType(element), hasNullableElements: !element.isNonNull)
        case .named(let name):
            if let scalar = ValueType.Scalar(rawValue: name) { return .scalar(scalar) }
            if enums[name] != nil { return .enumeration(name) }
            for suffix in [Self.keyOutput, Self.key] where name.hasSuffix(suffix) {
                let table = String(name.dropLast(suffix.count))
                if objects[table] != nil { return .key(table) }
            }
            return inputs[name] == nil ? .scalar(.any) : .input(name)
        }
    }

    /// - Parameter text: a type in GraphQL syntax, `[String!]`.
    func valueType(_ text: String) -> ValueType {
        guard let reference = Self.reference(text) else { return .scalar(.any) }
        return valueType(reference)
    }

    /// Parses a type in GraphQL syntax.
    static func reference(_ text: String) -> TypeReference? {
        let document = try? Parser.parseDocument(Source(text: "query Q($v: \(text)) { f }"))
        return document?.operations.first?.variables.first?.type
    }
}
