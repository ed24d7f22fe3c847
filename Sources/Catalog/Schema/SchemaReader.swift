import GraphQLLanguage

/// The first stage: what the files declare, names unique, directives checked, nothing resolved between types yet.
struct DeclaredSchema {
    /// In the order of files and definitions.
    var types: [DeclaredType] = []
    var enums: [String: EnumType] = [:]
    /// Where each enum stands, for later diagnostics.
    var enumPlaces: [String: (file: SourceFile, range: SourceRange)] = [:]
    private var positions: [String: Int] = [:]

    func type(named name: String) -> DeclaredType? {
        positions[name].map { types[$0] }
    }

    mutating func add(_ type: DeclaredType) {
        positions[type.name] = types.count
        types.append(type)
    }
}

struct DeclaredType {
    let name: String
    let nameRange: SourceRange
    let file: SourceFile
    /// `@table` or `@view`.
    let table: DirectiveUse
    /// `@unique` and `@index` of the type, in order.
    let directives: [DirectiveUse]
    var fields: [DeclaredField]

    var isView: Bool { table.name == "view" }

    func field(named name: String) -> DeclaredField? {
        fields.first { $0.name == name }
    }
}

struct DeclaredField {
    enum Kind {
        case column(ColumnType)
        /// A field of a table type: a reference.
        case reference(typeName: String)
    }

    let name: String
    let nameRange: SourceRange
    let typeRange: SourceRange
    let kind: Kind
    let isNullable: Bool
    let directives: [DirectiveUse]

    func directive(_ name: String) -> DirectiveUse? {
        directives.first { $0.name == name }
    }
}

struct SchemaReader {
    private var schema = DeclaredSchema()
    private var objects: [(node: ObjectTypeDefinition, file: SourceFile)] = []
    /// Names of all types, for duplicates; value: where it stood first.
    private var places: [String: String] = [:]
    /// Types that seem unknown may stand in a file that did not parse.
    private var isIncomplete = false

    static func read(_ files: [SourceFile], sink: inout DiagnosticSink) -> DeclaredSchema {
        var reader = SchemaReader()
        for file in files {
            guard let document = DocumentReader.parse(file, sink: &sink) else {
                reader.isIncomplete = true
                sink.loseFile()
                continue
            }
            for definition in document.definitions { reader.collect(definition, in: file, sink: &sink) }
        }
        let objectNames = Set(reader.objects.map(\.node.name.value))
        for (node, file) in reader.objects {
            reader.read(node, in: file, objectNames: objectNames, sink: &sink)
        }
        return reader.schema
    }

    private mutating func collect(_ definition: Definition, in file: SourceFile, sink: inout DiagnosticSink) {
        let range = definition.name?.range ?? definition.range
        func refuse(_ what: String, help: String? = nil) {
            sink.report(.error, rule: "definition-not-offered", at: range, in: file, what, help: help)
        }
        if definition.isExtension {
            return refuse("`extend` is not offered; write the whole definition in one place")
        }
        switch definition {
        case .object(let node):
            guard declare(node.name, in: file, sink: &sink) else { return }
            objects.append((node, file))
        case .enum(let node):
            guard declare(node.name, in: file, sink: &sink) else { return }
            read(node, in: file, sink: &sink)
        case .operation, .fragment:
            sink.report(
                .error, rule: "operation-in-schema", at: range, in: file,
                "operations and fragments belong in a connector's folder, not in the schema")
        case .schema: refuse("a `schema` definition is not needed: root types are generated")
        case .scalar: refuse("custom scalars are not offered", help: "the scalars are \(ScalarType.namesText)")
        case .interface: refuse("interfaces are not offered")
        case .union: refuse("unions are not offered")
        case .inputObject: refuse("input types are generated from tables; own ones are not offered")
        case .directive: refuse("own directives are not offered")
        }
    }

    private mutating func declare(_ name: Name, in file: SourceFile, sink: inout DiagnosticSink) -> Bool {
        let text = name.value
        func refuse(_ rule: String, _ message: String, help: String? = nil) -> Bool {
            sink.report(.error, rule: rule, at: name.range, in: file, message, help: help)
            return false
        }
        if ["Query", "Mutation", "Subscription"].contains(text) {
            return refuse(
                "definition-not-offered",
                "type \(text): root fields are generated; those of custom resolvers stand in a schema of their own")
        }
        if ScalarType.named(text) != nil || text == "ID" {
            return refuse("reserved-name", "\"\(text)\" is the name of a scalar")
        }
        if text.hasPrefix("_") { return refuse("reserved-name", "names that begin with \"_\" are reserved") }
        if let first = places[text] {
            return refuse("duplicate-type", "type \"\(text)\" is declared more than once", help: "first in \(first)")
        }
        places[text] = "\(file.path):\(file.location(at: name.range.start).line)"
        return true
    }

