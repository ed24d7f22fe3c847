import GraphQLLanguage
import JSON
import SchemaModel

/// Resolves the fields of a mutation. Source: docs/reference/sql-connect.md §5.6.
extension OperationScope {
    func mutationFields(_ sources: [SelectionSource]) -> [MutationField] {
        fields(of: sources, on: "Mutation").compactMap { field in
            defer { keysBefore.append(field.responseKey) }
            guard let kind = kind(of: field), !field.inclusion.isNever else { return nil }
            return MutationField(
                responseKey: field.responseKey, inclusion: field.inclusion, kind: kind, policy: field.policy)
        }
    }

    private func kind(of field: SelectedField) -> MutationField.Kind? {
        let name = field.name.value
        if name == "__typename" { return typeName(field, "Mutation").map(MutationField.Kind.typeName) }
        guard let known = api.mutations[name] else {
            unknownField(field, on: "Mutation", among: api.mutations.keys.sorted())
            return nil
        }
        switch known {
        case .insert(let table, let isUpsert): return insert(field, table, isUpsert: isUpsert)
        case .insertMany(let table, let isUpsert): return insertMany(field, table, isUpsert: isUpsert)
        case .update(let table):
            let arguments = arguments(of: field, offered: targetArguments(of: table) + ["data"])
            let target = writtenRow(of: field, arguments, table)
            let row = data(of: field, arguments).flatMap { self.row($0, table, .update, in: field.file) }
            let returning = returned(field, table)
            guard let target, let row else { return nil }
            return Self.kind([row]) { .update(table, target, $0.first?.ordered(table) ?? [], returning) }
        case .updateMany(let table):
            let arguments = arguments(of: field, offered: ["where", "all", "data"])
            let filter = manyFilter(field, arguments, table)
            let row = data(of: field, arguments).flatMap { self.row($0, table, .update, in: field.file) }
            refuseSelection(field, of: "Int!, the number of rows")
            guard let filter, let row else { return nil }
            return Self.kind([row]) { .updateMany(table, filter.0, $0.first?.ordered(table) ?? [], filter.1) }
        case .delete(let table):
            let arguments = arguments(of: field, offered: targetArguments(of: table))
            let target = writtenRow(of: field, arguments, table)
            let returning = returned(field, table)
            return target.map { .delete(table, $0, returning) }
        case .deleteMany(let table):
            let arguments = arguments(of: field, offered: ["where", "all"])
            refuseSelection(field, of: "Int!, the number of rows")
            return manyFilter(field, arguments, table).map { .deleteMany(table, $0.0, $0.1) }
        case .execute(let result):
            refuseSelection(field, of: result == .affectedCount ? "Int, the number of rows" : "JSON of any form")
            guard var native = nativeSQL(field, result: result, isMutation: true) else { return nil }
            native.writes = context.sqlWrites[native.textWithNulls]
            return .native(native)
        case .query: return read(field)
        case .remote(let definition, let resolver): return remoteWrite(field, definition, resolver)
        }
    }

    private func insert(_ field: SelectedField, _ table: Table, isUpsert: Bool) -> MutationField.Kind? {
        let arguments = arguments(of: field, offered: ["data"])
        let use = isUpsert ? DataUse.upsert : .insert
        let row = data(of: field, arguments).flatMap { self.row($0, table, use, in: field.file) }
        let returning = returned(field, table)
        guard let row, isWithinBounds(field, [row]) else { return nil }
        return Self.kind([row]) { rows in
            guard rows.count == 1, rows[0].children.isEmpty else {
                return .insertTrees(
                    InsertTrees(table: table, rows: rows, isUpsert: isUpsert, isMany: false, returning: returning))
            }
            return .insert(Insert(table: table, row: rows[0], isUpsert: isUpsert, returning: returning))
        }
    }

    private func insertMany(_ field: SelectedField, _ table: Table, isUpsert: Bool) -> MutationField.Kind? {
        let arguments = arguments(of: field, offered: ["data"])
        let use = isUpsert ? DataUse.upsert : .insert
        let rows = data(of: field, arguments).flatMap { self.rows($0, table, use, in: field.file) }
        let returning = returned(field, table)
        if returning.contains(where: { !$0.inclusion.isAlways }) {
            error(
                .unknownDirective, at: field.nameRange,
                "@skip and @include are not supported below \"\(field.name.value)\"")
        }
        guard let (rows, dynamic) = rows else { return nil }
        guard case .literal(let written) = rows else {
            return .insertMany(InsertMany(table: table, rows: rows, isUpsert: isUpsert, returning: returning))
        }
        guard isWithinBounds(field, written) else { return nil }
        return Self.kind(written, dynamic) { rows in
            if rows.contains(where: \.needsOwnPart) {
                return .insertTrees(
                    InsertTrees(table: table, rows: rows, isUpsert: isUpsert, isMany: true, returning: returning))
            }
            return .insertMany(
                InsertMany(table: table, rows: .literal(rows), isUpsert: isUpsert, returning: returning))
        }
    }

    /// Resolves `query { … }`.
    private func read(_ field: SelectedField) -> MutationField.Kind? {
        refuseArguments(field)
        guard requireSelection(field, of: "Query") else { return nil }
        let fields = queryFields(field.selections)
        if fields.contains(where: { if case .remote = $0.kind { true } else { false } }) {
            error(
                .customResolver, at: field.nameRange,
                "\"query\" cannot contain fields of custom resolvers: it reads the database")
            return nil
        }
        return .read(fields)
    }

    private func remoteWrite(
        _ field: SelectedField, _ definition: FieldDefinition, _ resolver: ResolverSchema
    ) -> MutationField.Kind? {
        if let directive = operation.directives.first(named: "transaction") {
            error(
                .customResolver, at: FileRange(range: directive.range, file: file),
                "@transaction cannot roll back the custom resolver of \"\(field.name.value)\"",
                help: "remove @transaction, or move the field to a separate mutation")
        }
        return remote(field, definition, resolver, .mutation).map(MutationField.Kind.remote)
    }

