import GraphQLLanguage

/// The last stage: reports name clashes in Postgres and in the generated API, and references whose target columns are
/// not unique.
enum SchemaNames {
    static func check(_ schema: Schema, _ declared: DeclaredSchema, sink: inout DiagnosticSink) {
        checkSQL(schema, declared, sink: &sink)
        checkRootFields(schema, declared, sink: &sink)
        for table in schema.tables + schema.views {
            guard let type = declared.type(named: table.typeName) else { continue }
            checkFields(of: table, type, schema, sink: &sink)
            checkReferences(of: table, type, schema, sink: &sink)
            checkTypeName(type, declared, sink: &sink)
        }
    }

    /// Checks the names of tables, indexes and types, which share a namespace in Postgres.
    private static func checkSQL(_ schema: Schema, _ declared: DeclaredSchema, sink: inout DiagnosticSink) {
        var owners: [String: String] = [:]
        func reserve(_ name: String, for owner: String, at range: FileRange) {
            if name.utf8.count > SQLName.bytesMax {
                sink.report(
                    .error, rule: .nameTooLong, at: range,
                    "\(owner) would be \"\(name)\" in Postgres, longer than \(SQLName.bytesMax) bytes")
            } else if let other = owners[name] {
                sink.report(
                    .error, rule: .sqlNameClash, at: range,
                    "\(owner) and \(other) are both \"\(name)\" in Postgres", help: "name one of them explicitly")
            }
            owners[name] = owner
        }
        for table in schema.tables {
            guard let type = declared.type(named: table.typeName) else { continue }
            reserve(table.name, for: "table \(type.name)", at: type.range)
            for unique in table.uniques {
                reserve(unique.name, for: "a @unique of \(type.name)", at: type.range)
            }
            for index in table.indexes {
                reserve(index.name, for: "an index of \(type.name)", at: type.range)
            }
            var constraints: Set<String> = []
            for reference in table.references where !constraints.insert(reference.constraintName).inserted {
                sink.report(
                    .error, rule: .sqlNameClash, in: type,
                    "two references of \(type.name) have the constraint name"
                        + " \"\(reference.constraintName)\"", help: "name one by @ref(constraintName: …)")
            }
        }
        for (name, range) in declared.enumRanges.sorted(by: { $0.key < $1.key }) {
            guard let type = schema.enums[name] else { continue }
            reserve(type.name, for: "enum \(name)", at: range)
        }
    }

    private static func checkRootFields(_ schema: Schema, _ declared: DeclaredSchema, sink: inout DiagnosticSink) {
        var owners: [String: String] = [:]
        for table in schema.tables + schema.views {
            guard let type = declared.type(named: table.typeName) else { continue }
            if table.singular == table.plural {
                sink.report(
                    .error, rule: .pluralClash, in: type,
                    "the singular and the plural of \"\(type.name)\" are both \"\(table.singular)\"",
                    help: "give it a plural: @table(plural: \"\(table.singular)List\")")
                continue
            }
            for name in [table.singular, table.plural] {
                if let other = owners.updateValue(type.name, forKey: name) {
                    sink.report(
                        .error, rule: .rootFieldClash, in: type,
                        "\"\(type.name)\" and \"\(other)\" both generate the root field \"\(name)\"",
                        help: "give one @table(singular: …) or @table(plural: …)")
                }
            }
        }
    }

    /// Returns the fields, arguments and data members that are generated from a table's columns, with the field of the
    /// column. Views have no data.
    private static func generatedNames(from table: Table) -> [String: String] {
        var names: [String: String] = [:]
        for column in table.columns {
            for aggregate in column.aggregates { names[aggregate.name(of: column.field)] = column.field }
            guard table.view == nil else { continue }
            for form in column.forms { names[form.name(of: column.field)] = column.field }
        }
        return names
    }

    private static func checkFields(
        of table: Table, _ type: DeclaredType, _ schema: Schema, sink: inout DiagnosticSink
    ) {
        let own = Set(table.columns.map(\.field)).union(table.references.map(\.field))
        let generated = generatedNames(from: table)
        for name in own.sorted() {
            guard let base = generated[name] else { continue }
            sink.report(
                .error, rule: .generatedNameClash, at: type.field(named: name)?.range ?? type.range,
                "\"\(name)\" is also generated from \"\(base)\"")
        }
        var taken = own
        let relations =
            schema.inverseRelations(ofType: table.typeName).map { ($0.name, $0.child.typeName) }
            + schema.manyToManyRelations(ofType: table.typeName).map { ($0.name, $0.join.typeName) }
        for (name, source) in relations where !taken.insert(name).inserted {
            sink.report(
                .error, rule: .generatedNameClash, at: type.field(named: name)?.range ?? type.range,
                "\"\(type.name)\" would have two fields \"\(name)\", one of them generated from \(source)")
        }
    }

    /// Checks that the target columns of each foreign key are exactly a key or a unique constraint.
    private static func checkReferences(
        of table: Table, _ type: DeclaredType, _ schema: Schema, sink: inout DiagnosticSink
    ) {
        for reference in table.references {
            guard let target = schema.table(ofType: reference.targetType) else { continue }
            let fields = Set(reference.targetFields)
            guard fields.count == reference.targetFields.count, fields != Set(target.key),
                !target.uniques.contains(where: { Set($0.fields) == fields })
            else { continue }
            let field = type.field(named: reference.field)
            sink.report(
                .error, rule: .refNotUnique,
                at: field?.directive("ref")?.range(of: "references") ?? type.range,
                "\(reference.targetFields.joined(separator: ", ")) of \"\(target.typeName)\""
                    + " is neither its key nor unique",
                help: "add @unique there")
        }
    }

    private static let typeSuffixes: Set<String> = [
        "Data", "Filter", "Having", "Key", "KeyOutput", "ListFilter", "Order",
    ]

    private static func checkTypeName(_ type: DeclaredType, _ declared: DeclaredSchema, sink: inout DiagnosticSink) {
        guard let separator = type.name.lastIndex(of: "_"),
            typeSuffixes.contains(String(type.name[type.name.index(after: separator)...])),
            declared.type(named: String(type.name[..<separator])) != nil
        else { return }
        sink.report(
            .error, rule: .generatedNameClash, in: type,
            "\"\(type.name)\" is also the name of a type generated for \"\(type.name[..<separator])\"")
    }
}

extension DiagnosticSink {
    /// Reports a problem at a type's name.
    fileprivate mutating func report(
        _ severity: Diagnostic.Severity, rule: Diagnostic.Rule, in type: DeclaredType, _ message: String,
        help: String? = nil
    ) {
        report(severity, rule: rule, at: type.range, message, help: help)
    }
}
