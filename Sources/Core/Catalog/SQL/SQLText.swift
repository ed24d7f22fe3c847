/// Texts that are bound as parameters. Names and constants of the developer's own files, the only texts that become part
/// of a statement, are quoted by `SQLName`.
package enum SQLText {
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
    package static func arrayLiteral(_ elements: some Sequence<String?>) -> String {
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
        if let name = scalar.sqlTypeName { return name }
        let name = scalar.typeName
        return SQLName.quoted(enums[name]?.name ?? name)
    }
}
