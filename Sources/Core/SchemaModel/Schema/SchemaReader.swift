import GraphQLLanguage

/// The first stage: reads the declarations of all files, merges extensions, and checks names and directives.
struct SchemaReader {
    /// The kind of a type and its index in `objects` or `enums`.
    private enum Kind {
        case object(Int)
        case `enum`(Int)

        var words: String {
            switch self {
            case .object: "a type"
            case .enum: "an enum"
            }
        }
    }

    /// A definition or one of its extensions.
    private typealias Part<Node> = (node: Node, file: SourceFile)

    private var schema = DeclaredSchema()
    /// The definition of each type, followed by its extensions in file order.
    private var objects: [[Part<ObjectTypeDefinition>]] = []
    private var enums: [[Part<EnumTypeDefinition>]] = []
    private var extensions: [Part<Definition>] = []
    /// The first definition of each type: its location for messages, and its index.
    private var definitions: [String: (text: String, kind: Kind)] = [:]
    /// Names of types whose definitions were rejected.
    private var refused: Set<String> = []
    /// Whether a file failed to parse; it may declare types that seem unknown.
    private var isIncomplete = false

    static func read(_ files: [SourceFile], sink: inout DiagnosticSink) -> DeclaredSchema {
        var reader = SchemaReader()
        for file in files {
            guard let document = DocumentReader.parse(file, sink: &sink) else {
                reader.isIncomplete = true
                sink.suppressUnknownNames()
                continue
            }
            for definition in document.definitions { reader.collect(definition, in: file, sink: &sink) }
        }
        for (definition, file) in reader.extensions { reader.extend(definition, in: file, sink: &sink) }
        for parts in reader.enums { reader.read(parts, sink: &sink) }
        let objectNames = Set(reader.objects.map { $0[0].node.name.value })
        for parts in reader.objects { reader.read(parts, objectNames: objectNames, sink: &sink) }
        return reader.schema
    }

    private mutating func collect(_ definition: Definition, in file: SourceFile, sink: inout DiagnosticSink) {
        let range = definition.name?.range ?? definition.range
        func refuse(_ what: String, help: String? = nil) {
            sink.report(.error, rule: .definitionNotOffered, at: range, in: file, what, help: help)
        }
        switch definition {
        case .object where definition.isExtension, .enum where definition.isExtension:
            extensions.append((definition, file))
        case .object(let node):
            if declare(node.name, .object(objects.count), in: file, sink: &sink) { objects.append([(node, file)]) }
        case .enum(let node):
            if declare(node.name, .enum(enums.count), in: file, sink: &sink) { enums.append([(node, file)]) }
        case .operation, .fragment:
            sink.report(
                .error, rule: .operationInSchema, at: range, in: file,
                "operations and fragments belong in a connector's folder, not in the schema")
        case .schema: refuse("a `schema` definition is not supported: root types are generated")
        case .scalar: refuse("custom scalars are not supported", help: "the scalars are \(ScalarType.namesText)")
        case .interface: refuse("interfaces are not supported")
        case .union: refuse("unions are not supported")
        case .inputObject: refuse("input types are not supported: they are generated from tables")
        case .directive: refuse("directive definitions are not supported")
        }
    }

    /// Adds an extension (GraphQL specification §3.6.3, §3.9.2) to its type, which may be defined in any file.
    private mutating func extend(_ definition: Definition, in file: SourceFile, sink: inout DiagnosticSink) {
        guard let name = definition.name else { return }
        switch (definition, definitions[name.value]?.kind) {
        case (.object(let node), .object(let position)?): return objects[position].append((node, file))
        case (.enum(let node), .enum(let position)?): return enums[position].append((node, file))
        case (_, let kind?):
            sink.report(
                .error, rule: .extensionKind, at: name.range, in: file,
                "\"\(name.value)\" is \(kind.words) and must be extended as one")
        case (_, nil):
            // The type may be in a file that failed to parse, or may have been rejected.
            if isIncomplete || refused.contains(name.value) { break }
            sink.report(
                .error, rule: .unknownType, at: name.range, in: file, "there is no type \"\(name.value)\" to extend",
                help: Self.rootTypes.contains(name.value)
                    ? Self.rootTypesHelp : DidYouMean.help(name.value, among: definitions.keys.sorted()))
        }
        if case .object(let node) = definition {
            for field in node.fields { sink.suppress(field: field.name.value) }
        }
    }

