/// The only places where text becomes part of a statement: quoting of names and of constants that stand in the
/// developer's own files. What a client sends is always a bound parameter.
package enum SQLText {
    /// Postgres cuts longer names, so they are refused before they get here.
    package static let nameBytesMax = 63

    package static func identifier(_ name: String) -> String {
        "\"" + name.replacing("\"", with: "\"\"") + "\""
    }

    /// A string constant. Assumes `standard_conforming_strings`, the default since Postgres 9.1; a backslash is
    /// written in a form that means the same either way.
    package static func literal(_ text: String) -> String {
        let quoted = "'" + text.replacing("'", with: "''") + "'"
        guard text.contains("\\") else { return quoted }
        return " E" + quoted.replacing("\\", with: "\\\\")
    }

    /// The text as a `LIKE` pattern that matches only itself.
    static func likeEscaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            if scalar == "%" || scalar == "_" || scalar == "\\" { escaped.unicodeScalars.append("\\") }
            escaped.unicodeScalars.append(scalar)
        }
        return escaped
    }

    /// The text form of a Postgres array, elements always quoted; nil is `NULL`.
    static func arrayLiteral(_ elements: some Sequence<String?>) -> String {
        var literal = "{"
        var isFirst = true
        for element in elements {
            if !isFirst { literal += "," }
            isFirst = false
            guard let element else {
                literal += "NULL"
                continue
            }
            literal += "\""
            if element.utf8.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) {
                for scalar in element.unicodeScalars {
                    if scalar == "\"" || scalar == "\\" { literal.unicodeScalars.append("\\") }
                    literal.unicodeScalars.append(scalar)
                }
            } else {
                literal += element
            }
            literal += "\""
        }
        return literal + "}"
    }
}

/// The Postgres type a parameter is cast to.
package struct SQLType: Sendable, Hashable {
    /// As it stands in a cast, quoted where needed: `uuid`, `double precision`, `"genre"`.
    package let name: String
    /// The parameter is an array; its text is an array literal.
    package let isList: Bool

    package init(name: String, isList: Bool = false) {
        self.name = name
        self.isList = isList
    }

    /// `uuid` or `uuid[]`.
    package var text: String { isList ? name + "[]" : name }
}

extension Schema {
    /// The type that values of a column are bound as.
    func sqlType(of type: ColumnType) -> SQLType {
        SQLType(name: sqlName(of: type.scalar), isList: type.isList)
    }

    private func sqlName(of scalar: ScalarType) -> String {
        switch scalar {
        case .uuid: "uuid"
        case .string: "text"
        case .int: "integer"
        case .int64: "bigint"
        case .float: "double precision"
        case .boolean: "boolean"
        case .date: "date"
        case .timestamp: "timestamptz"
        case .any: "jsonb"
        case .enumeration(let name): SQLText.identifier(enums[name]?.name ?? name)
        }
    }
}
