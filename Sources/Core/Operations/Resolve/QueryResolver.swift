import GraphQLLanguage
import SchemaModel

/// Resolves selections against the generated API. Source: docs/reference/sql-connect.md §5.4.
extension OperationScope {
    /// Resolves the root fields of a query. Fields that are never included are checked and omitted.
    func queryFields(_ sources: [SelectionSource]) -> [RootField] {
        fields(of: sources, on: "Query").compactMap { field in
            guard let kind = rootKind(field), !field.inclusion.isNever else { return nil }
            return RootField(
                responseKey: field.responseKey, inclusion: field.inclusion, kind: kind, policy: field.policy)
        }
    }

    private func rootKind(_ field: SelectedField) -> RootField.Kind? {
        if field.name.value == "__typename" { return typeName(field, "Query").map(RootField.Kind.typeName) }
        guard let known = api.queries[field.name.value] else {
            unknownField(field, on: "Query", among: api.queries.keys.sorted())
            return nil
        }
        switch known {
        case .lookup(let table):
            let arguments = arguments(of: field, offered: targetArguments(of: table))
            let target = target(of: field, arguments, table)
            guard requireSelection(field, of: table.typeName) else { return nil }
            let object = object(field, table)
            return target.map { .lookup(Lookup(table: table, target: $0, object: object)) }
        case .list(let table): return rowList(field, .table(table)).map(RootField.Kind.list)
        case .search(let table): return search(field, table).map(RootField.Kind.list)
        case .similarity(let table, let column): return similarity(field, table, column).map(RootField.Kind.list)
        case .select(let isFirst):
            refuseSelection(field, of: "JSON of any form")
            return nativeSQL(field, result: isFirst ? .firstRow : .rows).map(RootField.Kind.native)
        case .remote(let definition, let resolver):
            return remote(field, definition, resolver, .query).map(RootField.Kind.remote)
        }
    }

    /// Resolves a field that lists rows, with the arguments of lists.
    func rowList(_ field: SelectedField, _ source: RowSource) -> RowList? {
        let values = arguments(of: field, offered: Self.listArgumentNames)
        return rowList(field, source, values)
    }

    func rowList(_ field: SelectedField, _ source: RowSource, _ values: [String: Value]) -> RowList? {
        let table = source.table
        var arguments = listArguments(values, source.argumentTable, in: field.file)
        guard requireSelection(field, of: "rows of \(table.typeName)") else { return nil }
        let selected = fields(of: field.selections, on: table.typeName)
        let isGrouped = selected.contains { aggregate($0.name.value, table) != nil }
        guard isGrouped else {
            if let value = values["having"] {
                error(
                    .aggregateGrouping, at: field.fileRange(value.range),
                    "\"having\" needs groups, but no aggregate is selected")
            }
            if let value = values["orderBy"] {
                arguments.order = orderTerms(value, source.argumentTable, in: field.file)
            }
            let content = object(selected, table, field)
            if case .constant(false) = arguments.isDistinct {} else { refuseInDistinct(selected) }
            return RowList(source: source, arguments: arguments, content: .rows(content))
        }
        return groups(field, source, selected, values, arguments)
    }

    private func refuseInDistinct(_ selected: [SelectedField]) {
        for field in selected where field.name.value == "_id" || field.name.value == "_metadata" {
            error(
                .distinct, at: field.nameRange,
                "\"\(field.name.value)\" differs in every row, so all rows would be distinct")
        }
    }

    // MARK: Objects

    func object(_ field: SelectedField, _ table: Table) -> ObjectSelection {
        object(fields(of: field.selections, on: table.typeName), table, field)
    }

    /// The most fields of an object, below Postgres' limit of 1,664 columns in a result.
    static let objectFieldsMax = 1_600

    private func object(_ selected: [SelectedField], _ table: Table, _ parent: SelectedField) -> ObjectSelection {
        if selected.count > Self.objectFieldsMax {
            error(.tooManyFields, at: parent.nameRange, "an object can have at most \(Self.objectFieldsMax) fields")
        }
        let fields = selected.compactMap { field -> ObjectField? in
            guard let kind = objectKind(field, table), !field.inclusion.isNever else { return nil }
            return ObjectField(
                responseKey: field.responseKey, inclusion: field.inclusion, kind: kind, policy: field.policy)
        }
        return ObjectSelection(table: table, fields: fields)
    }

