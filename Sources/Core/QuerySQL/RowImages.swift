import JSON
import LiveModel
import Operations
import SchemaModel

/// The images of changed rows that a statement itself adds to a setting of its transaction, for what the request does
/// not determine: the values that an update replaces or leaves, the rows that a filter selects, defaults of columns.
///
/// The insert of the outbox row appends the setting to the event, so images cost no round trip:
///
///     UPDATE "bid" t1 SET "lot_id" = $2::uuid
///     FROM (SELECT t2."id", t2."lot_id" FROM "bid" t2 WHERE t2."id" = $1::uuid FOR UPDATE) o WHERE t1."id" = o."id"
///     RETURNING (…), set_config('freshet.rows', coalesce(current_setting('freshet.rows', true), '')
///         || ',["bid",{"lotId":' || … || '},{"lotId":' || … || '},["lotId"]]', true)
///
/// Each change begins with a comma. A savepoint that is rolled back takes its changes with it.
struct RowImages: Sendable {
    let table: Table
    /// The columns whose values the images hold.
    private let columns: [Column]

    /// The rows before an update or a delete.
    static let former = "o"

    /// - Returns: nil if no recorded field can be compared.
    init?(_ table: Table, recorded: Set<String>) {
        columns = table.columns.filter { recorded.contains($0.field) && $0.isComparable }
        self.table = table
        if columns.isEmpty { return nil }
    }

    private init(_ table: Table, _ columns: [Column]) {
        self.table = table
        self.columns = columns
    }

    /// Whether a field outside of these is recorded.
    func hasFields(outside fields: Set<String>) -> Bool { !columns.allSatisfy { fields.contains($0.field) } }

    func hasFields(among fields: Set<String>) -> Bool { columns.contains { fields.contains($0.field) } }

    // MARK: SQL

    /// The changes that the transaction has stored so far.
    static let stored = "coalesce(current_setting('freshet.rows', true), '')"

    /// Returns the column of a result that stores changes.
    static func storing(_ changes: [Piece]) -> [Piece] {
        .text("set_config('freshet.rows', \(stored) || ") + changes + .text(", true)")
    }

    /// Returns the change of a row as an expression. An image is that of an alias; nil if there is none.
    /// - Parameter changed: the JSON texts of the fields that are set, separated by commas; nil if all may differ.
    func change(before: String?, after: String?, changed: [Piece]?) -> [Piece] {
        change(beforeText: image(before), after: after, isSame: before == after, changed: changed)
    }

    /// - Parameter isSame: whether both images are the same.
    private func change(beforeText: String, after: String?, isSame: Bool = false, changed: [Piece]?) -> [Piece] {
        let images = isSame ? "\(beforeText) || ',true,'" : "\(beforeText) || ',' || \(image(after)) || ','"
        // A null would take all stored changes with it.
        let anything = SQLName.literal(",\(RowChange.anything(in: table.name).text)")
        return .text("coalesce(\(head) || \(images) || '") + Self.list(changed) + .text("]', \(anything))")
    }

    /// The beginning of a change: `',["bid",'`.
    private var head: String { SQLName.literal(",[\(JSONValue.string(table.name).text),") }

    private static func list(_ changed: [Piece]?) -> [Piece] {
        changed.map { .text("[") + $0 + .text("]") } ?? .text("null")
    }

    /// Returns the change of a row that an upsert inserted or found. It was found if it stands in `former`. It was also
    /// found if its `xmax` is set, by the lock of the upsert, because another transaction inserted it meanwhile; then
    /// only its key is known.
    func upserted(after: String, changed: [Piece]) -> [Piece] {
        let keys = RowImages(table, columns.filter { table.key.contains($0.field) })
        let before =
            "coalesce((SELECT \(image(Self.former)) FROM \(Self.former)),"
            + " CASE WHEN \(after).xmax = 0 THEN 'null' ELSE \(keys.image(after)) END)"
        return change(beforeText: before, after: after, changed: changed)
    }

    /// Returns the columns of a result that count the changed rows and store their changes, which are its column `c`.
    /// Equal ones are stored once; of more than an event lists it stores that any row may have changed.
    func storingAll(isDelete: Bool, changed: [Piece]?) -> [Piece] {
        let any = .text("\(head) || '{},\(isDelete ? "null" : "{}"),") + Self.list(changed) + .text("]'")
        let changes =
            .text("coalesce(CASE WHEN count(DISTINCT c) > \(RowChanges.max) THEN ") + any
            + .text(" ELSE string_agg(DISTINCT c, '') END, '')")
        return .text("count(*)::text, ") + Self.storing(changes)
    }

    /// Returns the columns that the rows before must have.
    func formerColumns(_ alias: String) -> String {
        let keys = table.keyColumns
        let others = columns.filter { column in !keys.contains { $0.field == column.field } }
        return (keys + others).map { ColumnSQL.reference($0, of: alias) }.joined(separator: ", ")
    }

    /// Returns the condition that joins a row with the one before.
    func isFormer(_ alias: String) -> String {
        table.keyColumns.map {
            "\(ColumnSQL.reference($0, of: alias)) = \(ColumnSQL.reference($0, of: Self.former))"
        }.joined(separator: " AND ")
    }

    private func image(_ alias: String?) -> String {
        guard let alias else { return "'null'" }
        if columns.isEmpty { return "'{}'" }
        let members = columns.map { member($0, of: alias) }
        return "'{' || ltrim(\(members.joined(separator: " || ")), ',') || '}'"
    }

    /// Returns `,"field":value` as an expression.
    private func member(_ column: Column, of alias: String) -> String {
        let value = ColumnSQL.wireForm(column, of: alias)
        let name = ",\(JSONValue.string(column.field).text):"
        let isKey = table.key.contains(column.field)
        func given(_ text: String) -> String { isKey ? text : "coalesce(\(text), 'null')" }
        switch column.type.scalar {
        case .string:
            // A longer text is left out: it is not known.
            let bytes = "octet_length(\(ColumnSQL.reference(column, of: alias)))"
            let member = "\(SQLName.literal(name)) || \(given("to_json(\(value))::text"))"
            return "CASE WHEN \(bytes) > \(RowChange.textBytesMax) THEN '' ELSE \(member) END"
        case .int, .boolean: return "\(SQLName.literal(name)) || \(given("\(value)::text"))"
        // Digits, hexadecimal digits and names need no escapes.
        case .int64, .uuid, .enumeration:
            guard isKey else { return "\(SQLName.literal(name)) || \(given("'\"' || \(value)::text || '\"'"))" }
            return "\(SQLName.literal(name + "\"")) || \(value)::text || '\"'"
        case .float, .date, .timestamp, .any, .vector: preconditionFailure("\(column.field) cannot be compared")
        }
    }
}
