import GraphQLLanguage
import JSON
import SchemaModel

/// Resolves fields that custom resolvers provide. Source: docs/reference/sql-connect.md §5.2, "Custom resolvers".
extension OperationScope {
    /// The most requests of one operation to custom resolvers.
    static let remoteFieldsMax = 16

    /// Returns nil after a diagnostic.
    func remote(
        _ field: SelectedField, _ definition: FieldDefinition, _ resolver: ResolverSchema, _ kind: OperationKind
    ) -> RemoteField? {
        findings.remoteFieldCount += 1
        guard findings.remoteFieldCount <= Self.remoteFieldsMax else {
            error(
                .customResolver, at: field.nameRange,
                "an operation may have at most \(Self.remoteFieldsMax) fields of custom resolvers")
            return nil
        }
        return selection(field, definition, resolver).map {
            RemoteText.field($0, kind, resolver.endpoint, isNullable: !definition.type.isNonNull)
        }
    }

    private func selection(
        _ field: SelectedField, _ definition: FieldDefinition, _ resolver: ResolverSchema
    ) -> RemoteSelection? {
        guard let arguments = remoteArguments(field, definition, resolver) else { return nil }
        let typeName = definition.type.namedType
        var children: [RemoteSelection] = []
        if let object = resolver.objects[typeName] {
            guard requireSelection(field, of: typeName) else { return nil }
            let selected = fields(of: field.selections, on: typeName)
            children = selected.compactMap { remoteChild($0, object, resolver) }
            guard children.count == selected.count else { return nil }
        } else {
            refuseSelection(field, of: definition.type.description)
        }
        return RemoteSelection(
            responseKey: field.responseKey, name: field.name.value, arguments: arguments, inclusion: field.inclusion,
            policy: field.policy, children: children)
    }

    private func remoteChild(
        _ field: SelectedField, _ object: ObjectTypeDefinition, _ resolver: ResolverSchema
    ) -> RemoteSelection? {
        if field.name.value == "__typename" {
            _ = typeName(field, object.name.value)
            return RemoteSelection(
                responseKey: field.responseKey, name: "__typename", arguments: [], inclusion: field.inclusion,
                policy: field.policy, children: [])
        }
        guard let definition = object.fields.first(where: { $0.name.value == field.name.value }) else {
            unknownField(field, on: object.name.value, among: object.fields.map(\.name.value))
            return nil
        }
        return selection(field, definition, resolver)
    }

    private func remoteArguments(
        _ field: SelectedField, _ definition: FieldDefinition, _ resolver: ResolverSchema
    ) -> [(name: String, type: TypeReference, value: RemoteValue)]? {
        let values = arguments(of: field, offered: definition.arguments.map(\.name.value))
        var arguments: [(name: String, type: TypeReference, value: RemoteValue)] = []
        for argument in definition.arguments {
            let name = argument.name.value
            guard let value = values[name] else {
                guard argument.isRequired else { continue }
                error(
                    .missingArgument, at: field.nameRange, "\"\(field.name.value)\" needs the argument \"\(name)\"")
                return nil
            }
            guard let filled = remoteValue(value, argument.type, argument.defaultValue != nil, resolver, in: field.file)
            else { return nil }
            // An argument with a default may be omitted, and then its variable is omitted too.
            let type = argument.defaultValue == nil ? argument.type : argument.type.nullable
            arguments.append((name, type, filled))
        }
        return arguments
    }

    private func remoteValue(
        _ value: Value, _ type: TypeReference, _ hasDefault: Bool, _ resolver: ResolverSchema, in file: SourceFile
    ) -> RemoteValue? {
        let range = FileRange(range: value.range, file: file)
        if let name = value.variableName {
            guard let variable = use(variable: name, at: range) else { return nil }
            let hasValue = hasDefault || variable.defaultValue.map { !$0.isNull } ?? false
            guard variable.type.fits(type, hasDefault: hasValue) else {
                mismatch(variable, expected: type.description, at: range)
                return nil
            }
            return .variable(name)
        }
        if value.isNull {
            if !type.isNonNull { return .constant(.null) }
            error(.valueType, at: range, "expected \(type), found null")
            return nil
        }
        if let element = type.listElement {
            let values = value.listValue ?? [value]
            let items = values.compactMap { remoteValue($0, element, false, resolver, in: file) }
            return items.count == values.count ? .list(items) : nil
        }
        let name = type.namedType
        if let input = resolver.inputs[name] { return remoteObject(value, input, resolver, in: file) }
        if let words = resolver.enums[name]?.values.map(\.name.value) {
            if let word = value.enumValue, words.contains(word) { return .constant(.string(word)) }
            let written = value.enumValue ?? value.stringValue
            error(
                .valueType, at: range, "expected a value of \(name)",
                help: written.flatMap { DidYouMean.help($0, among: words) })
            return nil
        }
        if name == "ID" {
            if let text = value.stringValue { return .constant(.string(text)) }
            if let number = value.intValue { return .constant(.string(String(number))) }
            error(.valueType, at: range, "expected an ID: a string or an integer")
            return nil
        }
        let scalar = ScalarType.named(name) ?? .enumeration(name)
        return constant(value, scalar: scalar, at: range).map(RemoteValue.constant)
    }

    private func remoteObject(
        _ value: Value, _ input: InputObjectTypeDefinition, _ resolver: ResolverSchema, in file: SourceFile
    ) -> RemoteValue? {
        let name = input.name.value
        guard let given = inputFields(value, of: name, offered: input.fields.map(\.name.value), in: file) else {
            return nil
        }
        var members: [(String, RemoteValue)] = []
        for field in input.fields {
            guard let value = given.first(where: { $0.name.value == field.name.value })?.value else {
                guard field.isRequired else { continue }
                error(
                    .valueType, at: FileRange(range: value.range, file: file), "\(name) needs \"\(field.name.value)\""
                )
                return nil
            }
            guard let filled = remoteValue(value, field.type, field.defaultValue != nil, resolver, in: file) else {
                return nil
            }
            members.append((field.name.value, filled))
        }
        return .object(members)
    }
}

extension InputValueDefinition {
    fileprivate var isRequired: Bool { type.isNonNull && defaultValue == nil }
}

extension InputType {
    /// Returns whether a variable of this type may be used where a custom resolver expects `expected`. An `ID` accepts
    /// strings, UUIDs and integers.
    fileprivate func fits(_ expected: TypeReference, hasDefault: Bool) -> Bool {
        if case .nonNull(let inner) = expected.kind {
            guard case .nonNull(let mine) = self else { return hasDefault && fits(inner, hasDefault: false) }
            return mine.fits(inner, hasDefault: false)
        }
        switch (self, expected.kind) {
        case (.nonNull(let mine), _): return mine.fits(expected, hasDefault: false)
        case (.list(let mine), .list(let element)): return mine.fits(element, hasDefault: false)
        case (.scalar(let scalar), .named(let name)):
            return scalar.typeName == name || name == "ID" && [.string, .uuid, .int, .int64].contains(scalar)
        default: return false
        }
    }
}