    private mutating func read(_ node: EnumTypeDefinition, in file: SourceFile, sink: inout DiagnosticSink) {
        _ = DirectiveChecker.check(node.directives, at: .enum, in: file, sink: &sink)
        var values: [String] = []
        for value in node.values {
            _ = DirectiveChecker.check(value.directives, at: .enumValue, in: file, sink: &sink)
            if values.contains(value.name.value) {
                sink.report(
                    .error, rule: "duplicate-enum-value", at: value.name.range, in: file,
                    "enum value \"\(value.name.value)\" is declared more than once")
            } else if value.name.value.utf8.count > SQLName.bytesMax {
                sink.report(
                    .error, rule: "name-too-long", at: value.name.range, in: file,
                    "an enum value may have \(SQLName.bytesMax) bytes at most in Postgres")
            } else {
                values.append(value.name.value)
            }
        }
        if values.isEmpty {
            sink.report(
                .error, rule: "empty-type", at: node.name.range, in: file, "enum \"\(node.name.value)\" has no values")
        }
        let name = node.name.value
        schema.enums[name] = EnumType(typeName: name, name: GeneratedNames.snakeCase(name), values: values)
        schema.enumPlaces[name] = (file, node.name.range)
    }

    private mutating func read(
        _ node: ObjectTypeDefinition, in file: SourceFile, objectNames: Set<String>, sink: inout DiagnosticSink
    ) {
        let directives = DirectiveChecker.check(node.directives, at: .object, in: file, sink: &sink)
        if let interface = node.interfaces.first {
            sink.report(
                .error, rule: "definition-not-offered", at: interface.range, in: file, "interfaces are not offered")
        }
        var fields: [DeclaredField] = []
        for field in node.fields {
            if fields.contains(where: { $0.name == field.name.value }) {
                sink.report(
                    .error, rule: "duplicate-field", at: field.name.range, in: file,
                    "field \"\(field.name.value)\" is declared more than once")
            } else if let declared = read(field, in: file, objectNames: objectNames, sink: &sink) {
                fields.append(declared)
            }
        }
        let kinds = directives.filter { $0.name == "table" || $0.name == "view" }
        if kinds.count > 1 {
            sink.report(
                .error, rule: "view", at: kinds[1].range, in: file, "a type is either a @table or a @view, not both")
        }
        guard let table = kinds.first else {
            // A misspelt @table was reported as such.
            if node.directives.allSatisfy({ DirectiveShape.named($0.name.value) != nil }) {
                sink.report(
                    .error, rule: "missing-table", at: node.name.range, in: file,
                    "type \"\(node.name.value)\" has no @table", help: "every type is a table or a view: add @table")
            }
            sink.lose(type: node.name.value)
            return
        }
        schema.add(
            DeclaredType(
                name: node.name.value, nameRange: node.name.range, file: file, table: table,
                directives: directives.filter { $0.name != "table" && $0.name != "view" }, fields: fields))
    }

    private func read(
        _ node: FieldDefinition, in file: SourceFile, objectNames: Set<String>, sink: inout DiagnosticSink
    ) -> DeclaredField? {
        let directives = DirectiveChecker.check(node.directives, at: .fieldDefinition, in: file, sink: &sink)
        func refuse(_ rule: String, at range: SourceRange, _ message: String, help: String? = nil) -> DeclaredField? {
            sink.report(.error, rule: rule, at: range, in: file, message, help: help)
            sink.lose(field: node.name.value)
            return nil
        }
        let name = node.name.value
        if name.hasPrefix("_") {
            return refuse(
                "reserved-name", at: node.name.range, "names that begin with \"_\" are reserved for generated fields")
        }
        if let argument = node.arguments.first {
            return refuse("field-arguments", at: argument.range, "a column has no arguments")
        }
        let typeName = node.type.namedType
        let element = node.type.listElement
        if let element, element.listElement != nil {
            return refuse("nested-list", at: node.type.range, "a list of lists cannot be a column")
        }
        let kind: DeclaredField.Kind
        if let scalar = ScalarType.named(typeName) {
            if scalar == .vector, element != nil {
                return refuse("type-not-offered", at: node.type.range, "a list of vectors cannot be a column")
            }
            kind = .column(ColumnType(scalar, isList: element != nil))
        } else if schema.enums[typeName] != nil {
            kind = .column(ColumnType(.enumeration(typeName), isList: element != nil))
        } else if objectNames.contains(typeName) {
            if element != nil {
                return refuse(
                    "list-of-tables", at: node.type.range,
                    "a table cannot hold a list of another table; the other one refers to this one",
                    help: "declare a field of this type in \"\(typeName)\"; its rows are then listed by a generated"
                        + " field such as \"\(EnglishPlural.of(GeneratedNames.camelCase(typeName)))_on_…\"")
            }
            kind = .reference(typeName: typeName)
        } else if isIncomplete {
            return nil
        } else {
            return refuse(
                "unknown-type", at: node.type.range, "unknown type \"\(typeName)\"",
                help: typeName == "ID"
                    ? "use UUID or String"
                    : DidYouMean.help(
                        typeName, among: ScalarType.names + schema.enums.keys.sorted() + objectNames.sorted()))
        }
        return DeclaredField(
            name: name, nameRange: node.name.range, typeRange: node.type.range, kind: kind,
            isNullable: !node.type.isNonNull, directives: directives)
    }
}
