/// Formats texts that are bound as parameters. `SQLName` quotes names and constants from the project's files, the only
/// texts that become part of a statement.
package enum SQLText {
    /// Escapes a text as a `LIKE` pattern that matches only itself.
    static func likeEscaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            if scalar == "%" || scalar == "_" || scalar == "\\" { escaped.unicodeScalars.append("\\") }
            escaped.unicodeScalars.append(scalar)
        }
        return escaped
    }

    /// Formats a Postgres array literal; elements are always quoted, nil is `NULL`.
    package static func arrayLiteral(_ elements: [String?]) -> String { literal(of: elements) }

    /// A generic variant for lazily computed elements, internal so that it is specialised in this module.
    static func literal(of elements: some Sequence<String?>) -> String {
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
