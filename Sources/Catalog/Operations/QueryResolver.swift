internal import GraphQLLanguage

/// Resolution of selections against the generated API. Source: SQL Connect language §5.4.
extension OperationScope {
    /// The root fields of a query; those that never take part are checked and left out.
    func queryFields(_ sources: [SelectionSource]) -> [RootField] {
        fields(of: sources, on: "Query").compactMap { field in
            guard let kind = rootKind(field), !field.inclusion.isNever else { return nil }
            return RootField(responseKey: field.responseKey, inclusion: field.inclusion, kind: kind)
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
        case .list(let table):
            return rowList(field, table, typeName: table.typeName).map(RootField.Kind.list)
        case .select(let isFirst):
            refuseSelection(field, of: "rows of any form")
            return nativeSQL(field, result: isFirst ? .firstRow : .rows).map(RootField.Kind.native)
        }
    }

    private func rowList(_ field: SelectedField, _ table: Table, typeName: String) -> RowList? {
        let values = arguments(of: field, offered: Self.listArgumentNames)
        let arguments = listArguments(values, table, in: field.file)
        guard requireSelection(field, of: "rows of \(typeName)") else { return nil }
        let selected = fields(of: field.selections, on: typeName)
        let aggregates = selected.filter { aggregate($0, table) != nil }
        guard !aggregates.isEmpty else {
            return RowList(table: table, arguments: arguments, content: .rows(object(selected, table, field)))
        }
        for other in selected where other.name.value != "__typename" && aggregate(other, table) == nil {
            error(
                "aggregate-grouping", at: other.place,
                "\"\(other.name.value)\" cannot stand beside \"\(aggregates[0].name.value)\"",
                help: "grouping by plain fields is not offered yet; ask for them in a field of their own")
        }
        if let order = values["orderBy"] {
            error("aggregate-grouping", at: field.place(order.range), "an aggregate has no order")
        }
        let content = selected.compactMap { item -> AggregateField? in
            guard let kind = aggregateKind(item, table), !item.inclusion.isNever else { return nil }
            return AggregateField(responseKey: item.responseKey, inclusion: item.inclusion, kind: kind)
        }
        return RowList(table: table, arguments: arguments, content: .aggregates(content))
    }

    // MARK: Objects

    func object(_ field: SelectedField, _ table: Table) -> ObjectSelection {
        object(fields(of: field.selections, on: table.typeName), table, field)
    }

    /// Postgres allows 1,664 columns in a result.
    static let objectFieldsMax = 1_600

    private func object(_ selected: [SelectedField], _ table: Table, _ parent: SelectedField) -> ObjectSelection {
        if selected.count > Self.objectFieldsMax {
            error("too-many-fields", at: parent.place, "an object may have at most \(Self.objectFieldsMax) fields")
        }
        let fields = selected.compactMap { field -> ObjectField? in
            guard let kind = objectKind(field, table), !field.inclusion.isNever else { return nil }
            return ObjectField(responseKey: field.responseKey, inclusion: field.inclusion, kind: kind)
        }
        return ObjectSelection(table: table, fields: fields)
    }

