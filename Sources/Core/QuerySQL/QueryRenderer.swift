import JSON
import LiveModel
import Operations
import SchemaModel

/// Renders queries.
///
/// An operation is one statement. Every object is `row_to_json` over a sub-select whose column names are the response
/// keys, except the root, which is put together as text: Postgres would parse the lists in it again to make them JSON.
/// A list concatenates the texts of its objects, because `json_agg` would add spaces and line breaks. Response keys
/// cannot conflict with aliases: rows are always referenced as `r.*` or `tN.column`.
///
///     query Q($id: UUID!) { novel(id: $id) { title remarks_on_novel { text } } }
///
///     SELECT '{' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."title" AS "title",
///         coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t2."text" AS "text"
///             FROM "remark" t2 WHERE t2."novel_id" = t1."id" ORDER BY t2."id" LIMIT 100) r), '[]')::json
///             AS "remarks_on_novel"
///         FROM "novel" t1 WHERE t1."id" = $1::uuid) r), 'null') || '}' AS body
extension TemplateBuilder {
    /// Renders `SELECT … AS body`, the JSON text of the root fields.
    mutating func root(_ fields: [RootField]) -> [Piece] {
        var members: [[Piece]] = []
        for field in fields {
            let value =
                switch field.kind {
                case .lookup(let lookup): self.lookup(lookup)
                case .list(let list): self.list(list, below: nil)
                case .native(let native): self.native(native)
                // A placeholder; see `RemoteResults.merge`.
                case .remote: [Piece].text("'null'")
                case .typeName(let name): [Piece].text(SQLName.literal(JSONValue.string(name).text))
                }
            members.append(member(field.responseKey, field.inclusion, value))
        }
        return .text("SELECT ") + Self.object(members) + .text(" AS body")
    }

    /// Returns a member of an object as text: `'"title":' || …`.
    /// - Parameter value: the JSON text of the value, never null.
    mutating func member(_ key: String, _ inclusion: Inclusion, _ value: [Piece]) -> [Piece] {
        when(inclusion, .text(SQLName.literal("\(JSONValue.string(key).text):") + " || ") + value)
    }

    /// Returns the text of an object with the members that are included.
    static func object(_ members: [[Piece]]) -> [Piece] {
        .text("'{' || ") + [.joined(members, separator: " || ',' || ", empty: .text("''"))] + .text(" || '}'")
    }

    mutating func named(_ key: String, _ inclusion: Inclusion, _ value: [Piece]) -> [Piece] {
        when(inclusion, value + .text(" AS " + SQLName.quoted(key)))
    }

    private mutating func lookup(_ lookup: Lookup) -> [Piece] {
        let alias = alias()
        let selection = select(lookup.object, from: alias)
        return .text("coalesce((SELECT row_to_json(r.*)::text FROM (") + selection
            + .text(" FROM \(ColumnSQL.from(lookup.table)) \(alias)")
            + row(lookup.target, lookup.table, alias) + .text(") r), 'null')")
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

    /// Renders `SELECT …` with a column for each field, without `FROM`.
    mutating func select(_ object: ObjectSelection, from alias: String, _ scores: RowScores = RowScores()) -> [Piece] {
        var items: [[Piece]] = []
        if object.hasEntityID {
            items.append(
                .text("\(ColumnSQL.entityKey(object.table, alias)) AS \(SQLName.quoted(EntityTree.memberName))"))
        }
        // Before the fields, so that the rest of an object need not be searched for them.
        for (number, column) in object.carriedColumns.enumerated() {
            let name = SQLName.quoted(RowsTree.memberName(number))
            items.append(.text("\(ColumnSQL.wireForm(column, of: alias)) AS \(name)"))
        }
        for field in object.fields {
            items.append(named(field.responseKey, field.inclusion, value(field.kind, object.table, alias, scores)))
        }
        return .text("SELECT ") + [.joined(items, separator: ", ", empty: [])]
    }

    mutating func value(
        _ kind: ObjectField.Kind, _ table: Table, _ alias: String, _ scores: RowScores
    ) -> [Piece] {
        switch kind {
        case .column(let column): .text(ColumnSQL.wireForm(column, of: alias))
        case .typeName(let name): .text(SQLName.literal(name) + "::text")
        case .reference(let reference, let object): target(of: reference, in: table, object, alias)
        case .single(let relation, let object): single(relation, object, alias)
        case .list(let list): self.list(list, below: alias) + .text("::json")
        case .globalID: .text(ColumnSQL.globalID(table, alias))
        case .metadata(let fields): metadata(fields, scores)
        }
    }

    private mutating func metadata(_ fields: [MetadataField], _ scores: RowScores) -> [Piece] {
        var items: [[Piece]] = []
        for field in fields {
            let value: [Piece] =
                switch field.kind {
                case .distance: scores.distance
                case .relevance: scores.relevance
                case .typeName: .text("'_Metadata'::text")
                }
            items.append(named(field.responseKey, field.inclusion, value))
        }
        return .text("(SELECT row_to_json(r.*) FROM (SELECT ") + [.joined(items, separator: ", ", empty: [])]
            + .text(") r)")
    }

    private mutating func target(
        of reference: Reference, in owner: Table, _ object: ObjectSelection, _ outer: String
    ) -> [Piece] {
        let alias = alias()
        let selection = select(object, from: alias)
        return .text("(SELECT row_to_json(r.*) FROM (") + selection
            + .text(" FROM \(ColumnSQL.from(object.table)) \(alias) WHERE ")
            + .text(join(reference, columnsOf: owner, to: object.table, target: alias, local: outer)) + .text(") r)")
    }

    private mutating func single(_ relation: InverseRelation, _ object: ObjectSelection, _ outer: String) -> [Piece] {
        let alias = alias()
        let selection = select(object, from: alias)
        return .text("(SELECT row_to_json(r.*) FROM (") + selection
            + .text(" FROM \(ColumnSQL.from(relation.child)) \(alias) WHERE ")
            + .text(join(relation, child: alias, outer: outer)) + .text(" LIMIT 1) r)")
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
        case .rows: collected(.text("SELECT r.* FROM (") + text(of: native) + .text(") r"))
        case .firstRow, .affectedCount:
            .text("coalesce((SELECT row_to_json(r.*)::text FROM (") + text(of: native)
                + .text(") r LIMIT 1), 'null')")
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
