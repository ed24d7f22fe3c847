import GraphQLLanguage

/// The second stage: builds a table with columns, key and references from a declared type. Uniqueness and indexes are
/// added once all tables exist.
package struct TableBuilder {
    /// The most columns that Postgres allows in a table.
    package static let columnsMax = 1_600
    /// Names of the system columns of every Postgres table.
    static let systemColumns: Set<String> = ["cmax", "cmin", "ctid", "tableoid", "xmax", "xmin"]

    private let type: DeclaredType
    private let enums: [String: EnumType]
    private var columns: [Column] = []
    private var references: [Reference] = []

    /// Returns nil after a reported problem with the key.
    static func build(
        _ type: DeclaredType, resolver: inout RelationResolver, sink: inout DiagnosticSink
    ) -> Table? {
        var builder = TableBuilder(type: type, enums: resolver.declared.enums)
        return builder.build(&resolver, &sink)
    }

    private init(type: DeclaredType, enums: [String: EnumType]) {
        self.type = type
        self.enums = enums
    }

    private mutating func build(_ resolver: inout RelationResolver, _ sink: inout DiagnosticSink) -> Table? {
        let key = type.isView ? [] : resolver.key(of: type, sink: &sink)
        if RelationResolver.hasImplicitID(type) {
            columns.append(
                Column(
                    field: "id", name: "id", type: ColumnType(.uuid), isNullable: false,
                    defaultValue: Self.keyDefault))
        }
        for field in type.fields {
            switch field.kind {
            case .column(let columnType): addColumn(field, columnType, &sink)
            case .reference(let target): addReference(field, to: target, &resolver, &sink)
            }
        }
        guard let key else { return nil }
        if key.count == 1, !type.isView { addKeyDefault(key[0].field) }
        // A primary key is never null, and a default fills it.
        for index in columns.indices where columns[index].defaultValue != nil {
            if key.contains(where: { $0.field == columns[index].field }) { columns[index].isNullable = false }
        }
        for shape in key where columns.contains(where: { $0.field == shape.field && $0.isNullable }) {
            let field = type.field(named: shape.field) ?? type.fields.first { shape.field.hasPrefix($0.name) }
            report(
                .nullableKey, at: field?.typeRange ?? type.table.range, &sink,
                "\"\(shape.field)\" is part of the key and must be required: add \"!\"")
        }
        checkColumnNames(&sink)
        checkSearch(&sink)
        let name = sqlName("name", in: type.table, &sink) ?? GeneratedNames.snakeCase(type.name)
        let singular = graphQLName("singular", &sink) ?? GeneratedNames.singular(ofType: type.name)
        let plural = graphQLName("plural", &sink) ?? EnglishPlural.of(singular)
        var table = Table(
            typeName: type.name, name: name, singular: singular, plural: plural, columns: columns,
            key: key.map(\.field), references: references.map { named($0, in: name, &sink) })
        if type.isView { table.view = ViewBuilder.view(type, sink: &sink) }
        return table
    }

    /// Gives a declared `id: UUID!` the default of an implicit one if it is the whole key, unless it is a foreign key.
    private mutating func addKeyDefault(_ field: String) {
        guard field == "id", !references.contains(where: { $0.localFields.contains(field) }),
            let index = columns.firstIndex(where: { $0.field == field }), columns[index].type == ColumnType(.uuid),
            columns[index].defaultValue == nil
        else { return }
        columns[index].defaultValue = Self.keyDefault
        columns[index].isDefaultImplied = true
    }

    private static let keyDefault = ColumnDefault.expression("uuidV4()")

    /// Checks that all searchable columns have the same language, since they are searched together.
    private func checkSearch(_ sink: inout DiagnosticSink) {
        let languages = columns.compactMap { column in column.searchLanguage.map { (column, $0) } }
        guard let first = languages.first, let other = languages.first(where: { $0.1 != first.1 }) else { return }
        let field = type.field(named: other.0.field)
        report(
            .searchable, at: field?.directive("searchable")?.range ?? type.range, &sink,
            "\"\(other.0.field)\" has the language \(other.1), but \"\(first.0.field)\" has \(first.1)",
            help: "all searchable fields of a type must have the same language")
    }

    private mutating func addColumn(_ field: DeclaredField, _ columnType: ColumnType, _ sink: inout DiagnosticSink) {
        if let ref = field.directive("ref") {
            report(
                .refOnColumn, at: ref.range, &sink, "@ref belongs on a field of a table type",
                help: "\"\(field.name)\" is a column")
        }
        let col = field.directive("col")
        let dataType = ColumnDataType(of: field, columnType, enums: enums)
        if let col { checkDataType(dataType, col, field, columnType, enums, &sink) }
        checkSize(field, columnType, &sink)
        var defaultValue: ColumnDefault?
        if let use = field.directive("default") {
            defaultValue = DefaultValue.read(
                use, for: columnType, isNullable: field.isNullable, enums: enums, sink: &sink)
            if dataType?.isSerial == true {
                report(.defaultArguments, at: use.range, &sink, "a serial column already has a default")
            }
        }
        if dataType?.isSerial == true { defaultValue = .sql("nextval") }
        var language: String?
        if let searchable = field.directive("searchable") {
            language = SearchLanguage.read(searchable, for: columnType, sink: &sink)
            if let dataType, dataType.conversion != nil, !dataType.isText {
                report(.searchable, at: searchable.range, &sink, "a column of type \(dataType.name) cannot be searched")
            }
        }
        columns.append(
            Column(
                field: field.name,
                name: col.flatMap { sqlName("name", in: $0, &sink) } ?? GeneratedNames.snakeCase(field.name),
                type: columnType, isNullable: field.isNullable || type.isView, defaultValue: defaultValue,
                dataType: dataType, isSerial: dataType?.isSerial ?? false, searchLanguage: language))
    }

    private mutating func addReference(
        _ field: DeclaredField, to target: String, _ resolver: inout RelationResolver, _ sink: inout DiagnosticSink
    ) {
        for name in ["col", "default"] {
            if let use = field.directive(name) {
                report(
                    .directiveOnReference, at: use.range, &sink, "@\(name) is not allowed on a reference",
                    help: "declare its column as a field, such as"
                        + " \"\(GeneratedNames.foreignKeyField(reference: field.name, target: "id"))\","
                        + " and put it there"
                )
            }
        }
        guard let foreignKey = resolver.foreignKey(of: field, in: type, sink: &sink) else { return }
        for column in foreignKey where !column.isDeclared {
            if let index = columns.firstIndex(where: { $0.field == column.local.field }) {
                guard columns[index].type == column.local.type else {
                    report(
                        .refType, at: field.range, &sink,
                        "\"\(column.local.field)\" is already the foreign key of another reference"
                            + " and has a different type"
                    )
                    return
                }
                columns[index].isNullable = columns[index].isNullable && field.isNullable
            } else {
                columns.append(
                    Column(
                        field: column.local.field, name: GeneratedNames.snakeCase(column.local.field),
                        type: column.local.type, isNullable: field.isNullable, dataType: column.local.dataType))
            }
        }
        checkNullability(field, foreignKey, &sink)
        let ref = field.directive("ref")
        references.append(
            Reference(
                field: field.name, targetType: target, localFields: foreignKey.map(\.local.field),
                targetFields: foreignKey.map(\.targetField), isNullable: field.isNullable, isUnique: false,
                constraintName: ref.flatMap { sqlName("constraintName", in: $0, &sink) } ?? "",
                deleteRule: field.isNullable ? .setNull : .cascade))
    }

    /// Checks that a required reference has only required columns, and an optional one at least one optional column.
    private func checkNullability(
        _ field: DeclaredField, _ foreignKey: [ForeignColumn], _ sink: inout DiagnosticSink
    ) {
        let declared = foreignKey.filter(\.isDeclared).compactMap { type.field(named: $0.local.field) }
        if field.isNullable {
            guard declared.count == foreignKey.count, declared.allSatisfy({ !$0.isNullable }) else { return }
        } else if declared.allSatisfy({ !$0.isNullable }) {
            return
        }
        report(
            .referenceNullability, at: field.typeRange, &sink,
            "\"\(field.name)\" is "
                + (field.isNullable
                    ? "optional, but its columns are required" : "required, but one of its columns is optional"),
            help: "give both sides \"!\" or neither: \(declared.map(\.name).joined(separator: ", "))")
    }

    /// Returns the reference with its constraint name, which includes the table's name.
    private func named(_ reference: Reference, in tableName: String, _ sink: inout DiagnosticSink) -> Reference {
        guard reference.constraintName.isEmpty else { return reference }
        var reference = reference
        let names = reference.localFields.map { field in
            columns.first { $0.field == field }?.name ?? GeneratedNames.snakeCase(field)
        }
        reference.constraintName = SQLName.generated([tableName] + names, suffix: "fkey")
        return reference
    }

    private func checkColumnNames(_ sink: inout DiagnosticSink) {
        var fields: [String: String] = [:]
        for column in columns {
            let range = type.field(named: column.field)?.range ?? type.range
            if let other = fields.updateValue(column.field, forKey: column.name) {
                report(
                    .sqlNameClash, at: range, &sink,
                    "\"\(column.field)\" and \"\(other)\" are both the SQL column \"\(column.name)\"",
                    help: "give one of them @col(name: …)")
            }
            if column.name.utf8.count > SQLName.bytesMax {
                report(
                    .nameTooLong, at: range, &sink,
                    "SQL column \"\(column.name)\" is longer than \(SQLName.bytesMax) bytes",
                    help: "give it @col(name: …)")
            }
            if Self.systemColumns.contains(column.name) {
                report(
                    .reservedName, at: range, &sink, "\"\(column.name)\" is a system column of Postgres",
                    help: "give it @col(name: …)")
            }
        }
        if columns.count > Self.columnsMax {
            report(.tooManyColumns, at: type.range, &sink, "a table can have at most \(Self.columnsMax) columns")
        }
    }

    /// Reads a Postgres name from a directive.
    private func sqlName(_ argument: String, in use: DirectiveUse, _ sink: inout DiagnosticSink) -> String? {
        guard let name = use.string(argument) else { return nil }
        if name.utf8.count > SQLName.bytesMax || name.utf8.contains(0) {
            report(
                .nameTooLong, at: use.range(of: argument), &sink,
                "a name in Postgres can have at most \(SQLName.bytesMax) bytes")
            return nil
        }
        return name
    }

    /// Reads a name for the generated API from `@table`.
    private func graphQLName(_ argument: String, _ sink: inout DiagnosticSink) -> String? {
        guard let name = type.table.string(argument) else { return nil }
        let isLetter = { (byte: UInt8) in (0x41...0x5A).contains(byte & 0xDF) }
        let isName =
            name.utf8.first.map(isLetter) == true
            && name.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
        if !isName {
            report(
                .invalidName, at: type.table.range(of: argument), &sink,
                "\"\(name)\" is not a valid name: use letters, digits and \"_\", beginning with a letter")
            return nil
        }
        return name
    }

    func report(
        _ rule: Diagnostic.Rule, at range: FileRange, _ sink: inout DiagnosticSink, _ message: String,
        help: String? = nil
    ) {
        sink.report(.error, rule: rule, at: range, message, help: help)
    }
}
