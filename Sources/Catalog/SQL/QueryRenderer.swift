/// Rendering of queries.
///
/// One operation is one statement. Every object is `row_to_json` over a sub-select whose column names are the response
/// keys; a list joins the texts of its objects, because `json_agg` would put blanks and line breaks between them.
/// Response keys cannot clash with the aliases: rows are always named `r.*` or by `tN.column`.
///
///     query Q($id: UUID!) { movie(id: $id) { title reviews_on_movie { text } } }
///
///     SELECT (SELECT row_to_json(r.*) FROM (SELECT t1."title" AS "title",
///         coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t2."text" AS "text"
///             FROM "review" t2 WHERE t2."movie_id" = t1."id" ORDER BY t2."id" LIMIT 100) r), '[]')::json
///             AS "reviews_on_movie"
///         FROM "movie" t1 WHERE t1."id" = $1::uuid) r) AS "movie"
extension TemplateBuilder {
    /// A select list with one column for each root field.
    mutating func root(_ fields: [RootField]) -> [Piece] {
        var items: [[Piece]] = []
        for field in fields {
            let value =
                switch field.kind {
                case .lookup(let lookup): self.lookup(lookup)
                case .list(let list): self.list(list, of: nil)
                case .native(let native): self.native(native)
                case .typeName(let name): [Piece].text(SQLName.literal(name) + "::text")
                }
            items.append(named(field.responseKey, field.inclusion, value))
        }
        return .text("SELECT ") + [.joined(items, separator: ", ", empty: "")]
    }

    private mutating func named(_ key: String, _ inclusion: Inclusion, _ value: [Piece]) -> [Piece] {
        when(inclusion, value + .text(" AS " + SQLName.quoted(key)))
    }

    private mutating func lookup(_ lookup: Lookup) -> [Piece] {
        let alias = alias()
        let selection = select(lookup.object, from: alias)
        return .text("(SELECT row_to_json(r.*) FROM (") + selection
            + .text(" FROM \(SQLName.quoted(lookup.table.name)) \(alias)")
            + row(lookup.target, lookup.table, alias) + .text(") r)")
    }

    /// `WHERE …` for exactly one row, and for `first` its order and limit.
    mutating func row(_ target: RowTarget, _ table: Table, _ alias: String) -> [Piece] {
        switch target {
        case .key(let operands):
            var tests: [[Piece]] = []
            for (column, operand) in zip(table.keyColumns, operands) {
                tests.append(.text(ColumnSQL.reference(column, of: alias) + " = ") + [value(operand)])
            }
            return .text(" WHERE ") + [.joined(tests, separator: " AND ", empty: "")]
        case .first(let filter, let order):
            return [.wrapped(" WHERE ", predicate(filter, table, alias), "")]
                + self.order(order, table, alias) + .text(" LIMIT 1")
        }
    }

    // MARK: Objects

    /// `SELECT …` with a column for each field, without `FROM`.
    private mutating func select(_ object: ObjectSelection, from alias: String) -> [Piece] {
        var items: [[Piece]] = []
        for field in object.fields {
            let value =
                switch field.kind {
                case .column(let column): [Piece].text(ColumnSQL.wireForm(column, of: alias))
                case .typeName(let name): [Piece].text(SQLName.literal(name) + "::text")
                case .reference(let reference, let target): self.target(of: reference, in: object.table, target, alias)
                case .inverse(let relation, let rows): self.inverse(relation, rows, alias)
                case .manyToMany(let relation, let arguments, let target):
                    self.manyToMany(relation, arguments, target, alias)
                }
            items.append(named(field.responseKey, field.inclusion, value))
        }
        return .text("SELECT ") + [.joined(items, separator: ", ", empty: "")]
    }

    private mutating func target(
        of reference: Reference, in owner: Table, _ object: ObjectSelection, _ outer: String
    ) -> [Piece] {
        let alias = alias()
        let selection = select(object, from: alias)
        return .text("(SELECT row_to_json(r.*) FROM (") + selection
            + .text(" FROM \(SQLName.quoted(object.table.name)) \(alias) WHERE ")
            + .text(join(reference, columnsOf: owner, to: object.table, target: alias, local: outer)) + .text(") r)")
    }

    private mutating func inverse(_ relation: InverseRelation, _ rows: RowList, _ outer: String) -> [Piece] {
        guard relation.isSingle, case .rows(let object) = rows.content else {
            return list(rows, of: (relation, outer))
        }
        let alias = alias()
        let selection = select(object, from: alias)
        return .text("(SELECT row_to_json(r.*) FROM (") + selection
            + .text(" FROM \(SQLName.quoted(relation.child.name)) \(alias) WHERE ")
            + .text(join(relation, child: alias, outer: outer)) + .text(" LIMIT 1) r)")
    }

    /// Where, order and limit are about the rows of the join table, the objects about what they lead to.
    private mutating func manyToMany(
        _ relation: ManyToManyRelation, _ arguments: ListArguments, _ object: ObjectSelection, _ outer: String
    ) -> [Piece] {
        let joinAlias = alias()
        let target = alias()
        let selection = select(object, from: target)
        let near = nearJoin(relation, join: joinAlias, outer: outer)
        let far = join(
            relation.far, columnsOf: relation.join, to: relation.target, target: target, local: joinAlias)
        let filter = predicate(arguments.filter, relation.join, joinAlias)
        return collected(
            selection
                + .text(
                    " FROM \(SQLName.quoted(relation.join.name)) \(joinAlias)"
                        + " JOIN \(SQLName.quoted(relation.target.name)) \(target) ON \(far) WHERE \(near)")
                + [.wrapped(" AND ", filter, "")] + order(arguments.order, relation.join, joinAlias)
                + limits(arguments))
    }

