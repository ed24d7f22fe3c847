import JSON

/// The schema of an existing database, as text in the schema's language. What is not said stands there as a comment,
/// with the reason.
struct ImportedSchema: Sendable {
    /// A directive or a field.
    struct Part: Sendable {
        var text: String
        /// SQL names that a message about it would contain: of columns, indexes and constraints.
        var mentions: [String]
        /// Why it is not said; nil: it is said.
        var reason: String?
        /// Whether it is one of several that make one search index.
        var isSearch = false

        var isSaid: Bool { reason == nil }
    }

    struct Field: Sendable {
        /// `title: String! @col(…)`
        var part: Part
        /// Further directives.
        var directives: [Part] = []
        /// The name of the type that it refers to.
        var target: String?
    }

    struct Table: Sendable {
        let name: String
        let typeName: String
        /// `@table(…)` or `@view(…)`
        var directive: String
        var directives: [Part] = []
        var fields: [Field] = []
        /// Remarks about what has no place in the schema.
        var remarks: [String] = []
        var reason: String?

        var isSaid: Bool { reason == nil }
    }

    /// The place of a part.
    enum Place: Hashable, Sendable {
        case table(Int)
        case directive(Int, Int)
        case field(Int, Int)
        case fieldDirective(Int, Int, Int)
        /// All `@searchable` of a table.
        case search(Int)

        var table: Int {
            switch self {
            case .table(let table), .directive(let table, _), .field(let table, _), .fieldDirective(let table, _, _),
                .search(let table):
                table
            }
        }
    }

    var enums: [(name: String, values: [String])] = []
    var tables: [Table] = []
    /// Remarks about the whole database.
    var remarks: [String] = []

    mutating func leaveOut(_ place: Place, because reason: String) {
        switch place {
        case .table(let table): tables[table].reason = reason
        case .directive(let table, let index): tables[table].directives[index].reason = reason
        case .field(let table, let index): tables[table].fields[index].part.reason = reason
        case .fieldDirective(let table, let field, let index):
            tables[table].fields[field].directives[index].reason = reason
        case .search(let table):
            for field in tables[table].fields.indices {
                for index in tables[table].fields[field].directives.indices
                where tables[table].fields[field].directives[index].isSearch {
                    tables[table].fields[field].directives[index].reason = reason
                }
            }
        }
    }

    /// The number of things that are comments.
    var leftOutCount: Int {
        tables.reduce(remarks.count) { count, table in
            guard table.isSaid else { return count + 1 }
            let fields = table.fields.reduce(0) {
                $0 + ($1.part.isSaid ? 0 : 1) + $1.directives.filter { !$0.isSaid }.count
            }
            return count + table.remarks.count + table.directives.filter { !$0.isSaid }.count + fields
        }
    }

    // MARK: Text

    /// The text, and the place of each line that a diagnostic may name.
    func printed() -> (text: String, places: [Int: Place]) {
        var lines: [String] = []
        var places: [Int: Place] = [:]
        func comment(_ text: String, _ indentation: String = "") {
            for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
                lines.append("\(indentation)# \(line)")
            }
        }
        comment(
            "Read from a database by `freshet init --from`. What cannot be said here is a comment, with the reason.")
        for remark in remarks { comment(remark) }
        for (name, values) in enums {
            lines += ["", "enum \(name) {"] + values.map { "  \($0)" } + ["}"]
        }
        for (index, table) in tables.enumerated() {
            lines.append("")
            for remark in table.remarks { comment(remark) }
            if let reason = table.reason { comment("Left out: \(reason)") }
            let mark = table.isSaid ? "" : "# "
            func line(_ text: String, _ place: Place) {
                lines.append(mark + text)
                if table.isSaid { places[lines.count] = place }
            }
            line("type \(table.typeName) \(table.directive)", .table(index))
            for (number, directive) in table.directives.enumerated() {
                guard let reason = directive.reason else {
                    line("  \(directive.text)", .directive(index, number))
                    continue
                }
                lines.append("  # \(directive.text)")
                comment("    \(reason)", "  ")
            }
            line("{", .table(index))
            for (number, field) in table.fields.enumerated() {
                for directive in field.directives {
                    guard let reason = directive.reason, field.part.isSaid else { continue }
                    comment("\(directive.text) on the next field: \(reason)", "  ")
                }
                let said = field.directives.filter(\.isSaid).map { " " + $0.text }.joined()
                if let reason = field.part.reason {
                    lines.append("  # \(field.part.text)\(said)")
                    comment("    \(reason)", "  ")
                } else {
                    line("  \(field.part.text)\(said)", .field(index, number))
                }
            }
            line("}", .table(index))
        }
        return (lines.joined(separator: "\n") + "\n", places)
    }

    /// A string literal of GraphQL.
    static func literal(_ text: String) -> String { JSONValue.string(text).description }

    static func list(_ names: [String]) -> String { "[" + names.map(literal).joined(separator: ", ") + "]" }
}
