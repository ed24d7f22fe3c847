import Operations
import SchemaModel

/// The values of `_metadata`; null unless the list is a search.
struct RowScores {
    var distance = [Piece].text("NULL::double precision")
    var relevance = [Piece].text("NULL::double precision")
}

extension RowList {
    /// Whether the rows come in the order in which they are stored.
    fileprivate var isInStoredOrder: Bool {
        guard arguments.order.isEmpty, !arguments.isPaged, case .constant(false) = arguments.isDistinct,
            case .rows = content
        else { return false }
        return switch source {
        case .table(let table): table.view == nil
        case .inverse(let relation): relation.child.view == nil
        case .manyToMany: true
        case .search, .similarity: false
        }
    }
}

/// Renders lists of all rows, related rows or search results, plain, distinct or grouped, as JSON texts.
extension TemplateBuilder {
    /// - Parameter outer: the alias of the row that a relation starts from.
    mutating func list(_ list: RowList, below outer: String?) -> [Piece] {
        if case .manyToMany(let relation) = list.source { return manyToMany(relation, list, below: outer ?? "") }
        let table = list.source.table
        let alias = alias()
        var joined = ""
        if case .inverse(let relation) = list.source { joined = join(relation, child: alias, outer: outer ?? "") }
        var tests = [.text(joined), predicate(list.arguments.filter, table, alias)]
        var scores = RowScores()
        var first: [[Piece]] = []
        switch list.source {
        case .search(_, let search):
            let query = SearchSQL.query(parser(search.format), value(search.query), table)
            scores.relevance = SearchSQL.relevance(query, table, alias)
            tests.append(.text(SearchDocument.text(table, alias) + " @@ ") + query)
            if let minimum = search.relevanceMin {
                tests.append(when(minimum.presence, scores.relevance + .text(" >= ") + [value(minimum)]))
            }
            first = [scores.relevance + .text(" DESC")]
        case .similarity(_, let similarity):
            let column = ColumnSQL.ordered(similarity.column, of: alias)
            scores.distance = .text("(\(column) \(similarity.method.symbol) ") + [value(similarity.vector)] + .text(")")
            tests.append(.text(column + " IS NOT NULL"))
            if let maximum = similarity.distanceMax {
                tests.append(when(maximum.presence, scores.distance + .text(" <= ") + [value(maximum)]))
            }
            first = [scores.distance]
        case .table, .inverse, .manyToMany: break
        }
        let from = [Piece].text(" FROM \(ColumnSQL.from(table)) \(alias)")
        let condition = Piece.wrapped(" WHERE ", [.joined(tests, separator: " AND ", empty: [])], "")
        switch list.content {
        case .rows(let object):
            if list.isInStoredOrder {
                return collected(
                    .text("SELECT ") + self.object(object, alias) + .text(" AS j")
                        + storedOrder(from + [condition], table, alias, list.arguments)
                        + .text(Self.byStorageOrder(table, alias)))
            }
            let rows = .text("SELECT ") + self.object(object, alias, scores) + .text(" AS j") + from + [condition]
            return objects(rows + order(list.arguments.order, table, alias, default: first), list.arguments)
        case .groups(let fields):
            return grouped(
                groups(fields, table, alias) + from + [condition]
                    + grouping(fields, list.arguments, table, alias, arguments: (table, alias)), list.arguments)
        }
    }