    func nearJoin(_ relation: ManyToManyRelation, join alias: String, outer: String) -> String {
        guard let table = schema.table(ofType: relation.near.targetType) else { return "FALSE" }
        return join(relation.near, columnsOf: relation.join, to: table, target: outer, local: alias)
    }

    func join(_ relation: InverseRelation, child: String, outer: String) -> String {
        guard let table = schema.table(ofType: relation.reference.targetType) else { return "FALSE" }
        return join(relation.reference, columnsOf: relation.child, to: table, target: outer, local: child)
    }

    /// `t2."movie_id" = t1."id"`
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

    // MARK: Lists

    /// All rows, or those that refer to the row `parent`.
    private mutating func list(
        _ list: RowList, of parent: (relation: InverseRelation, alias: String)?
    ) -> [Piece] {
        let alias = alias()
        let joined = parent.map { join($0.relation, child: alias, outer: $0.alias) } ?? ""
        let from = [Piece].text(" FROM \(SQLName.quoted(list.table.name)) \(alias)")
        let tests = [.text(joined), predicate(list.arguments.filter, list.table, alias)]
        let condition = Piece.wrapped(" WHERE ", [.joined(tests, separator: " AND ", empty: "")], "")
        switch list.content {
        case .rows(let object):
            return collected(
                select(object, from: alias) + from + [condition] + order(list.arguments.order, list.table, alias)
                    + limits(list.arguments))
        case .aggregates(let fields):
            return collected(aggregates(fields, alias) + from + [condition] + limits(list.arguments))
        }
    }

    private func collected(_ rows: [Piece]) -> [Piece] {
        .text("coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (") + rows
            + .text(") r), '[]')::json")
    }

    private mutating func aggregates(_ fields: [AggregateField], _ alias: String) -> [Piece] {
        var items: [[Piece]] = []
        for field in fields {
            items.append(named(field.responseKey, field.inclusion, .text(Self.aggregate(field.kind, alias))))
        }
        return .text("SELECT ") + [.joined(items, separator: ", ", empty: "count(*) AS \"_count\"")]
    }

    private static func aggregate(_ kind: AggregateField.Kind, _ alias: String) -> String {
        switch kind {
        case .countRows: return "count(*)"
        case .typeName(let name): return SQLName.literal(name) + "::text"
        case .function(let function, let column, let distinct):
            let call = "\(function.rawValue)(\(distinct ? "DISTINCT " : "")\(ColumnSQL.reference(column, of: alias)))"
            return switch function {
            case .count: call
            case .avg: "\(call)::double precision"
            case .sum: column.type.scalar == .int64 ? "\(call)::text" : call
            case .min, .max: ColumnSQL.wireForm(call, type: column.type)
            }
        }
    }

    /// Always ends with the primary key, so that equal data gives equal text.
    mutating func order(_ terms: [OrderTerm], _ table: Table, _ alias: String) -> [Piece] {
        var items: [[Piece]] = []
        for term in terms {
            let column = ColumnSQL.reference(term.column, of: alias)
            switch term.direction {
            case .constant(.ascending): items.append(.text(column))
            case .constant(.descending): items.append(.text(column + " DESC"))
            case .variable(let name):
                let isDescending = Condition.equals(name, SortOrder.descending.rawValue)
                items.append(.text(column) + when([isDescending], .text(" DESC")))
            }
        }
        for column in table.keyColumns where !terms.contains(where: { $0.column.field == column.field }) {
            items.append(.text(ColumnSQL.reference(column, of: alias)))
        }
        return .text(" ORDER BY ") + [.joined(items, separator: ", ", empty: "")]
    }

    private mutating func limits(_ arguments: ListArguments) -> [Piece] {
        var pieces = [Piece].text(" LIMIT ") + bound(arguments.limit)
        switch arguments.offset {
        case .constant(0): break
        case .constant(let count): pieces += .text(" OFFSET \(count)")
        case .operand: pieces += .text(" OFFSET ") + bound(arguments.offset)
        }
        return pieces
    }

    private mutating func bound(_ bound: Bound) -> [Piece] {
        switch bound {
        case .constant(let count): return .text(String(count))
        case .operand(let operand, let whenAbsent):
            // Postgres refuses negative limits; a client's mistake must not cost the others in the same statement.
            let value = [Piece].text("greatest(") + [parameter(operand)] + .text(", 0)")
            return when(operand.presence, value, otherwise: .text(String(whenAbsent)))
        }
    }

    // MARK: Native SQL

    mutating func native(_ native: NativeSQL) -> [Piece] {
        switch native.result {
        case .rows: collected(.text("SELECT r.* FROM (") + text(of: native) + .text(") r"))
        case .firstRow, .affectedCount:
            .text("(SELECT row_to_json(r.*) FROM (") + text(of: native) + .text(") r LIMIT 1)")
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
