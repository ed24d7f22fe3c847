import JSON
import LiveModel
import Operations
import SchemaModel

/// The JSON text of a value.
enum JSONText {
    case constant(String)
    /// An expression of type text, which is never null.
    case sql([Piece])

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

    /// The member as arguments of `concat`.
    /// - Parameter before: the text before it.
    fileprivate func arguments(after before: String) -> [Piece] {
        let head = "\(before)\(JSONValue.string(key).text):"
        return switch value {
        case .constant(let text): .text(SQLName.literal(head + text))
        case .sql(let sql): .text(SQLName.literal(head) + ", ") + sql
        }
    }
}

extension TemplateBuilder {
    /// The most members in one call of `concat`, to which Postgres passes at most 100 arguments.
    private static let membersMax = 30

    /// Returns the text of an object as an expression.
    mutating func object(_ members: [ObjectMember]) -> [Piece] {
        guard let first = members.first else { return .text("'{}'") }
        guard first.isAlways else { return optionalObject(members) }
        var pieces = [Piece].text("concat(")
        for (number, member) in members.enumerated() {
            if number > 0, number.isMultiple(of: Self.membersMax) { pieces += .text("concat(") }
            pieces += included(member, member.arguments(after: number == 0 ? "{" : ",") + .text(", "))
        }
        let calls = 1 + (members.count - 1) / Self.membersMax
        return pieces + .text("'}'" + String(repeating: ")", count: calls))
    }

    /// Returns an object of which a request may leave out the first member.
    private mutating func optionalObject(_ members: [ObjectMember]) -> [Piece] {
        let arguments = members.map { included($0, $0.arguments(after: "")) }
        let calls = stride(from: 0, to: arguments.count, by: Self.membersMax).map { start -> [Piece] in
            let group = Array(arguments[start..<min(start + Self.membersMax, arguments.count)])
            return [.wrapped("concat(", [.joined(group, separator: ", ',', ", empty: [])], ")")]
        }
        return .text("concat('{', ") + [.joined(calls, separator: ", ',', ", empty: .text("''"))] + .text(", '}')")
    }

    private mutating func included(_ member: ObjectMember, _ pieces: [Piece]) -> [Piece] {
        member.inclusion.map { when($0, pieces) } ?? pieces
    }
}