    private static let rootTypes: Set<String> = ["Query", "Mutation", "Subscription"]
    private static let rootTypesHelp =
        "root fields are generated; those of custom resolvers belong in a separate schema"

    private mutating func declare(
        _ name: Name, _ kind: Kind, in file: SourceFile, sink: inout DiagnosticSink
    ) -> Bool {
        let text = name.value
        func refuse(_ rule: Diagnostic.Rule, _ message: String, help: String? = nil) -> Bool {
            sink.report(.error, rule: rule, at: name.range, in: file, message, help: help)
            refused.insert(text)
            return false
        }
        if Self.rootTypes.contains(text) {
            return refuse(.definitionNotOffered, "type \(text): \(Self.rootTypesHelp)")
        }
        if ScalarType.named(text) != nil || text == "ID" {
            return refuse(.reservedName, "\"\(text)\" is the name of a scalar")
        }
        if text.hasPrefix("_") { return refuse(.reservedName, "names that begin with \"_\" are reserved") }
        if let first = definitions[text] {
            return refuse(
                .duplicateType, "type \"\(text)\" is declared more than once", help: "first in \(first.text)")
        }
        definitions[text] = ("\(file.path):\(file.location(at: name.range.start).line)", kind)
        return true
    }

    private mutating func read(_ parts: [Part<EnumTypeDefinition>], sink: inout DiagnosticSink) {
        var values: [String] = []
        for (node, file) in parts {
            _ = DirectiveChecker.check(node.directives, at: .enum, in: file, sink: &sink)
            read(node.values, into: &values, in: file, sink: &sink)
        }
        let (node, file) = parts[0]
        let name = node.name.value
        if values.isEmpty {
            sink.report(.error, rule: .emptyType, at: node.name.range, in: file, "enum \"\(name)\" has no values")
        }
        schema.enums[name] = EnumType(typeName: name, name: GeneratedNames.snakeCase(name), values: values)
        schema.enumRanges[name] = FileRange(range: node.name.range, file: file)
    }

    private func read(
        _ definitions: [EnumValueDefinition], into values: inout [String], in file: SourceFile,
        sink: inout DiagnosticSink
    ) {
        for value in definitions {
            _ = DirectiveChecker.check(value.directives, at: .enumValue, in: file, sink: &sink)
            if values.contains(value.name.value) {
                sink.report(
                    .error, rule: .duplicateEnumValue, at: value.name.range, in: file,
                    "enum value \"\(value.name.value)\" is declared more than once")
            } else if value.name.value.utf8.count > SQLName.bytesMax {
                sink.report(
                    .error, rule: .nameTooLong, at: value.name.range, in: file,
                    "an enum value in Postgres can have at most \(SQLName.bytesMax) bytes")
            } else {
                values.append(value.name.value)
            }
        }
    }