    private func data(of field: SelectedField, _ arguments: [String: Value]) -> Value? {
        if let data = arguments["data"] { return data }
        error(.missingArgument, at: field.nameRange, "\"\(field.name.value)\" needs the argument \"data\"")
        return nil
    }

    /// - Parameter list: the rows if a variable supplies all of them.
    private static func kind(
        _ rows: [RowData], _ list: DynamicRows? = nil, make: @escaping @Sendable ([RowData]) -> MutationField.Kind
    ) -> MutationField.Kind {
        guard list != nil || rows.contains(where: \.isDynamic) else { return make(rows) }
        return .dynamic(
            DynamicField(
                widest: make(rows),
                make: { values in make(list?.rows(in: values) ?? rows.map { $0.bound(to: values) }) }))
    }

    private func isWithinBounds(_ field: SelectedField, _ rows: [RowData]) -> Bool {
        guard rows.contains(where: \.needsOwnPart),
            rows.reduce(0, { $0 + $1.count }) > InsertTrees.rowsMax
        else { return true }
        error(
            .tooManyRows, at: field.nameRange,
            "at most \(InsertTrees.rowsMax) nested rows or rows with updates are supported")
        return false
    }

    /// The most rows that an operation may contain as literals.
    static let literalRowsMax = 1_000

    private func rows(
        _ value: Value, _ table: Table, _ use: DataUse, in file: SourceFile
    ) -> (InsertMany.Rows, dynamic: DynamicRows?)? {
        let range = FileRange(range: value.range, file: file)
        if let name = value.variableName {
            guard let variable = self.use(variable: name, at: range) else { return nil }
            guard case .list(let element) = variable.type.nullable, element.nullable == .data(table.typeName),
                variable.type.isNonNull, element.isNonNull
            else {
                mismatch(variable, expected: "[\(table.typeName)_Data!]!", at: range)
                return nil
            }
            if variable.allowlist?.isFlat == false {
                return dynamicRows(variable, table, use, at: range).map { (.literal([$0.widest]), $0.rows) }
            }
            let given = sent(InsertMany.element, table, variable.allowlist)
            let row = RowData(given: given, defaults: defaults(of: table, given: given, at: range))
            return (.variable(name, row: row), nil)
        }
        let elements = value.listValue ?? [value]
        guard elements.count <= Self.literalRowsMax else {
            error(.tooManyRows, at: range, "at most \(Self.literalRowsMax) literal rows are supported")
            return nil
        }
        let rows = elements.compactMap { row($0, table, use, in: file) }
        return rows.count == elements.count ? (.literal(rows), nil) : nil
    }

    /// Resolves the single row of an update or delete.
    private func writtenRow(of field: SelectedField, _ arguments: [String: Value], _ table: Table) -> RowTarget? {
        let target = target(of: field, arguments, table)
        switch target {
        case .first(let filter, _) where filter.isEmpty:
            guard let condition = arguments["first"]?.objectFields?.first(where: { $0.name.value == "where" })
            else { break }
            error(
                .everyRow, at: field.fileRange(condition.value.range), "the filter is empty",
                help: "omit it if any row will do")
        case .variable(let name):
            guard let value = variables[name]?.defaultValue,
                let written = operation.variables.first(where: { $0.name.value == name })?.defaultValue,
                InputInterpreter(schema: schema).filter(
                    value["where"] ?? .null, table, variable: name, path: ["where"]
                ).isEmpty
            else { break }
            error(
                .everyRow, at: FileRange(range: written.range, file: file),
                "the default of \"$\(name)\" has an empty filter", help: "remove the default")
        case .first, .key, nil: break
        }
        return target
    }

    /// Resolves `where` or `all: true`.
    private func manyFilter(
        _ field: SelectedField, _ arguments: [String: Value], _ table: Table
    ) -> (Filter, FilterRequirement)? {
        switch (arguments["where"], arguments["all"]) {
        case (let value?, nil):
            let filter = filter(value, table, in: field.file)
            if filter.isEmpty {
                // An empty filter looks like a condition but would match every row.
                error(
                    .everyRow, at: field.fileRange(value.range), "the filter is empty",
                    help: "write all: true to change every row")
            }
            return (filter, .someTest)
        case (nil, let value?):
            guard value.boolValue == true else {
                error(.everyRow, at: field.fileRange(value.range), "\"all\" must be a literal true")
                return nil
            }
            return (.all([]), .everyRow)
        case (nil, nil):
            error(
                .everyRow, at: field.nameRange, "\"\(field.name.value)\" needs to select rows",
                help: "give where, or all: true for every row")
            return nil
        case (.some, .some):
            error(.everyRow, at: field.nameRange, "\"\(field.name.value)\" takes either where or all")
            return nil
        }
    }
}

extension RowData {
    /// Whether the row cannot be one of many in an `INSERT`, because it has nested rows or updates existing values.
    fileprivate var needsOwnPart: Bool { !children.isEmpty || given.values.contains(where: \.isChange) }

    /// Returns the given columns in table order, so that equal operations have equal text.
    func ordered(_ table: Table) -> [Assignment] {
        table.columns.compactMap { given[$0.field] }
    }
}

extension Filter {
    /// Whether there is no test at all, whatever the variables are.
    package var isEmpty: Bool {
        switch self {
        case .all(let filters), .any(let filters): filters.allSatisfy(\.isEmpty)
        case .not(let filter): filter.isEmpty
        case .column, .referenced, .exists, .count, .aggregate, .variable: false
        }
    }
}
