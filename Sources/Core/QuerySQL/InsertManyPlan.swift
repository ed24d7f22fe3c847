import JSON
import LiveModel
import Operations
import SchemaModel

/// The plan of `novel_insertMany` or `novel_upsertMany`.
///
/// Rows with the same columns are inserted together from arrays, so that the text depends on the sets of columns but
/// not on the number of rows. All groups are parts of one statement. The rows' positions are passed along, so that keys
/// are returned in the order of the rows:
///
///     WITH w1 AS (INSERT INTO "novel" AS t ("id", "title") SELECT u.c1, u.c2
///         FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS u(c1, c2, o) ORDER BY u.o RETURNING … AS j)
///     SELECT coalesce('[' || string_agg(x.j, ',' ORDER BY x.o) || ']', '[]') FROM (
///         SELECT j, ($3::bigint[])[row_number() OVER ()] AS o FROM w1) x
///
/// Where rows leave recorded columns to the database, the statement stores the changes of all rows (`RowImages`).
struct InsertManyPlan: Sendable {
    let insert: InsertMany
    let schema: Schema
    private let masks: KeyMasks
    let cache = ShapeCache<Shape, SQL>()

    init(_ insert: InsertMany, _ schema: Schema) {
        self.insert = insert
        self.schema = schema
        masks = KeyMasks(insert.table)
    }

    /// The columns of the table that a group of rows sets.
    struct ColumnSet: Hashable, Sendable {
        /// Given, or filled with a default by the node.
        var present: [Int] = []
        /// Given: an upsert replaces these in an existing row.
        var given: [Int] = []
    }

    struct Shape: Hashable, Sendable {
        let sets: [ColumnSet]
        /// The recorded fields if the statement stores the changes of its rows.
        let stored: RecordedFields?
    }

    struct SQL: Sendable {
        let text: String
        /// The place of the `SELECT` after the common table expressions, in bytes; nil if there are none.
        let resultOffset: Int?
    }

    struct Outcome {
        let sql: SQL
        let parameters: [String?]
        let keys: [EntityKey]
        let rows: RowChanges?
        /// Whether the statement stores the changes of the rows, which `rows` then leaves out.
        let storesImages: Bool
    }

    private struct Group {
        let columns: ColumnSet
        /// The values of each present column, as texts.
        var texts: [[String?]]
        var ordinals: [String] = []
    }

    func run(_ invocation: Invocation) throws(RequestError) -> Outcome {
        var groups: [Group] = []
        var positions: [ColumnSet: Int] = [:]
        var keys: [EntityKey] = []
        var rows = invocation.recordsRows ? RowChanges() : nil
        var ordinal = 0
        var shared: [Int: JSONValue] = [:]
        for (row, invocation) in self.rows(invocation) {
            ordinal += 1
            let values = try values(of: row, invocation, &shared)
            guard !values.isEmpty else {
                throw RequestError(.invalidVariable, "row \(ordinal) of \(insert.table.typeName) sets no column")
            }
            let columns = ColumnSet(
                present: values.map(\.column), given: values.compactMap { $0.isGiven ? $0.column : nil })
            let position: Int
            if let known = positions[columns] {
                position = known
            } else {
                position = groups.count
                positions[columns] = position
                groups.append(Group(columns: columns, texts: Array(repeating: [], count: values.count)))
            }
            groups[position].ordinals.append(String(ordinal))
            for (index, value) in values.enumerated() { groups[position].texts[index].append(value.text) }
            if let key = key(values) { keys.append(key) }
            rows?.append(change(values))
        }
        if insert.isUpsert {
            let fields = Set(insert.table.columns.map(\.field)).subtracting(insert.table.key)
            for (table, fields) in schema.followers(of: insert.table, fields) {
                rows?.append(RowChange(table: table.name, before: [:], after: [:], changed: fields))
            }
        }
        let shape = Shape(sets: groups.map(\.columns), stored: rows.flatMap { _ in stored(groups, invocation) })
        if shape.stored != nil { rows = RowChanges() }
        let sql = cache.statement(for: shape) { self.sql(shape) }
        let parameters = groups.flatMap { group in
            group.texts.map { SQLText.arrayLiteral($0) } + [SQLText.arrayLiteral(group.ordinals)]
        }
        return Outcome(
            sql: sql, parameters: parameters, keys: keys, rows: rows, storesImages: shape.stored != nil)
    }

    /// Returns the recorded fields if new rows leave some of them to the database. An upsert would have to read the
    /// rows that it finds.
    private func stored(_ groups: [Group], _ invocation: Invocation) -> RecordedFields? {
        guard !insert.isUpsert, let recorded = invocation.recordedFields?[insert.table.name],
            let images = RowImages(insert.table, recorded: recorded, schema)
        else { return nil }
        let leavesSome = groups.contains { group in
            images.hasFields(outside: Set(group.columns.present.map { insert.table.columns[$0].field }))
        }
        return leavesSome ? recorded : nil
    }

    // MARK: Values

    private func rows(_ invocation: Invocation) -> [(RowData, Invocation)] {
        switch insert.rows {
        case .literal(let rows): return rows.map { ($0, invocation) }
        case .variable(let name, let row):
            let elements = invocation.variables.value(name, path: [])?.arrayValue ?? []
            return elements.map { element in
                var object = invocation.variables.object
                object[InsertMany.element] = element
                return (row, invocation.with(object))
            }
        }
    }

    private struct ColumnValue {
        let column: Int
        let value: JSONValue
        let text: String?
        let isGiven: Bool
    }

