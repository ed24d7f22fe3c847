import JSON
import LiveModel
import Operations
import SchemaModel

/// A JSON value as SQL: an expression of type text, which is never null, between two texts.
struct JSONText {
    var before = ""
    /// Empty for a constant, which `before` is.
    var sql: [Piece] = []
    var after = ""

    static func constant(_ text: String) -> JSONText { JSONText(before: text) }

    static func sql(_ sql: [Piece]) -> JSONText { JSONText(sql: sql) }

    /// The text of an expression of any type, `null` for a null.
    static func of(_ sql: [Piece]) -> JSONText {
        .sql(.text("coalesce(to_json(") + sql + .text(")::text, 'null')"))
    }
}

/// A member of an object. Objects are put together as text, in half of the time that `row_to_json` takes, and the lists
/// in them are not parsed again to become JSON. `concat` copies each value once, however large the others are:
///
///     concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), ',"pages":', …, '}')
struct ObjectMember {
    let key: String
    /// Nil for a member that no request leaves out.
    var inclusion: Inclusion?
    let value: JSONText

    var isAlways: Bool { inclusion?.isAlways ?? true }
}

extension TemplateBuilder {
    /// The most members in one call of `concat`, to which Postgres passes at most 100 arguments.
    private static let membersMax = 30

    /// Returns the text of an object as an expression.
    mutating func object(_ members: [ObjectMember]) -> [Piece] {
        guard members.first?.isAlways ?? true else { return optionalObject(members) }
        var pieces: [Piece] = []
        var text = "{"
        func argument(_ text: String) -> [Piece] { text.isEmpty ? [] : .text(SQLName.literal(text) + ", ") }
        for (number, member) in members.enumerated() {
            if number > 0, number.isMultiple(of: Self.membersMax) {
                pieces += .text("concat(") + argument(text)
                text = ""
            }
            let head = (number > 0 ? "," : "") + Self.head(of: member)
            if member.isAlways {
                text += head
                if member.value.sql.isEmpty { continue }
                pieces += argument(text) + member.value.sql + .text(", ")
                text = member.value.after
            } else {
                pieces += argument(text)
                text = ""
                pieces += included(member, Self.arguments(head, member.value) + .text(", "))
            }
        }
        let depth = max(members.count - 1, 0) / Self.membersMax
        return .text("concat(") + pieces
            + .text(SQLName.literal(text + "}") + String(repeating: ")", count: depth + 1))
    }

    /// Returns an object of which a request may leave out any member.
    private mutating func optionalObject(_ members: [ObjectMember]) -> [Piece] {
        let arguments = members.map { member in
            included(member, Self.arguments(Self.head(of: member), member.value))
        }
        let groups = stride(from: 0, to: arguments.count, by: Self.membersMax).map { start -> [Piece] in
            let group = Array(arguments[start..<min(start + Self.membersMax, arguments.count)])
            return [.wrapped("concat(", [.joined(group, separator: ", ',', ", empty: [])], ")")]
        }
        return .text("concat('{', ") + [.joined(groups, separator: ", ',', ", empty: .text("''"))] + .text(", '}')")
    }

    private mutating func included(_ member: ObjectMember, _ pieces: [Piece]) -> [Piece] {
        member.inclusion.map { when($0, pieces) } ?? pieces
    }

    private static func head(of member: ObjectMember) -> String {
        JSONValue.string(member.key).text + ":" + member.value.before
    }

    private static func arguments(_ head: String, _ value: JSONText) -> [Piece] {
        let before = SQLName.literal(head)
        if value.sql.isEmpty { return .text(before) }
        return .text(before + ", ") + value.sql
            + (value.after.isEmpty ? [] : .text(", " + SQLName.literal(value.after)))
    }
}
