import JSON
import LiveModel
import Operations
import SchemaModel

/// Renders queries.
///
/// An operation is one statement, whose value is put together as text (`ObjectSQL.swift`). A list concatenates the
/// texts of its objects, because `json_agg` would add spaces and line breaks.
///
///     query Q($id: UUID!) { novel(id: $id) { title remarks_on_novel { text } } }
///
///     SELECT concat('{"novel":', coalesce((SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'),
///         ',"remarks_on_novel":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (
///             SELECT concat('{"text":', …) AS j FROM "remark" t2
///             WHERE t2."novel_id" = t1."id" ORDER BY t2."id" LIMIT 100) r), '[]'),
///         '}') FROM "novel" t1 WHERE t1."id" = $1::uuid), 'null'), '}') AS body
extension TemplateBuilder {
    /// Renders `SELECT … AS body`, the JSON text of the root fields.
    mutating func root(_ fields: [RootField]) -> [Piece] {
        var members: [ObjectMember] = []
        for field in fields {
            let value: JSONText =
                switch field.kind {
                case .lookup(let lookup): .sql(self.lookup(lookup))
                case .list(let list): .sql(self.list(list, below: nil))
                case .native(let native): .sql(self.native(native))
                // A placeholder; see `RemoteResults.merge`.
                case .remote: .constant("null")
                case .typeName(let name): .constant(JSONValue.string(name).text)
                }
            members.append(ObjectMember(key: field.responseKey, inclusion: field.inclusion, value: value))
        }
        return .text("SELECT ") + object(members) + .text(" AS body")
    }

    mutating func named(_ key: String, _ inclusion: Inclusion, _ value: [Piece]) -> [Piece] {
        when(inclusion, value + .text(" AS " + SQLName.quoted(key)))
    }

    private mutating func lookup(_ lookup: Lookup) -> [Piece] {
        let alias = alias()
        return orNull(
            object(lookup.object, alias)
                + .text(" FROM \(ColumnSQL.from(lookup.table)) \(alias)") + row(lookup.target, lookup.table, alias))
    }

    /// Returns the value of a `SELECT` of one text, or the text `null` if there is no row.
    private func orNull(_ select: [Piece]) -> [Piece] {
        .text("coalesce((SELECT ") + select + .text("), 'null')")
    }

    /// Renders `WHERE …` for exactly one row, and for `first` its order and limit.
    mutating func row(_ target: RowTarget, _ table: Table, _ alias: String) -> [Piece] {
        switch bound(target, table) {
        // Unknown until the request.
        case .variable: return .text(" WHERE FALSE")
        case .key(let operands):
            var tests: [[Piece]] = []
            for (column, operand) in zip(table.keyColumns, operands) {
                let compared = ColumnSQL.compared(column, of: alias)
                tests.append(
                    compared.value + .text(" = ") + [value(operand)] + compared.cast(isList: false))
            }
            return .text(" WHERE ") + [.joined(tests, separator: " AND ", empty: [])]
        case .first(let filter, let order):
            return [.wrapped(" WHERE ", predicate(filter, table, alias), "")]
                + self.order(order, table, alias) + .text(" LIMIT 1")
        }
    }

    /// Returns the row selected by a variable of type `Novel_FirstRow`.
    func bound(_ target: RowTarget, _ table: Table) -> RowTarget {
        guard case .variable(let name) = target, let value = bindings?.value(name, path: []) else { return target }
        return InputInterpreter(schema: schema).firstRow(value, table, variable: name)
    }

    // MARK: Objects

    /// Returns the text of the object that shows a row.
    mutating func object(_ object: ObjectSelection, _ alias: String, _ scores: RowScores = RowScores()) -> [Piece] {
        var members: [ObjectMember] = []
        if object.hasEntityID {
            members.append(
                ObjectMember(key: EntityTree.memberName, value: ColumnSQL.entityKey(object.table, alias)))
        }
        // Before the fields, so that the rest of an object need not be searched for them.
        for (number, column) in object.carriedColumns.enumerated() {
            members.append(
                ObjectMember(
                    key: RowsTree.memberName(number), value: ColumnSQL.jsonText(column, of: alias)))
        }
        for field in object.fields {
            members.append(
                ObjectMember(
                    key: field.responseKey, inclusion: field.inclusion,
                    value: value(field.kind, object.table, alias, scores)))
        }
        return self.object(members)
    }

