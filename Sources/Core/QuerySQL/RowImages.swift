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
///     FROM (SELECT t2."id", t2."lot_id" FROM "bid" t2 WHERE t2."id" = $1::uuid FOR NO KEY UPDATE) o
///     WHERE t1."id" = o."id"
///     RETURNING (…), set_config('freshet.rows', coalesce(current_setting('freshet.rows', true), '')
///         || ',["bid",{"lotId":' || … || '},{"lotId":' || … || '},["lotId"]]', true)
///
/// Each change begins with a comma. A savepoint that is rolled back takes its changes with it.
struct RowImages: Sendable {
    let table: Table
    /// The columns whose values the images after hold.
    private let columns: [Column]
    /// The columns whose values the images before hold, all of these where one image is both.
    private let formerColumns: [Column]
    /// The columns that images of many rows hold, so that rows of one group have the same.
    private let comparedColumns: [Column]
    /// The foreign keys that refer to the table.
    private let references: [(child: Table, reference: Reference)]

    /// The rows before an update or a delete.
    static let former = "o"

    /// - Returns: nil if no field is recorded.
    init?(_ table: Table, recorded: RecordedFields, _ schema: Schema) {
        func recordable(_ fields: Set<String>) -> [Column] {
            table.columns.filter { fields.contains($0.field) && $0.isRecordable }
        }
        self.table = table
        references = schema.references(to: table)
        (columns, formerColumns) = (recordable(recorded.all), recordable(recorded.former))
        comparedColumns = recordable(recorded.compared)
        if columns.isEmpty { return nil }
    }

    /// Whether a field outside of these is recorded.
    func hasFields(outside fields: Set<String>) -> Bool { !columns.allSatisfy { fields.contains($0.field) } }

    func hasFields(among fields: Set<String>) -> Bool { columns.contains { fields.contains($0.field) } }

    /// Whether one of these fields is recorded of rows before their change.
    func hasFormerFields(among fields: Set<String>) -> Bool { formerColumns.contains { fields.contains($0.field) } }

    // MARK: SQL

    /// The changes that the transaction has stored so far.
    static let stored = "coalesce(current_setting('freshet.rows', true), '')"

    /// Returns the column of a result that stores changes.
    static func storing(_ changes: [Piece]) -> [Piece] {
        .text("set_config('freshet.rows', \(stored) || ") + changes + .text(", true)")
    }

    /// The part of a change that is recorded.
    enum Detail {
        case all
        /// The fields that many rows have in common.
        case compared
    }

    /// Returns the change of a row as an expression. An image is that of an alias; nil if there is none.
    /// - Parameters:
    ///   - isKept: whether no recorded field is set, so that the row after is the one before.
    ///   - changed: the JSON texts of the fields that are set, separated by commas; nil if all may differ.
    func change(
        before: String?, after: String?, isKept: Bool = false, changed: [Piece]?, _ detail: Detail = .all
    ) -> [Piece] {
        let columns = detail == .all ? columns : comparedColumns
        if isKept { return change("\(image(before, columns)) || ',true,'", changed) }
        let former = detail == .all ? formerColumns : comparedColumns
        return change("\(image(before, former)) || ',' || \(image(after, columns)) || ','", changed)
    }

    private func change(_ images: String, _ changed: [Piece]?) -> [Piece] {
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
        let keys = formerColumns.filter { table.key.contains($0.field) }
        let before =
            "coalesce((SELECT \(image(Self.former, formerColumns)) FROM \(Self.former)),"
            + " CASE WHEN \(after).xmax = 0 THEN 'null' ELSE \(image(after, keys)) END)"
        return change("\(before) || ',' || \(image(after, columns)) || ','", changed)
    }

    /// The writing of many rows by one statement.
    enum Writing {
        case insert, update, delete
    }

    /// Whether images of many rows tell less than those of one.
    func hasDetails(_ writing: Writing) -> Bool {
        columns.count > comparedColumns.count || writing == .delete && !references.isEmpty
    }

