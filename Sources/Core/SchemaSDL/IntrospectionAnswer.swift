package import GraphQLLanguage
package import JSON
package import LiveModel

/// Answers introspection queries, `__schema` and `__type`. Source: GraphQL specification §4.
package struct Introspection: Sendable {
    /// The most fields in one response; the standard introspection query for 100 tables needs about 600,000.
    static let fieldsMax = 2_000_000

    private let document: Document

    package init(_ schema: GraphQLSchema) {
        document = schema.document
    }

    /// Returns the operation of a request if it is a pure introspection query; otherwise nil.
    package static func operation(in document: Document, named name: String?) -> OperationDefinition? {
        let operations = document.operations.filter { name == nil || $0.name?.value == name }
        guard operations.count == 1, let operation = operations.first, operation.kind == .query else { return nil }
        var names: Set<String> = []
        var visited: Set<String> = []
        collectRootNames(operation.selectionSet, document, &names, &visited)
        let isAboutSchema = names.contains("__schema") || names.contains("__type")
        return isAboutSchema && names.isSubset(of: ["__schema", "__type", "__typename"]) ? operation : nil
    }

    private static func collectRootNames(
        _ set: SelectionSet, _ document: Document, _ names: inout Set<String>, _ visited: inout Set<String>
    ) {
        for selection in set.selections {
            switch selection {
            case .field(let field): names.insert(field.name.value)
            case .inlineFragment(let fragment):
                collectRootNames(fragment.selectionSet, document, &names, &visited)
            case .fragmentSpread(let spread):
                let name = spread.name.value
                guard visited.insert(name).inserted,
                    let fragment = document.fragments.first(where: { $0.name.value == name })
                else { continue }
                collectRootNames(fragment.selectionSet, document, &names, &visited)
            }
        }
    }

    /// Returns the `data` of the response.
    /// - Parameter request: the document that contains `operation` and its fragments.
    /// - Throws: `.badRequest` for unknown fields and fragments, and if `fieldsMax` is exceeded.
    package func answer(
        _ operation: OperationDefinition, in request: Document, variables: JSONObject
    ) throws(RequestError) -> JSONObject {
        var run = IntrospectionRun(
            model: IntrospectionModel(document), fragments: request.fragments, operation: operation,
            variables: variables)
        return try run.root()
    }
}

private struct IntrospectionRun {
    let model: IntrospectionModel
    let fragments: [String: FragmentDefinition]
    let operation: OperationDefinition
    let variables: JSONObject
    private var fieldCount = 0

    private struct Collected {
        var field: Field
        var sets: [SelectionSet]
    }

    init(
        model: IntrospectionModel, fragments: [FragmentDefinition], operation: OperationDefinition,
        variables: JSONObject
    ) {
        self.model = model
        self.fragments = Dictionary(fragments.map { ($0.name.value, $0) }) { first, _ in first }
        self.operation = operation
        var given = variables
        for variable in operation.variables where given[variable.name.value] == nil {
            switch variable.defaultValue?.kind {
            case .boolean(let flag): given[variable.name.value] = .bool(flag)
            case .string(let text, _): given[variable.name.value] = .string(text)
            default: continue
            }
        }
        self.variables = given
    }

    mutating func root() throws(RequestError) -> JSONObject {
        var object = JSONObject()
        for (key, item) in try collect([operation.selectionSet], on: "Query") {
            switch item.field.name.value {
            case "__typename": object[key] = .string("Query")
            case "__schema": object[key] = .object(try self.object(.schema, item))
            default:
                guard let name = text(item.field.arguments.value(of: "name")) else {
                    throw RequestError(.badRequest, "\"__type\" needs the argument \"name\"")
                }
                object[key] =
                    try model.type(named: name).map { node throws(RequestError) in
                        JSONValue.object(try self.object(node, item))
                    } ?? .null
            }
        }
        return object
    }

    private mutating func object(
        _ node: IntrospectionNode, _ item: Collected
    ) throws(RequestError) -> JSONObject {
        guard !item.sets.isEmpty else {
            throw RequestError(.badRequest, "\"\(item.field.name.value)\" needs a selection")
        }
        return try object(node, try collect(item.sets, on: node.typeName))
    }

    private mutating func object(
        _ node: IntrospectionNode, _ fields: [(String, Collected)]
    ) throws(RequestError) -> JSONObject {
        var object = JSONObject()
        for (key, item) in fields {
            fieldCount += 1
            guard fieldCount <= Introspection.fieldsMax else {
                throw RequestError(
                    .badRequest, "the response would have more than \(Introspection.fieldsMax) fields")
            }
            guard let output = model.output(of: item.field.name.value, in: node) else {
                throw RequestError(.badRequest, "\"\(node.typeName)\" has no field \"\(item.field.name.value)\"")
            }
            switch output {
            case .leaf(let value): object[key] = value
            case .object(let inner): object[key] = .object(try self.object(inner, item))
            case .list(let nodes):
                var values: [JSONValue] = []
                values.reserveCapacity(nodes.count)
                // All nodes of a list have one type, so their fields are the same.
                let inner = try nodes.first.map { node throws(RequestError) in
                    try collect(item.sets, on: node.typeName)
                }
                for node in nodes { values.append(.object(try self.object(node, inner ?? []))) }
                object[key] = .array(values)
            }
        }
        return object
    }

    // MARK: Selections

    private func collect(
        _ sets: [SelectionSet], on typeName: String
    ) throws(RequestError) -> [(String, Collected)] {
        var fields: [(String, Collected)] = []
        var visited: Set<String> = []
        for set in sets { try collect(set, on: typeName, &fields, &visited) }
        return fields
    }

    private func collect(
        _ set: SelectionSet, on typeName: String, _ fields: inout [(String, Collected)], _ visited: inout Set<String>
    ) throws(RequestError) {
        for selection in set.selections where isIncluded(selection.directives) {
            switch selection {
            case .field(let field):
                let key = field.responseKey
                if let position = fields.firstIndex(where: { $0.0 == key }) {
                    if let inner = field.selectionSet { fields[position].1.sets.append(inner) }
                } else {
                    fields.append((key, Collected(field: field, sets: field.selectionSet.map { [$0] } ?? [])))
                }
            case .inlineFragment(let fragment):
                guard fragment.typeCondition.map({ $0.value == typeName }) ?? true else { continue }
                try collect(fragment.selectionSet, on: typeName, &fields, &visited)
            case .fragmentSpread(let spread):
                let name = spread.name.value
                guard let fragment = fragments[name] else {
                    throw RequestError(.badRequest, "unknown fragment \"\(name)\"")
                }
                guard visited.insert(name).inserted, fragment.typeCondition.value == typeName else { continue }
                try collect(fragment.selectionSet, on: typeName, &fields, &visited)
            }
        }
    }

    private func isIncluded(_ directives: [Directive]) -> Bool {
        directives.allSatisfy { directive in
            let flag = directive.arguments.value(of: "if").flatMap { value in
                value.boolValue ?? value.variableName.flatMap { variables[$0]?.boolValue }
            }
            return switch directive.name.value {
            case "skip": flag != true
            case "include": flag != false
            default: true
            }
        }
    }

    private func text(_ value: Value?) -> String? {
        value?.stringValue ?? value?.variableName.flatMap { variables[$0]?.stringValue }
    }
}