    mutating func value(
        _ kind: ObjectField.Kind, _ table: Table, _ alias: String, _ scores: RowScores = RowScores()
    ) -> JSONText {
        switch kind {
        case .column(let column): ColumnSQL.jsonText(column, of: alias)
        case .typeName(let name): .constant(JSONValue.string(name).text)
        case .reference(let reference, let object): .sql(target(of: reference, in: table, object, alias))
        case .single(let relation, let object): .sql(single(relation, object, alias))
        case .list(let list): .sql(self.list(list, below: alias))
        case .globalID: .of(.text(ColumnSQL.globalID(table, alias)))
        case .metadata(let fields): .sql(metadata(fields, scores))
        }
    }

    private mutating func metadata(_ fields: [MetadataField], _ scores: RowScores) -> [Piece] {
        object(
            fields.map { field in
                let value: JSONText =
                    switch field.kind {
                    case .distance: .of(scores.distance)
                    case .relevance: .of(scores.relevance)
                    case .typeName: .constant(JSONValue.string("_Metadata").text)
                    }
                return ObjectMember(key: field.responseKey, inclusion: field.inclusion, value: value)
            })
    }

    private mutating func target(
        of reference: Reference, in owner: Table, _ object: ObjectSelection, _ outer: String
    ) -> [Piece] {
        let alias = alias()
        return orNull(
            self.object(object, alias) + .text(" FROM \(ColumnSQL.from(object.table)) \(alias) WHERE ")
                + .text(join(reference, columnsOf: owner, to: object.table, target: alias, local: outer)))
    }

    private mutating func single(_ relation: InverseRelation, _ object: ObjectSelection, _ outer: String) -> [Piece] {
        let alias = alias()
        return orNull(
            self.object(object, alias) + .text(" FROM \(ColumnSQL.from(relation.child)) \(alias) WHERE ")
                + .text(join(relation, child: alias, outer: outer) + " LIMIT 1"))
    }

    func nearJoin(_ relation: ManyToManyRelation, join alias: String, outer: String) -> String {
        guard let table = schema.table(ofType: relation.near.targetType) else { return "FALSE" }
        return join(relation.near, columnsOf: relation.join, to: table, target: outer, local: alias)
    }

    func join(_ relation: InverseRelation, child: String, outer: String) -> String {
        guard let table = schema.table(ofType: relation.reference.targetType) else { return "FALSE" }
        return join(relation.reference, columnsOf: relation.child, to: table, target: outer, local: child)
    }

    /// Renders the condition of a join: `t2."novel_id" = t1."id"`.
    func join(
        _ reference: Reference, columnsOf owner: Table, to table: Table, target: String, local: String
    ) -> String {
        zip(reference.localFields, reference.targetFields).compactMap { localField, targetField -> String? in
            guard let left = owner.column(ofField: localField), let right = table.column(ofField: targetField) else {
                return nil
            }
            return "\(ColumnSQL.reference(left, of: local)) = \(ColumnSQL.reference(right, of: target))"
        }.joined(separator: " AND ")
    }

    // MARK: Native SQL

    mutating func native(_ native: NativeSQL) -> [Piece] {
        switch native.result {
        case .rows: collected(.text("SELECT row_to_json(r.*)::text AS j FROM (") + text(of: native) + .text(") r"))
        case .firstRow, .affectedCount:
            orNull(.text("row_to_json(r.*)::text FROM (") + text(of: native) + .text(") r LIMIT 1"))
        }
    }

    mutating func text(of native: NativeSQL) -> [Piece] {
        var pieces: [Piece] = []
        for part in native.parts {
            switch part {
            case .text(let text): pieces.append(.text(text))
            case .operand(let operand): pieces.append(value(operand))
            }
        }
        return pieces
    }
}
