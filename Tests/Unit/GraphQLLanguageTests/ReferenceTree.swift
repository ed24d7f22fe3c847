import GraphQLLanguage
import JSON

/// Translates nodes into the reference parser's tree (see the vectors' README): the independent measure of equality for
/// the tests. Absent parts and empty lists are left out.
struct ReferenceTree {
    /// Off where quoting style does not count.
    var keepsBlock = true

    func document(_ node: Document) -> JSONValue {
        tree("Document", ["definitions": .array(node.definitions.map(definition))])
    }

    private func definition(_ node: Definition) -> JSONValue {
        switch node {
        case .operation(let node): operation(node)
        case .fragment(let node): fragment(node)
        case .schema(let node): schema(node)
        case .scalar(let node):
            type("Scalar", node.isExtension, node.name, node.description, node.directives, [:])
        case .object(let node):
            type(
                "Object", node.isExtension, node.name, node.description, node.directives,
                [
                    "interfaces": .array(node.interfaces.map(namedType)),
                    "fields": .array(node.fields.map(fieldDefinition)),
                ])
        case .interface(let node):
            type(
                "Interface", node.isExtension, node.name, node.description, node.directives,
                [
                    "interfaces": .array(node.interfaces.map(namedType)),
                    "fields": .array(node.fields.map(fieldDefinition)),
                ])
        case .union(let node):
            type(
                "Union", node.isExtension, node.name, node.description, node.directives,
                ["types": .array(node.types.map(namedType))])
        case .enum(let node):
            type(
                "Enum", node.isExtension, node.name, node.description, node.directives,
                ["values": .array(node.values.map(enumValue))])
        case .inputObject(let node):
            type(
                "InputObject", node.isExtension, node.name, node.description, node.directives,
                ["fields": .array(node.fields.map(inputValue))])
        case .directive(let node): directiveDefinition(node)
        }
    }

    private func operation(_ node: OperationDefinition) -> JSONValue {
        tree(
            "OperationDefinition",
            [
                "operation": .string(node.kind.rawValue), "name": node.name.map(name),
                "description": node.description.map(description),
                "variableDefinitions": .array(node.variables.map(variableDefinition)),
                "directives": directives(node.directives), "selectionSet": selectionSet(node.selectionSet),
            ])
    }

    private func variableDefinition(_ node: VariableDefinition) -> JSONValue {
        tree(
            "VariableDefinition",
            [
                "variable": tree("Variable", ["name": name(node.name)]), "type": type(node.type),
                "description": node.description.map(description), "defaultValue": node.defaultValue.map(value),
                "directives": directives(node.directives),
            ])
    }

    private func fragment(_ node: FragmentDefinition) -> JSONValue {
        tree(
            "FragmentDefinition",
            [
                "name": name(node.name), "description": node.description.map(description),
                "typeCondition": namedType(node.typeCondition), "directives": directives(node.directives),
                "selectionSet": selectionSet(node.selectionSet),
            ])
    }

    private func selectionSet(_ node: SelectionSet) -> JSONValue {
        tree("SelectionSet", ["selections": .array(node.selections.map(selection))])
    }

    private func selection(_ node: Selection) -> JSONValue {
        switch node {
        case .field(let node):
            tree(
                "Field",
                [
                    "alias": node.alias.map(name), "name": name(node.name), "arguments": arguments(node.arguments),
                    "directives": directives(node.directives), "selectionSet": node.selectionSet.map(selectionSet),
                ])
        case .fragmentSpread(let node):
            tree("FragmentSpread", ["name": name(node.name), "directives": directives(node.directives)])
        case .inlineFragment(let node):
            tree(
                "InlineFragment",
                [
                    "typeCondition": node.typeCondition.map(namedType), "directives": directives(node.directives),
                    "selectionSet": selectionSet(node.selectionSet),
                ])
        }
    }