    /// Renders a many-to-many relation: filter, order and limit apply to the join table, the selection to its target.
    private mutating func manyToMany(
        _ relation: ManyToManyRelation, _ list: RowList, below outer: String
    ) -> [Piece] {
        let joinAlias = alias()
        let target = alias()
        let selection: [Piece]
        switch list.content {
        case .rows(let object): selection = self.object(object, target)
        case .groups(let fields): selection = groups(fields, relation.target, target)
        }
        let near = nearJoin(relation, join: joinAlias, outer: outer)
        let far = join(
            relation.far, columnsOf: relation.join, to: relation.target, target: target, local: joinAlias)
        let filter = predicate(list.arguments.filter, relation.join, joinAlias)
        if list.isInStoredOrder {
            let from =
                .text(" FROM \(SQLName.quoted(relation.join.name)) \(joinAlias) WHERE \(near)")
                + [Piece.wrapped(" AND ", filter, "")]
            return collected(
                .text("SELECT ") + selection + .text(" AS j")
                    + storedOrder(from, relation.join, joinAlias, list.arguments)
                    + .text(
                        " JOIN \(SQLName.quoted(relation.target.name)) \(target) ON \(far)"
                            + Self.byStorageOrder(relation.join, joinAlias)))
        }
        let rows =
            [Piece].text(
                " FROM \(SQLName.quoted(relation.join.name)) \(joinAlias)"
                    + " JOIN \(SQLName.quoted(relation.target.name)) \(target) ON \(far) WHERE \(near)")
            + [.wrapped(" AND ", filter, "")]
        switch list.content {
        case .rows:
            let ordered = rows + order(list.arguments.order, relation.join, joinAlias)
            return objects(.text("SELECT ") + selection + .text(" AS j") + ordered, list.arguments)
        case .groups(let fields):
            let grouping = grouping(
                fields, list.arguments, relation.target, target, arguments: (relation.join, joinAlias))
            return grouped(selection + rows + grouping, list.arguments)
        }
    }

    /// Renders the rows of a list that is neither ordered nor paged. They come as they are stored, which is the order
    /// of insertion until rows are changed or deleted, whatever plan the database chooses, alone and in a batch. If
    /// there are more than the list takes, the first by key are taken.
    ///
    /// A view in a table's stead has no places: the unqualified `ctid` is that of the table if it has one, otherwise
    /// that of `~none`, and its rows come by key.
    /// - Parameter rows: ` FROM … WHERE …`
    private mutating func storedOrder(
        _ rows: [Piece], _ table: Table, _ alias: String, _ arguments: ListArguments
    ) -> [Piece] {
        .text(
            " FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) \"~none\" CROSS JOIN LATERAL"
                + " (SELECT \(alias).*, tableoid AS \"~table\", ctid AS \"~place\"")
            + rows + order([], table, alias) + limits(arguments) + .text(") \(alias)")
    }

    /// Returns an ORDER BY of where Postgres stores the rows, then by key. No column of a schema has such names.
    private static func byStorageOrder(_ table: Table, _ alias: String) -> String {
        let key = table.keyColumns.map { ", " + ColumnSQL.reference($0, of: alias) }.joined()
        return " ORDER BY \(alias).\"~table\", \(alias).\"~place\"\(key)"
    }

    /// Renders the name of the function that parses a search's query.
    private mutating func parser(_ format: TextSearch.FormatArgument) -> [Piece] {
        switch format {
        case .constant(let format): return .text(SearchSQL.parser(format))
        case .variable(let name):
            var pieces = [Piece].text(SearchSQL.parser(.query))
            for format in TextSearch.Format.allCases where format != .query {
                pieces = when(
                    [.equals(name, format.rawValue)], .text(SearchSQL.parser(format)), otherwise: pieces)
            }
            return pieces
        }
    }

    // MARK: Collecting

    /// Returns the text of a list.
    /// - Parameter objects: `SELECT … AS j`, the texts of its objects in their order.
    func collected(_ objects: [Piece]) -> [Piece] {
        .text("coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (") + objects + .text(") r), '[]')")
    }

    /// Returns the text of a list, as far as its limits go.
    private mutating func objects(_ objects: [Piece], _ arguments: ListArguments) -> [Piece] {
        let limits = limits(arguments)
        return distinct(arguments, objects, limits, otherwise: collected(objects + limits))
    }

    /// Returns the text of a list of groups.
    private mutating func grouped(_ groups: [Piece], _ arguments: ListArguments) -> [Piece] {
        objects(.text("SELECT row_to_json(g.*)::text AS j FROM (") + groups + .text(") g"), arguments)
    }

