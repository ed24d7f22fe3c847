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
    package static func arrayLiteral(_ elements: [String?]) -> String { literal(of: elements) }

    /// The same of elements that are computed one by one; for this module, in which it is specialised.
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
