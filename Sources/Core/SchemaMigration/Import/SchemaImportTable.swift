import SchemaModel

/// One table of a database as a type, said as well as the language allows.
struct SchemaImportTable {
    private let table: DatabaseDescription.Table
    /// Type names by table.
    private let types: [String: String]
    /// The names of enums by SQL name; nil for those that GraphQL cannot name.
    private let enums: [String: String?]
    /// The names of fields by column, by table.
    private let allFields: [String: [String: String]]
    private let fields: [String: String]

    init(
        _ table: DatabaseDescription.Table, types: [String: String], enums: [String: String?],
        fields: [String: [String: String]]
    ) {
        self.table = table
        self.types = types
        self.enums = enums
        allFields = fields
        self.fields = fields[table.name] ?? [:]
    }

    /// Names the fields of a table, by column.
    static func fields(of table: DatabaseDescription.Table) -> [String: String] {
        var taken: Set<String> = []
        var fields: [String: String] = [:]
        for column in table.columns {
            fields[column.name] = ImportedNames.unique(ImportedNames.field(column.name), &taken)
        }
        return fields
    }

    var imported: ImportedSchema.Table {
        let typeName = types[table.name] ?? table.name
        var result = ImportedSchema.Table(name: table.name, typeName: typeName, directive: directive(typeName))
        if table.key.isEmpty { result.reason = "it has no primary key, which every type needs" }
        if table.partitioning != nil { result.remarks.append("Partitioned in the database, which stays so.") }
        var search: DatabaseDescription.Index?
        for index in table.indexes {
            if Self.searchLanguage(index) != nil, search == nil {
                search = index
            } else {
                result.directives.append(part(index))
            }
        }
        for column in table.columns { result.fields.append(field(column, search)) }
        var taken = Set(fields.values)
        for key in table.foreignKeys { result.fields.append(reference(key, &taken)) }
        return result
    }

    /// A view, whose fields may all be null.
    static func view(
        _ view: ViewDescription, as typeName: String, enums: [String: String?]
    ) -> ImportedSchema.Table {
        let name = GeneratedNames.snakeCase(typeName) == view.name ? "" : "(name: \(ImportedSchema.literal(view.name)))"
        var result = ImportedSchema.Table(name: view.name, typeName: typeName, directive: "@view" + name)
        var taken: Set<String> = []
        for column in view.columns {
            let field = ImportedNames.unique(ImportedNames.field(column.name), &taken)
            let type = ImportedType(column.type, enums: enums, isNumbered: false)
            let text = "\(field): \(type.text)" + col(field, column.name, type.arguments)
            result.fields.append(ImportedSchema.Field(part: .init(text: text, mentions: [column.name, field])))
        }
        return result
    }

    private func directive(_ typeName: String) -> String {
        var arguments: [String] = []
        if GeneratedNames.snakeCase(typeName) != table.name {
            arguments.append("name: \(ImportedSchema.literal(table.name))")
        }
        let key = table.key.compactMap { fields[$0] }
        if key != ["id"] { arguments.append("key: \(ImportedSchema.list(key))") }
        return "@table" + (arguments.isEmpty ? "" : "(\(arguments.joined(separator: ", ")))")
    }

    private static func col(_ field: String, _ column: String, _ arguments: [String]) -> String {
        let name = GeneratedNames.snakeCase(field) == column ? [] : ["name: \(ImportedSchema.literal(column))"]
        let all = name + arguments
        return all.isEmpty ? "" : " @col(\(all.joined(separator: ", ")))"
    }

    // MARK: Columns

    private func field(_ column: DatabaseDescription.Column, _ search: DatabaseDescription.Index?)
        -> ImportedSchema.Field
    {
        let field = fields[column.name] ?? column.name
        let sequence = column.defaultSQL == "identity" || column.defaultSQL?.hasPrefix("nextval(") == true
        let isNumbered = sequence && !column.isNullable && ["smallint", "integer", "bigint"].contains(column.type)
        let type = ImportedType(column.type, enums: enums, isNumbered: isNumbered)
        let text =
            "\(field): \(type.text)\(column.isNullable ? "" : "!")" + Self.col(field, column.name, type.arguments)
        var result = ImportedSchema.Field(part: .init(text: text, mentions: [column.name, field]))
        if column.defaultSQL == "generated" {
            result.part.reason = "it is computed by Postgres, and a type has no fields that cannot be written"
        } else if let value = column.defaultSQL, !isNumbered, value != "identity" {
            result.directives.append(.init(text: type.defaultDirective(value), mentions: ["default", column.name]))
        }
        if let search, search.uses.contains(column.name), let language = Self.searchLanguage(search) {
            let argument = language == "english" ? "" : "(language: \(ImportedSchema.literal(language)))"
            result.directives.append(.init(text: "@searchable" + argument, mentions: [search.name], isSearch: true))
        }
        return result
    }