    /// Returns the text of a list, of distinct objects if the list asks for these. Objects are equal if their texts
    /// are; the first of equal ones determines their position.
    /// - Parameter objects: `SELECT … AS j`, the texts of all objects in their order.
    private mutating func distinct(
        _ arguments: ListArguments, _ objects: [Piece], _ limits: [Piece], otherwise: [Piece]
    ) -> [Piece] {
        let distinct: [Piece] =
            .text(
                "coalesce((SELECT '[' || string_agg(g.j, ',' ORDER BY g.o) || ']' FROM (SELECT d.j, min(d.o) AS o FROM"
                    + " (SELECT r.j, row_number() OVER () AS o FROM (") + objects
            + .text(") r) d GROUP BY d.j ORDER BY 2") + limits + .text(") g), '[]')")
        return switch arguments.isDistinct {
        case .constant(false): otherwise
        case .constant(true): distinct
        case .variable(let name): when([.isTrue(name)], distinct, otherwise: otherwise)
        }
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
            // Never negative, which Postgres would reject: see `VariableSpec.isCount`.
            return when(operand.presence, [parameter(operand)], otherwise: .text(String(whenAbsent)))
        }
    }

    // MARK: Groups

    private mutating func groups(_ fields: [GroupField], _ table: Table, _ alias: String) -> [Piece] {
        var items: [[Piece]] = []
        for field in fields {
            let value: [Piece] =
                switch field.kind {
                case .aggregate(let aggregate): .text(AggregateSQL.wireForm(aggregate, alias))
                case .plain(let kind): plain(kind, table, alias)
                }
            items.append(named(field.responseKey, field.inclusion, value))
        }
        return .text("SELECT ") + [.joined(items, separator: ", ", empty: .text("count(*) AS \"_count\""))]
    }

    /// Returns a value that rows are grouped by, as `row_to_json` should encode it.
    private mutating func plain(_ kind: ObjectField.Kind, _ table: Table, _ alias: String) -> [Piece] {
        switch kind {
        case .column(let column): .text(ColumnSQL.wireForm(column, of: alias))
        case .typeName(let name): .text(SQLName.literal(name) + "::text")
        case .reference, .single, .list, .globalID, .metadata:
            switch value(kind, table, alias) {
            case .sql(let text): .text("(") + text + .text(")::json")
            case .constant(let text): .text(SQLName.literal(text) + "::json")
            }
        }
    }

    /// Renders ` GROUP BY … HAVING … ORDER BY …`. The grouped columns come last in the order, so that equal data yields
    /// equal text.
    /// - Parameter argumentRows: the table and alias that `having` and `orderBy` refer to.
    private mutating func grouping(
        _ fields: [GroupField], _ arguments: ListArguments, _ table: Table, _ alias: String,
        arguments argumentRows: (table: Table, alias: String)
    ) -> [Piece] {
        var columns: [[Piece]] = []
        var seen: Set<String> = []
        for field in fields {
            guard case .plain(let kind) = field.kind else { continue }
            let grouped: [String]
            switch kind {
            case .column(let column): grouped = [ColumnSQL.ordered(column, of: alias)]
            // Joins compare the columns as they are stored.
            case .reference(let reference, _):
                grouped = reference.localFields.compactMap(table.column).map { ColumnSQL.reference($0, of: alias) }
            case .typeName, .list, .single, .globalID, .metadata: grouped = []
            }
            for column in grouped where !field.inclusion.isAlways || seen.insert(column).inserted {
                columns.append(when(field.inclusion, .text(column)))
            }
        }
        var order: [[Piece]] = []
        for term in arguments.order { order += self.order(term, argumentRows.table, argumentRows.alias) }
        return [
            .wrapped(" GROUP BY ", [.joined(columns, separator: ", ", empty: [])], ""),
            .wrapped(" HAVING ", predicate(arguments.having, argumentRows.table, argumentRows.alias), ""),
            .wrapped(" ORDER BY ", [.joined(order + columns, separator: ", ", empty: [])], ""),
        ]
    }
}
