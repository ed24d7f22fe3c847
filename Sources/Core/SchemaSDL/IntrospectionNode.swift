import GraphQLLanguage
import JSON

/// An object in an introspection result. Source: GraphQL specification §4.2.
enum IntrospectionNode {
    case schema
    case type(Definition)
    /// A list or non-null type.
    case wrapper(TypeReference)
    case field(FieldDefinition)
    case input(InputValueDefinition)
    case value(EnumValueDefinition)
    case directive(DirectiveDefinition)

    enum Output {
        case leaf(JSONValue)
        case object(IntrospectionNode)
        case list([IntrospectionNode])

        static let null = Output.leaf(.null)

        static func text(_ description: Description?) -> Output {
            .leaf(description.map { .string($0.value) } ?? .null)
        }
    }

    var typeName: String {
        switch self {
        case .schema: "__Schema"
        case .type, .wrapper: "__Type"
        case .field: "__Field"
        case .input: "__InputValue"
        case .value: "__EnumValue"
        case .directive: "__Directive"
        }
    }
}

/// The types of a schema by name; resolves the fields of introspection nodes.
struct IntrospectionModel {
    let types: [Definition]
    private let byName: [String: Definition]
    private let directives: [DirectiveDefinition]
    private let roots: [OperationKind: String]

    init(_ document: Document) {
        let all = document.definitions + IntrospectionTypes.definitions
        var types: [Definition] = []
        var byName: [String: Definition] = [:]
        var directives: [DirectiveDefinition] = []
        var roots: [OperationKind: String] = [:]
        for definition in all {
            switch definition {
            case .schema(let node): for root in node.operationTypes { roots[root.operation] = root.type.value }
            case .directive(let node): directives.append(node)
            case .operation, .fragment: continue
            case .scalar, .object, .interface, .union, .enum, .inputObject:
                types.append(definition)
                if let name = definition.name?.value { byName[name] = definition }
            }
        }
        self.types = types
        self.byName = byName
        self.directives = directives
        self.roots = roots
    }

    func type(named name: String) -> IntrospectionNode? { byName[name].map(IntrospectionNode.type) }

    private func node(_ reference: TypeReference) -> IntrospectionNode.Output {
        guard case .named(let name) = reference.kind else { return .object(.wrapper(reference)) }
        return type(named: name).map(IntrospectionNode.Output.object) ?? .null
    }

    private func root(_ kind: OperationKind) -> IntrospectionNode.Output {
        roots[kind].flatMap(type(named:)).map(IntrospectionNode.Output.object) ?? .null
    }

    /// Returns the value of a node's field; nil if the node's type has no such field. Nothing in a generated schema is
    /// deprecated.
    func output(of field: String, in node: IntrospectionNode) -> IntrospectionNode.Output? {
        if field == "__typename" { return .leaf(.string(node.typeName)) }
        switch node {
        case .schema: return schema(field)
        case .type(let definition): return type(field, definition)
        case .wrapper(let reference): return wrapper(field, reference)
        case .field(let node):
            switch field {
            case "args": return .list(node.arguments.map(IntrospectionNode.input))
            case "type": return self.node(node.type)
            default: return named(field, node.name, node.description)
            }
        case .input(let node):
            switch field {
            case "type": return self.node(node.type)
            case "defaultValue": return .leaf(node.defaultValue.map { .string($0.description) } ?? .null)
            default: return named(field, node.name, node.description)
            }
        case .value(let node): return named(field, node.name, node.description)
        case .directive(let node):
            switch field {
            case "isRepeatable": return .leaf(.bool(node.isRepeatable))
            case "locations": return .leaf(.array(node.locations.map { .string($0.rawValue) }))
            case "args": return .list(node.arguments.map(IntrospectionNode.input))
            case "name": return .leaf(.string(node.name.value))
            case "description": return .text(node.description)
            default: return nil
            }
        }
    }

    private func named(_ field: String, _ name: Name, _ description: Description?) -> IntrospectionNode.Output? {
        switch field {
        case "name": .leaf(.string(name.value))
        case "description": .text(description)
        case "isDeprecated": .leaf(.bool(false))
        case "deprecationReason": .null
        default: nil
        }
    }

    private func schema(_ field: String) -> IntrospectionNode.Output? {
        switch field {
        case "description": .null
        case "types": .list(types.map(IntrospectionNode.type))
        case "queryType": root(.query)
        case "mutationType": root(.mutation)
        case "subscriptionType": root(.subscription)
        case "directives": .list(directives.map(IntrospectionNode.directive))
        default: nil
        }
    }

    private func wrapper(_ field: String, _ reference: TypeReference) -> IntrospectionNode.Output? {
        switch (field, reference.kind) {
        case ("kind", .nonNull): return .leaf(.string("NON_NULL"))
        case ("kind", _): return .leaf(.string("LIST"))
        case ("ofType", .nonNull(let inner)), ("ofType", .list(let inner)): return node(inner)
        default: return Self.typeFields.contains(field) ? .null : nil
        }
    }

    private static let typeFields: Set<String> = [
        "name", "description", "specifiedByURL", "fields", "interfaces", "possibleTypes", "enumValues", "inputFields",
        "ofType", "isOneOf",
    ]

    private func type(_ field: String, _ definition: Definition) -> IntrospectionNode.Output? {
        if field == "name" { return .leaf(definition.name.map { .string($0.value) } ?? .null) }
        switch (field, definition) {
        case ("kind", .scalar): return .leaf(.string("SCALAR"))
        case ("kind", .object): return .leaf(.string("OBJECT"))
        case ("kind", .enum): return .leaf(.string("ENUM"))
        case ("kind", .inputObject): return .leaf(.string("INPUT_OBJECT"))
        case ("kind", .interface): return .leaf(.string("INTERFACE"))
        case ("kind", .union): return .leaf(.string("UNION"))
        case ("description", .scalar(let node)): return .text(node.description)
        case ("description", .object(let node)): return .text(node.description)
        case ("description", .enum(let node)): return .text(node.description)
        case ("description", .inputObject(let node)): return .text(node.description)
        case ("fields", .object(let node)): return .list(node.fields.map(IntrospectionNode.field))
        case ("interfaces", .object): return .list([])
        case ("enumValues", .enum(let node)): return .list(node.values.map(IntrospectionNode.value))
        case ("inputFields", .inputObject(let node)): return .list(node.fields.map(IntrospectionNode.input))
        case ("isOneOf", .inputObject): return .leaf(.bool(false))
        default: return Self.typeFields.contains(field) ? .null : nil
        }
    }
}
