import SchemaModel

/// Whether two texts of a `DEFAULT` mean the same.
///
/// Postgres prints an expression in its own words, so this can only be judged for simple ones. Where it cannot, the
/// answer is yes for constants whose print depends on settings (times, JSON, lists), and no for SQL: setting a default
/// once more is harmless, leaving an old one is not.
enum DefaultText {
    /// `wanted` as `DefinitionSQL` writes it, `found` as `pg_get_expr` prints it.
    static func mayBeSame(_ wanted: String, _ found: String, as type: ColumnType) -> Bool {
        if let wantedConstant = constant(wanted) {
            let plain = normalized(found)
            guard let foundConstant = constant(found) ?? (isPlain(plain) ? plain : nil) else { return false }
            if type.isList { return true }
            switch type.scalar {
            case .timestamp, .any, .vector: return true
            case .int, .int64, .float: return Double(wantedConstant) == Double(foundConstant)
            case .uuid: return ScalarText.canonicalUUID(wantedConstant) == ScalarText.canonicalUUID(foundConstant)
            case .string, .boolean, .date, .enumeration: return wantedConstant == foundConstant
            }
        }
        return normalized(wanted) == normalized(found)
    }

    /// The text inside `'text'::type`; nil for anything else.
    private static func constant(_ text: String) -> String? {
        var rest = text[...]
        let isEscaped = rest.hasPrefix("E'")
        if isEscaped { rest = rest.dropFirst() }
        guard rest.first == "'" else { return nil }
        rest = rest.dropFirst()
        var content = ""
        while let character = rest.popFirst() {
            if character == "'" {
                guard rest.first == "'" else { return rest.isEmpty || isCast(rest) ? content : nil }
                rest.removeFirst()
            } else if isEscaped, character == "\\", let next = rest.popFirst() {
                content.append(next)
                continue
            }
            content.append(character)
        }
        return nil
    }

    /// `::character varying(40)`, `::"public"."genre"[]`, and nothing after it.
    private static func isCast(_ text: Substring) -> Bool {
        text.hasPrefix("::")
            && text.dropFirst(2).allSatisfy { $0.isLetter || $0.isNumber || " _.,\"[]()".contains($0) }
    }

    /// A number, `true`, `false`.
    private static func isPlain(_ text: String) -> Bool {
        text == "true" || text == "false" || Double(text) != nil
    }

    /// Without blanks, casts and outer parentheses, in small letters, except inside quotes.
    private static func normalized(_ text: String) -> String {
        var words = ""
        var rest = text[...]
        while let character = rest.popFirst() {
            if character == "'" {
                words.append(character)
                while let inside = rest.popFirst() {
                    words.append(inside)
                    if inside == "'" { break }
                }
            } else if character == ":", rest.first == ":" {
                rest = rest.dropFirst().drop { $0.isLetter || $0.isNumber || "_.\"[]".contains($0) }
                if rest.first == "(" { rest = rest.drop { $0 != ")" }.dropFirst() }
            } else if !character.isWhitespace {
                words += character.lowercased()
            }
        }
        while words.first == "(", words.last == ")", isWrapped(words) { words = String(words.dropFirst().dropLast()) }
        return words
    }

    /// Whether the first parenthesis is closed by the last one.
    private static func isWrapped(_ text: String) -> Bool {
        var depth = 0
        for (offset, character) in text.enumerated() {
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            if depth == 0 { return offset == text.count - 1 }
        }
        return false
    }
}