    /// Resolves a field of the row itself: a column, a reference or `__typename`. Returns nil, without a diagnostic,
    /// for others.
    func plainKind(_ field: SelectedField, _ table: Table) -> ObjectField.Kind?? {
        let name = field.name.value
        if name == "__typename" { return typeName(field, table.typeName).map(ObjectField.Kind.typeName) }
        if let column = table.column(ofField: name) {
            refuseArguments(field)
            refuseSelection(field, of: InputType(column.type).text)
            return ObjectField.Kind.column(column)
        }
        guard let reference = table.reference(ofField: name) else { return nil }
        refuseArguments(field)
        guard let target = schema.table(ofType: reference.targetType), requireSelection(field, of: target.typeName)
        else { return .some(nil) }
        return ObjectField.Kind.reference(reference, object(field, target))
    }

    private func objectKind(_ field: SelectedField, _ table: Table) -> ObjectField.Kind? {
        let name = field.name.value
        if let plain = plainKind(field, table) { return plain }
        if name == "_metadata" { return metadata(field) }
        if name == "_id", !table.key.isEmpty {
            refuseArguments(field)
            refuseSelection(field, of: "ID!")
            return .globalID
        }
        let inverses = schema.inverseRelations(ofType: table.typeName)
        if let relation = inverses.first(where: { $0.name == name }) {
            guard relation.isSingle else { return rowList(field, .inverse(relation)).map(ObjectField.Kind.list) }
            refuseArguments(field)
            guard requireSelection(field, of: relation.child.typeName) else { return nil }
            return .single(relation, object(field, relation.child))
        }
        let joins = schema.manyToManyRelations(ofType: table.typeName)
        if let relation = joins.first(where: { $0.name == name }) {
            return rowList(field, .manyToMany(relation)).map(ObjectField.Kind.list)
        }
        if aggregate(name, table) != nil {
            error(
                .aggregatePlace, at: field.nameRange, "\"\(name)\" aggregates a list, but this is a single row",
                help: "select it in a list: \(table.plural) { \(name) }")
            return nil
        }
        unknownField(
            field, on: table.typeName,
            among: table.columns.map(\.field) + table.references.map(\.field) + inverses.map(\.name)
                + joins.map(\.name) + ["_metadata"] + (table.key.isEmpty ? [] : ["_id"]))
        return nil
    }

    /// Resolves `_metadata { distance relevance }`.
    private func metadata(_ field: SelectedField) -> ObjectField.Kind? {
        refuseArguments(field)
        guard requireSelection(field, of: "_Metadata") else { return nil }
        let items = fields(of: field.selections, on: "_Metadata").compactMap { item -> MetadataField? in
            guard let kind = MetadataField.Kind(rawValue: item.name.value) else {
                unknownField(item, on: "_Metadata", among: MetadataField.Kind.allCases.map(\.rawValue))
                return nil
            }
            refuseArguments(item)
            refuseSelection(item, of: "Float")
            return item.inclusion.isNever
                ? nil : MetadataField(responseKey: item.responseKey, inclusion: item.inclusion, kind: kind)
        }
        return .metadata(items)
    }

    func typeName(_ field: SelectedField, _ name: String) -> String? {
        refuseArguments(field)
        refuseSelection(field, of: "String!")
        return name
    }

    private static let notOffered: [String: String] = [
        "__schema": "introspection is not supported in a stored operation",
        "__type": "introspection is not supported in a stored operation",
    ]

    func unknownField(_ field: SelectedField, on typeName: String, among names: [String]) {
        let name = field.name.value
        var help = Self.notOffered[name] ?? DidYouMean.help(name, among: names)
        if name.hasSuffix("_search"), typeName == "Query" {
            help = "it exists for types with a @searchable field"
        } else if name.hasSuffix("_similarity"), typeName == "Query" {
            help = "it exists for each Vector field of a type: novels_<field>_similarity"
        }
        error(
            .unknownField, at: field.nameRange, "\"\(typeName)\" has no field \"\(name)\"", help: help, unknown: name)
    }
}
