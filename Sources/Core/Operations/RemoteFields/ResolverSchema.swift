package import GraphQLLanguage
package import SchemaModel

/// The schema of one custom resolver, with names resolved.
package struct ResolverSchema: Sendable {
    let endpoint: ResolverEndpoint
    var objects: [String: ObjectTypeDefinition] = [:]
    var inputs: [String: InputObjectTypeDefinition] = [:]
    var enums: [String: EnumTypeDefinition] = [:]
    /// The types in file order, except `Query` and `Mutation`.
    package var definitions: [Definition] = []
    package var queries: [FieldDefinition] = []
    package var mutations: [FieldDefinition] = []

    /// Returns whether the name is a scalar, including `ID`, which columns do not support.
    static func isScalar(_ name: String) -> Bool { name == "ID" || ScalarType.named(name) != nil }
}

/// Reads the schemas of custom resolvers. Runs after the tables' schema, whose names it must not reuse.
package struct ResolverSchemaReader {
    private let schema: Schema
    private var taken: Set<String>
    private var rootFields: Set<String>

    /// Reads all schemas and reports names that the tables' API already uses.
    /// - Parameter typeNames: the names of the types in the tables' GraphQL schema.
    package static func read(
        _ sources: [ResolverSource], _ api: GeneratedAPI, typeNames: () -> Set<String>, sink: inout DiagnosticSink
    ) -> [ResolverSchema] {
        if sources.isEmpty { return [] }
        var reader = ResolverSchemaReader(api, typeNames())
        return sources.map { reader.read($0, sink: &sink) }
    }

    private init(_ api: GeneratedAPI, _ typeNames: Set<String>) {
        schema = api.schema
        taken = typeNames.subtracting(["Query", "Mutation", "Subscription"])
        rootFields = Set(api.queries.keys).union(api.mutations.keys)
    }

    private mutating func read(_ source: ResolverSource, sink: inout DiagnosticSink) -> ResolverSchema {
        var result = ResolverSchema(endpoint: source.endpoint)
        var collected: [(definition: Definition, file: SourceFile)] = []
        for file in source.files {
            guard let document = DocumentReader.parse(file, sink: &sink) else {
                sink.suppressUnknownNames()
                continue
            }
            for definition in document.definitions {
                if collect(definition, in: file, into: &result, sink: &sink) { collected.append((definition, file)) }
            }
        }
        for (definition, file) in collected { check(definition, result, in: file, sink: &sink) }
        if result.queries.isEmpty, result.mutations.isEmpty, let file = source.files.first, !sink.hasErrors {
            sink.report(
                .warning, rule: .resolverSchema, in: file,
                "the schema of the resolver has neither a type Query nor a type Mutation",
                help: "operations use the resolver through their fields")
        }
        return result
    }

    /// - Returns: false after a diagnostic.
    private mutating func collect(
        _ definition: Definition, in file: SourceFile, into result: inout ResolverSchema, sink: inout DiagnosticSink
    ) -> Bool {
        let range = definition.name?.range ?? definition.range
        func refuse(_ what: String) -> Bool {
            sink.report(.error, rule: .definitionNotOffered, at: range, in: file, what)
            return false
        }
        if definition.isExtension { return refuse("`extend` is not supported: write one definition") }
        switch definition {
        case .object(let node) where node.name.value == "Query": return addRoot(node, to: \.queries)
        case .object(let node) where node.name.value == "Mutation": return addRoot(node, to: \.mutations)
        case .object(let node):
            guard node.interfaces.isEmpty else { return refuse("interfaces are not supported") }
            guard node.directives.isEmpty else { return refuse("table directives are not supported here") }
            guard reserve(node.name) else { return false }
            result.objects[node.name.value] = node
        case .inputObject(let node):
            guard reserve(node.name) else { return false }
            result.inputs[node.name.value] = node
        case .enum(let node):
            guard reserve(node.name) else { return false }
            result.enums[node.name.value] = node
        case .scalar: return refuse("custom scalars are not supported: use Any for arbitrary JSON")
        case .interface: return refuse("interfaces are not supported")
        case .union: return refuse("unions are not supported")
        case .directive: return refuse("directive definitions are not supported")
        case .schema: return refuse("a `schema` definition is not supported: the roots are Query and Mutation")
        case .operation, .fragment: return refuse("operations and fragments belong in a connector's folder")
        }
        result.definitions.append(definition)
        return true

        func reserve(_ name: Name) -> Bool {
            if taken.insert(name.value).inserted, !ResolverSchema.isScalar(name.value) { return true }
            sink.report(
                .error, rule: .uniqueType, at: name.range, in: file,
                "type \"\(name.value)\" already exists in this schema, in another one, or generated from a table")
            sink.suppress(type: name.value)
            return false
        }

        func addRoot(
            _ node: ObjectTypeDefinition, to fields: WritableKeyPath<ResolverSchema, [FieldDefinition]>
        ) -> Bool {
            for field in node.fields {
                guard rootFields.insert(field.name.value).inserted, !field.name.value.hasPrefix("_") else {
                    sink.report(
                        .error, rule: .rootFieldClash, at: field.name.range, in: file,
                        "field \"\(field.name.value)\" already exists in Query or Mutation",
                        help: "names of other root fields, and names that begin with _, cannot be used")
                    continue
                }
                result[keyPath: fields].append(field)
            }
            return true
        }
    }

    // MARK: Types

    private func check(
        _ definition: Definition, _ result: ResolverSchema, in file: SourceFile, sink: inout DiagnosticSink
    ) {
        switch definition {
        case .object(let node):
            for field in node.fields {
                checkDirectives(field.directives, in: file, sink: &sink)
                checkType(field.type, among: Array(result.objects.keys), result, in: file, sink: &sink)
                for argument in field.arguments {
                    checkDirectives(argument.directives, in: file, sink: &sink)
                    checkType(argument.type, among: Array(result.inputs.keys), result, in: file, sink: &sink)
                }
            }
        case .inputObject(let node):
            for field in node.fields {
                checkDirectives(field.directives, in: file, sink: &sink)
                checkType(field.type, among: Array(result.inputs.keys), result, in: file, sink: &sink)
            }
        default: return
        }
    }

    /// Checks directives; only `@deprecated`, which informs readers, is allowed.
    private func checkDirectives(_ directives: [Directive], in file: SourceFile, sink: inout DiagnosticSink) {
        for directive in directives where directive.name.value != "deprecated" {
            sink.report(
                .error, rule: .unknownDirective, at: directive.range, in: file,
                "@\(directive.name.value) is not supported in the schema of a custom resolver")
        }
    }

    private func checkType(
        _ type: TypeReference, among composites: [String], _ result: ResolverSchema, in file: SourceFile,
        sink: inout DiagnosticSink
    ) {
        let name = type.namedType
        if ResolverSchema.isScalar(name) || result.enums[name] != nil || schema.enums[name] != nil { return }
        if composites.contains(name) || sink.isSuppressed(name) { return }
        let known = composites + Array(result.enums.keys) + Array(schema.enums.keys) + ScalarType.names + ["ID"]
        sink.report(
            .error, rule: .unknownType, at: type.range, in: file, "unknown type \"\(name)\"",
            help: DidYouMean.help(name, among: known.sorted())
                ?? (schema.table(ofType: name) == nil ? nil : "fields of a custom resolver cannot refer to tables"))
    }
}