    func value(_ node: Value) -> JSONValue {
        switch node.kind {
        case .variable(let variable): tree("Variable", ["name": name(Name(variable))])
        case .int(let text): tree("IntValue", ["value": .string(text)])
        case .float(let text): tree("FloatValue", ["value": .string(text)])
        case .string(let text, let isBlock): string(text, isBlock)
        case .boolean(let value): tree("BooleanValue", ["value": .bool(value)])
        case .null: tree("NullValue", [:])
        case .enum(let text): tree("EnumValue", ["value": .string(text)])
        case .list(let values): tree("ListValue", ["values": .array(values.map(value))])
        case .object(let fields):
            tree(
                "ObjectValue",
                [
                    "fields": .array(
                        fields.map { tree("ObjectField", ["name": name($0.name), "value": value($0.value)]) })
                ]
            )
        }
    }

    func type(_ node: TypeReference) -> JSONValue {
        switch node.kind {
        case .named(let text): namedType(Name(text))
        case .list(let element): tree("ListType", ["type": type(element)])
        case .nonNull(let wrapped): tree("NonNullType", ["type": type(wrapped)])
        }
    }

    private func schema(_ node: SchemaDefinition) -> JSONValue {
        let types = node.operationTypes.map {
            tree(
                "OperationTypeDefinition",
                ["operation": .string($0.operation.rawValue), "type": namedType($0.type)])
        }
        return tree(
            node.isExtension ? "SchemaExtension" : "SchemaDefinition",
            [
                "description": node.description.map(description), "directives": directives(node.directives),
                "operationTypes": .array(types),
            ])
    }

    private func fieldDefinition(_ node: FieldDefinition) -> JSONValue {
        tree(
            "FieldDefinition",
            [
                "description": node.description.map(description), "name": name(node.name),
                "arguments": .array(node.arguments.map(inputValue)), "type": type(node.type),
                "directives": directives(node.directives),
            ])
    }

    private func inputValue(_ node: InputValueDefinition) -> JSONValue {
        tree(
            "InputValueDefinition",
            [
                "description": node.description.map(description), "name": name(node.name), "type": type(node.type),
                "defaultValue": node.defaultValue.map(value), "directives": directives(node.directives),
            ])
    }

    private func enumValue(_ node: EnumValueDefinition) -> JSONValue {
        tree(
            "EnumValueDefinition",
            [
                "description": node.description.map(description), "name": name(node.name),
                "directives": directives(node.directives),
            ])
    }

    private func directiveDefinition(_ node: DirectiveDefinition) -> JSONValue {
        tree(
            "DirectiveDefinition",
            [
                "description": node.description.map(description), "name": name(node.name),
                "arguments": .array(node.arguments.map(inputValue)), "repeatable": .bool(node.isRepeatable),
                "locations": .array(node.locations.map { name(Name($0.rawValue)) }),
            ])
    }

    private func type(
        _ kind: String, _ isExtension: Bool, _ typeName: Name, _ text: Description?, _ applied: [Directive],
        _ parts: [String: JSONValue?]
    ) -> JSONValue {
        let shared: [String: JSONValue?] = [
            "name": name(typeName), "description": text.map(description), "directives": directives(applied),
        ]
        return tree(kind + (isExtension ? "TypeExtension" : "TypeDefinition"), parts.merging(shared) { $1 })
    }

    private func directives(_ nodes: [Directive]) -> JSONValue {
        .array(nodes.map { tree("Directive", ["name": name($0.name), "arguments": arguments($0.arguments)]) })
    }

    private func arguments(_ nodes: [Argument]) -> JSONValue {
        .array(nodes.map { tree("Argument", ["name": name($0.name), "value": value($0.value)]) })
    }

    private func name(_ node: Name) -> JSONValue { tree("Name", ["value": .string(node.value)]) }

    private func namedType(_ node: Name) -> JSONValue { tree("NamedType", ["name": name(node)]) }

    private func description(_ node: Description) -> JSONValue { string(node.value, node.isBlock) }

    private func string(_ text: String, _ isBlock: Bool) -> JSONValue {
        tree("StringValue", ["value": .string(text), "block": keepsBlock ? .bool(isBlock) : nil])
    }

    private func tree(_ kind: String, _ parts: [String: JSONValue?]) -> JSONValue {
        var object: JSONObject = ["kind": .string(kind)]
        for (key, part) in parts where part != nil && part != .array([]) { object[key] = part }
        return .object(object)
    }
}