    /// The language of a search index: `to_tsvector('english'::regconfig, …`; nil for any other index.
    private static func searchLanguage(_ index: DatabaseDescription.Index) -> String? {
        guard index.method == "gin", !index.isUnique, index.predicate == nil,
            let match = index.expression?.firstMatch(of: #/to_tsvector\('(\w+)'::regconfig/#)
        else { return nil }
        return String(match.output.1)
    }

    // MARK: Indexes

    private func part(_ index: DatabaseDescription.Index) -> ImportedSchema.Part {
        let names = index.columns.compactMap { fields[$0] }
        let list = ImportedSchema.list(names)
        let name = ImportedSchema.literal(index.name)
        let kind = index.isUnique ? "unique" : "index"
        let what = index.columns.isEmpty ? index.expression ?? "" : index.columns.joined(separator: ", ")
        func leftOut(_ reason: String) -> ImportedSchema.Part {
            let whole = "@\(kind) \(name) (\(what))" + (index.predicate.map { " WHERE \($0)" } ?? "")
            return .init(text: whole, mentions: [index.name], reason: reason)
        }
        if index.predicate != nil { return leftOut("it covers only some rows; the database keeps it") }
        if index.expression != nil { return leftOut("it is over expressions; the database keeps it") }
        if index.isUnique {
            guard index.method == "btree" else {
                return leftOut("its method is \(index.method); the database keeps it")
            }
            return .init(text: "@unique(fields: \(list), indexName: \(name))", mentions: [index.name] + index.columns)
        }
        var arguments = ["fields: \(list)", "name: \(name)"]
        switch index.method {
        case "btree":
            if index.descending.contains(true) {
                let order = index.descending.map { $0 ? "DESC" : "ASC" }.joined(separator: ", ")
                arguments.append("order: [\(order)]")
            }
        case "gin": arguments.append("type: GIN")
        case "hnsw", "ivfflat":
            arguments.append("type: \(index.method.uppercased())")
            let method = SimilarityMethod.allCases.first { index.operatorClasses == [$0.operatorClass] }
            if let method { arguments.append("vector_method: \(method.rawValue)") }
        default: return leftOut("its method is \(index.method); the database keeps it")
        }
        return .init(text: "@index(\(arguments.joined(separator: ", ")))", mentions: [index.name] + index.columns)
    }

    // MARK: Relations

    /// A foreign key: `author: User! @ref(…)`.
    private func reference(_ key: DatabaseDescription.ForeignKey, _ taken: inout Set<String>) -> ImportedSchema.Field {
        let local = key.columns.map { fields[$0] ?? $0 }
        let target = types[key.targetTable] ?? ImportedNames.type(key.targetTable)
        var name = target.prefix(1).lowercased() + target.dropFirst()
        if local.count == 1 {
            for ending in ["Id", "Uid", "ID", "Key", "Code"] where local[0].hasSuffix(ending) && local[0] != ending {
                name = String(local[0].dropLast(ending.count))
                break
            }
        }
        name = ImportedNames.unique(name, &taken)
        let isNullable = table.columns.contains { key.columns.contains($0.name) && $0.isNullable }
        let targets = key.targetColumns.map { allFields[key.targetTable]?[$0] ?? $0 }
        let arguments = [
            "fields: \(ImportedSchema.list(local))", "references: \(ImportedSchema.list(targets))",
            "constraintName: \(ImportedSchema.literal(key.name))",
        ]
        let text = "\(name): \(target)\(isNullable ? "" : "!") @ref(\(arguments.joined(separator: ", ")))"
        var field = ImportedSchema.Field(part: .init(text: text, mentions: [key.name, name] + key.columns))
        field.target = target
        field.part.reason = obstacle(key, isNullable: isNullable)
        return field
    }

    /// The changes that a reference would need in the database; nil if none is known.
    private func obstacle(_ key: DatabaseDescription.ForeignKey, isNullable: Bool) -> String? {
        guard types[key.targetTable] != nil else {
            return "the table \(ImportedSchema.literal(key.targetTable)) is not in this schema"
        }
        var obstacles: [String] = []
        let rule = isNullable ? "SET NULL" : "CASCADE"
        if key.deleteRule != rule {
            obstacles.append(
                "the foreign key is ON DELETE \(key.deleteRule), but \(isNullable ? "an optional" : "a required")"
                    + " reference is \(rule)")
        }
        let leading =
            [table.key]
            + table.indexes.filter { $0.method == "btree" && $0.predicate == nil && $0.expression == nil }.map(
                \.columns)
        let columns = Set(key.columns)
        if !leading.contains(where: { Set($0.prefix(columns.count)) == columns }) {
            obstacles.append("a reference needs an index on \(key.columns.joined(separator: ", "))")
        }
        return obstacles.isEmpty ? nil : obstacles.joined(separator: "; ")
    }
}