    /// Returns the column of a result that stores the changes of many rows, which are its column `c`. Equal ones are
    /// stored once. Of more than an event lists it stores what they have in common, its column `k`, or that any row may
    /// have changed.
    func storingAll(_ writing: Writing, changed: [Piece]?) -> [Piece] {
        let followers = writing == .delete && !references.isEmpty ? " || \(SQLName.literal(anyFollowers))" : ""
        let images =
            switch writing {
            case .insert: "null,{}"
            case .update: "{},{}"
            case .delete: "{},null"
            }
        let any = .text("\(head) || '\(images),") + Self.list(changed) + .text("]'\(followers)")
        func few(_ column: String, _ countMax: Int, _ others: String = "") -> String {
            "WHEN count(DISTINCT \(column)) <= \(countMax) THEN string_agg(DISTINCT \(column), '')\(others) "
        }
        let details = few("c", writing == .delete ? RowChanges.max / (1 + references.count) : RowChanges.max)
        let common = hasDetails(writing) ? few("k", RowChanges.max, followers) : ""
        let changes =
            .text("CASE WHEN count(*) = 0 THEN '' \(details)\(common)ELSE ") + any + .text(" END")
        return Self.storing(changes)
    }

    // MARK: Rows that follow

    /// The number of changes of `deleted` that are not those of the row itself.
    var followerCount: Int { references.count }

    /// Returns the change of a deleted row, and those of the rows that Postgres deletes or changes with it, as an
    /// expression. The values of the row tell which ones they are.
    func deleted(_ alias: String) -> [Piece] {
        let followers = references.map { child, reference in
            let members = zip(reference.localFields, reference.targetFields).compactMap { local, target -> String? in
                guard child.column(ofField: local)?.isRecordable == true,
                    let column = table.column(ofField: target), column.isRecordable
                else { return nil }
                return member(column, of: alias, as: local)
            }
            let (head, tail) = Self.parts(of: child, reference)
            let any = SQLName.literal("\(head){\(tail)")
            if members.isEmpty { return any }
            // A null would take all stored changes with it.
            return "coalesce(\(SQLName.literal(head + "{")) || ltrim(\(members.joined(separator: " || ")), ',') || "
                + "\(SQLName.literal(tail)), \(any))"
        }
        return change(before: alias, after: nil, changed: nil)
            + followers.flatMap { [Piece].text(" || \($0)") }
    }

    /// The changes of any rows that follow deleted ones.
    private var anyFollowers: String {
        references.map { child, reference in
            let (head, tail) = Self.parts(of: child, reference)
            return "\(head){\(tail)"
        }.joined()
    }

    /// The parts of a follower's change before and after the members of its image: `,["bid",` and `},null,null,true]`.
    private static func parts(of child: Table, _ reference: Reference) -> (head: String, tail: String) {
        let fields = JSONValue.array(reference.localFields.map { .string($0) }).text
        let isDeleted = reference.deleteRule == .cascade
        return (",[\(JSONValue.string(child.name).text),", "},\(isDeleted ? "null,null" : "{},\(fields)"),true]")
    }

    /// Returns the columns that the rows before must have.
    func formerColumns(_ alias: String) -> String {
        let keys = table.keyColumns
        let others = formerColumns.filter { column in !keys.contains { $0.field == column.field } }
        return (keys + others).map { ColumnSQL.reference($0, of: alias) }.joined(separator: ", ")
    }

    /// Returns the condition that joins a row with the one before.
    func isFormer(_ alias: String) -> String {
        table.keyColumns.map {
            "\(ColumnSQL.reference($0, of: alias)) = \(ColumnSQL.reference($0, of: Self.former))"
        }.joined(separator: " AND ")
    }

    private func image(_ alias: String?, _ columns: [Column]) -> String {
        guard let alias else { return "'null'" }
        if columns.isEmpty { return "'{}'" }
        let members = columns.map { member($0, of: alias) }
        return "'{' || ltrim(\(members.joined(separator: " || ")), ',') || '}'"
    }

    /// Returns `,"field":value` as an expression.
    /// - Parameter field: nil for that of the column.
    private func member(_ column: Column, of alias: String, as field: String? = nil) -> String {
        let name = SQLName.literal(",\(JSONValue.string(field ?? column.field).text):")
        let text = ColumnSQL.knownText(column, of: alias)
        let member = "\(name) || \(table.key.contains(column.field) ? text : "coalesce(\(text), 'null')")"
        guard column.type.scalar == .string else { return member }
        // A longer text is left out: it is not known.
        let bytes = "octet_length(\(ColumnSQL.reference(column, of: alias)))"
        return "CASE WHEN \(bytes) > \(RowChange.textBytesMax) THEN '' ELSE \(member) END"
    }
}