    private func objectKind(_ field: SelectedField, _ table: Table) -> ObjectField.Kind? {
        let name = field.name.value
        if name == "__typename" { return typeName(field, table.typeName).map(ObjectField.Kind.typeName) }
        if let column = table.column(ofField: name) {
            refuseArguments(field)
            refuseSelection(field, of: InputType(column.type).text)
            return .column(column)
        }
        if let reference = table.reference(ofField: name) {
            refuseArguments(field)
            guard let target = schema.table(ofType: reference.targetType),
                requireSelection(field, of: target.typeName)
            else { return nil }
            return .reference(reference, object(field, target))
        }
        let inverses = schema.inverseRelations(ofType: table.typeName)
        if let relation = inverses.first(where: { $0.name == name }) {
            guard relation.isSingle else {
                return rowList(field, relation.child, typeName: relation.child.typeName).map { .inverse(relation, $0) }
            }
            refuseArguments(field)
            guard requireSelection(field, of: relation.child.typeName) else { return nil }
            let rows = RowList(
                table: relation.child, arguments: ListArguments(), content: .rows(object(field, relation.child)))
            return .inverse(relation, rows)
        }
        let joins = schema.manyToManyRelations(ofType: table.typeName)
        if let relation = joins.first(where: { $0.name == name }) {
            let values = arguments(of: field, offered: Self.listArgumentNames)
            let arguments = listArguments(values, relation.join, in: field.file)
            guard requireSelection(field, of: "rows of \(relation.target.typeName)") else { return nil }
            return .manyToMany(relation, arguments, object(field, relation.target))
        }
        if aggregate(field, table) != nil {
            error(
                "aggregate-place", at: field.place, "\"\(name)\" counts rows of a list, here is a single row",
                help: "ask for it in a list: \(table.plural) { \(name) }")
            return nil
        }
        unknownField(
            field, on: table.typeName,
            among: table.columns.map(\.field) + table.references.map(\.field) + inverses.map(\.name)
                + joins.map(\.name))
        return nil
    }

    func typeName(_ field: SelectedField, _ name: String) -> String? {
        refuseArguments(field)
        refuseSelection(field, of: "String!")
        return name
    }

    private static let notOfferedYet: [String: String] = [
        "_metadata": "_metadata is not offered yet", "_id": "_id is not offered yet",
        "__schema": "introspection is not part of a stored operation",
        "__type": "introspection is not part of a stored operation",
    ]

    func unknownField(_ field: SelectedField, on typeName: String, among names: [String]) {
        let name = field.name.value
        var help = Self.notOfferedYet[name] ?? DidYouMean.help(name, among: names)
        if name.hasSuffix("_search") || name.hasSuffix("_similarity") {
            help = "full-text and vector search are not offered yet"
        }
        error("unknown-field", at: field.place, "\"\(typeName)\" has no field \"\(name)\"", help: help)
    }

    // MARK: Aggregates

    private func aggregate(_ field: SelectedField, _ table: Table) -> (AggregateField.Function, Column?)? {
        let name = field.name.value
        if name == "_count" { return (.count, nil) }
        guard table.column(ofField: name) == nil else { return nil }
        for function in AggregateField.Function.allCases where name.hasSuffix("_\(function.rawValue)") {
            if let column = table.column(ofField: String(name.dropLast(function.rawValue.count + 1))) {
                return (function, column)
            }
        }
        return nil
    }

    private func aggregateKind(_ field: SelectedField, _ table: Table) -> AggregateField.Kind? {
        if field.name.value == "__typename" {
            return typeName(field, table.typeName).map(AggregateField.Kind.typeName)
        }
        guard let (function, column) = aggregate(field, table) else { return nil }
        refuseSelection(field, of: "a number")
        guard let column else {
            refuseArguments(field)
            return .countRows
        }
        guard Self.isOffered(function, column.type) else {
            error(
                "aggregate-type", at: field.place,
                "there is no \(function.rawValue) of \"\(column.field)\", a column of type \(InputType(column.type).text)"
            )
            return nil
        }
        let takesDistinct = [.count, .sum, .avg].contains(function)
        let arguments = arguments(of: field, offered: takesDistinct ? ["distinct"] : [])
        var isDistinct = false
        if let value = arguments["distinct"] {
            if let flag = value.boolValue {
                isDistinct = flag
            } else {
                error("value-type", at: field.place(value.range), "distinct is true or false, written out")
            }
        }
        return .function(function, column, distinct: isDistinct)
    }

    private static func isOffered(_ function: AggregateField.Function, _ type: ColumnType) -> Bool {
        switch (function, type.scalar) {
        case (.count, _): true
        case (_, _) where type.isList: false
        case (.sum, .int), (.sum, .int64), (.sum, .float), (.avg, .int), (.avg, .int64), (.avg, .float): true
        case (.min, .uuid), (.max, .uuid), (.min, .boolean), (.max, .boolean), (.min, .any), (.max, .any): false
        case (.min, _), (.max, _): true
        default: false
        }
    }
}