    /// - Parameter shared: the defaults that are the same for all rows of the call, by column.
    private func values(
        of row: RowData, _ invocation: Invocation, _ shared: inout [Int: JSONValue]
    ) throws(RequestError) -> [ColumnValue] {
        var values: [ColumnValue] = []
        for (index, column) in insert.table.columns.enumerated() {
            var operand = row.defaults[column.field]
            var isGiven = false
            if let assignment = row.given[column.field], case .set(let given) = assignment.value,
                assignment.required.allSatisfy(invocation.variables.satisfies)
            {
                operand = given
                isGiven = true
            }
            guard let operand else { continue }
            let value: JSONValue
            if !isGiven, let known = shared[index] {
                value = known
            } else {
                value = try operand.value(in: invocation)
                if !isGiven, !operand.isFresh { shared[index] = value }
            }
            values.append(
                ColumnValue(column: index, value: value, text: operand.text(of: value), isGiven: isGiven))
        }
        return values
    }

    private func key(_ values: [ColumnValue]) -> EntityKey? {
        var parts: [JSONValue] = []
        for field in insert.table.key {
            guard let part = values.first(where: { insert.table.columns[$0.column].field == field })?.value,
                !part.isNull
            else { return nil }
            parts.append(part)
        }
        return EntityKey(table: insert.table.name, values: masks.masked(parts))
    }

    private func change(_ values: [ColumnValue]) -> RowChange {
        let table = insert.table
        var (key, row) = (JSONObject(), JSONObject())
        for value in values {
            let column = table.columns[value.column]
            guard column.isRecordable, RowChange.tells(value.value) else { continue }
            let isKey = table.key.contains(column.field)
            if isKey { key[column.field] = value.value }
            // An upsert leaves what is not given as it was.
            if value.isGiven || isKey || !insert.isUpsert { row[column.field] = value.value }
        }
        return RowChange(table: table.name, before: insert.isUpsert ? key : nil, after: row)
    }

    // MARK: Text

    private func sql(_ shape: Shape) -> SQL {
        if shape.sets.isEmpty { return SQL(text: "SELECT '[]'::text", resultOffset: nil) }
        let images = shape.stored.flatMap { RowImages(insert.table, recorded: $0, schema) }
        let common = images?.hasDetails(.insert) == true ? ", k" : ""
        var parts: [String] = []
        var results: [String] = []
        var count = 0
        for (number, set) in shape.sets.enumerated() {
            let name = "w\(number + 1)"
            parts.append("\(name) AS (\(insertSQL(set, firstParameter: count + 1, images)))")
            count += set.present.count + 1
            let row = images == nil ? "j" : "j, c\(common)"
            results.append("SELECT \(row), ($\(count)::bigint[])[row_number() OVER ()] AS o FROM \(name)")
        }
        let expressions = "WITH " + parts.joined(separator: ", ")
        let result =
            " SELECT coalesce('[' || string_agg(x.j, ',' ORDER BY x.o) || ']', '[]')"
            + (images.map { ", " + text($0.storingAll(.insert, changed: nil)) } ?? "") + " FROM ("
            + results.joined(separator: " UNION ALL ") + ") x"
        return SQL(text: expressions + result, resultOffset: expressions.utf8.count)
    }

    private func insertSQL(_ set: ColumnSet, firstParameter: Int, _ images: RowImages?) -> String {
        let table = insert.table
        let columns = set.present.map { table.columns[$0] }
        let names = columns.map { SQLName.quoted($0.name) }
        let types = columns.map { schema.sqlType(of: $0.type) }
        // An array of arrays must be rectangular, so lists are passed as texts of array literals.
        let arrays = types.enumerated().map {
            "$\(firstParameter + $0.offset)::\($0.element.isList ? "text" : $0.element.name)[]"
        }
        let values = types.enumerated().map { index, type in
            let value = "u.c\(index + 1)" + (type.isList ? "::\(type.text)" : "")
            return ColumnSQL.stored(value, columns[index])
        }
        let aliases = (1...columns.count).map { "c\($0)" }
        var sql = "INSERT INTO \(SQLName.quoted(table.name)) AS t (\(names.joined(separator: ", "))) SELECT "
        sql += values.joined(separator: ", ")
        sql += " FROM unnest(\(arrays.joined(separator: ", "))) WITH ORDINALITY AS u("
        sql += (aliases + ["o"]).joined(separator: ", ") + ") ORDER BY u.o"
        if insert.isUpsert {
            let replaced = set.given.map { table.columns[$0] }.filter { !table.key.contains($0.field) }
                .map { SQLName.quoted($0.name) }.map { "\($0) = EXCLUDED.\($0)" }
            sql += TemplateBuilder.conflict(table)
            sql +=
                replaced.isEmpty
                ? TemplateBuilder.untouched(table, "EXCLUDED") : replaced.joined(separator: ", ")
        }
        var builder = TemplateBuilder(schema: schema)
        sql += " RETURNING \(text(builder.returned(insert.returning, "t"), &builder)) AS j"
        guard let images else { return sql }
        let change = text(images.change(before: nil, after: "t", changed: nil), &builder)
        sql += ", \(change) AS c"
        if images.hasDetails(.insert) {
            let common = images.change(before: nil, after: "t", changed: nil, .compared)
            sql += ", \(text(common, &builder)) AS k"
        }
        return sql
    }

    /// Renders pieces without operands.
    private func text(_ pieces: [Piece], _ builder: inout TemplateBuilder) -> String {
        let template = builder.finish(pieces)
        return template.render(ShapeKey(count: template.conditions.count)) { _, _ in "NULL" }.text
    }

    private func text(_ pieces: [Piece]) -> String {
        var builder = TemplateBuilder(schema: schema)
        return text(pieces, &builder)
    }
}