    private mutating func read(
        _ parts: [Part<ObjectTypeDefinition>], objectNames: Set<String>, sink: inout DiagnosticSink
    ) {
        var directives: [DirectiveUse] = []
        var fields: [DeclaredField] = []
        for (node, file) in parts {
            directives += DirectiveChecker.check(
                node.directives, at: .object, in: file, after: directives, sink: &sink)
            if let interface = node.interfaces.first {
                sink.report(
                    .error, rule: .definitionNotOffered, at: interface.range, in: file,
                    "interfaces are not supported")
            }
            for field in node.fields {
                if fields.contains(where: { $0.name == field.name.value }) {
                    sink.report(
                        .error, rule: .duplicateField, at: field.name.range, in: file,
                        "field \"\(field.name.value)\" is declared more than once")
                } else if let declared = read(field, in: file, objectNames: objectNames, sink: &sink) {
                    fields.append(declared)
                }
            }
        }
        let (node, file) = parts[0]
        let kinds = directives.filter { $0.name == "table" || $0.name == "view" }
        if kinds.count > 1 {
            sink.report(.error, rule: .view, at: kinds[1].range, "a type is either a @table or a @view, not both")
        }
        guard let table = kinds.first else {
            // A misspelt @table has already been reported.
            if parts.flatMap({ $0.node.directives }).allSatisfy({ DirectiveShape.named($0.name.value) != nil }) {
                sink.report(
                    .error, rule: .missingTable, at: node.name.range, in: file,
                    "type \"\(node.name.value)\" has no @table", help: "every type is a table or a view: add @table")
            }
            sink.suppress(type: node.name.value)
            return
        }
        schema.add(
            DeclaredType(
                name: node.name.value, range: FileRange(range: node.name.range, file: file), table: table,
                directives: directives.filter { $0.name != "table" && $0.name != "view" }, fields: fields))
    }

    private func read(
        _ node: FieldDefinition, in file: SourceFile, objectNames: Set<String>, sink: inout DiagnosticSink
    ) -> DeclaredField? {
        let directives = DirectiveChecker.check(node.directives, at: .fieldDefinition, in: file, sink: &sink)
        func refuse(_ rule: Diagnostic.Rule, at range: SourceRange, _ message: String, help: String? = nil)
            -> DeclaredField?
        {
            sink.report(.error, rule: rule, at: range, in: file, message, help: help)
            sink.suppress(field: node.name.value)
            return nil
        }
        let name = node.name.value
        if name.hasPrefix("_") {
            return refuse(
                .reservedName, at: node.name.range, "names that begin with \"_\" are reserved for generated fields")
        }
        if let argument = node.arguments.first {
            return refuse(.fieldArguments, at: argument.range, "a column cannot have arguments")
        }
        let typeName = node.type.namedType
        let element = node.type.listElement
        if let element, element.listElement != nil {
            return refuse(.nestedList, at: node.type.range, "a list of lists cannot be a column")
        }
        let kind: DeclaredField.Kind
        if let scalar = ScalarType.named(typeName) {
            if scalar == .vector, element != nil {
                return refuse(.typeNotOffered, at: node.type.range, "a list of vectors cannot be a column")
            }
            kind = .column(ColumnType(scalar, isList: element != nil))
        } else if schema.enums[typeName] != nil {
            kind = .column(ColumnType(.enumeration(typeName), isList: element != nil))
        } else if objectNames.contains(typeName) {
            if element != nil {
                return refuse(
                    .listOfTables, at: node.type.range,
                    "a table cannot contain a list of another table; the other table must refer to this one",
                    help: "declare a field of this type in \"\(typeName)\"; a generated field then lists its rows,"
                        + " such as \"\(EnglishPlural.of(GeneratedNames.singular(ofType: typeName)))_on_…\"")
            }
            kind = .reference(typeName: typeName)
        } else if isIncomplete {
            return nil
        } else {
            return refuse(
                .unknownType, at: node.type.range, "unknown type \"\(typeName)\"",
                help: typeName == "ID"
                    ? "use UUID or String"
                    : ScalarType.help(
                        typeName, among: ScalarType.names + schema.enums.keys.sorted() + objectNames.sorted()))
        }
        return DeclaredField(
            name: name, range: FileRange(range: node.name.range, file: file),
            typeRange: FileRange(range: node.type.range, file: file), kind: kind, isNullable: !node.type.isNonNull,
            directives: directives)
    }
}
