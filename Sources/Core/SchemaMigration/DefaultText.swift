import SchemaModel

/// Compares the texts of `DEFAULT` expressions.
///
/// Postgres reformats expressions, so only simple ones can be compared reliably. In doubt, constants whose text depends
/// on settings (times, JSON, lists) count as equal, and SQL as different: setting a default again is harmless, keeping
/// an outdated one is not.
enum DefaultText {
    /// Returns whether two defaults may be equal: `desired` as `DefinitionSQL` writes it, `found` as `pg_get_expr`
    /// prints it.
    static func mayBeSame(_ desired: String, _ found: String, as type: ColumnType) -> Bool {
        if let desiredConstant = constant(desired) {
            let plain = normalized(found)
            guard let foundConstant = constant(found) ?? (isPlain(plain) ? plain : nil) else { return false }
            if type.isList { return true }
            switch type.scalar {
            case .timestamp, .any, .vector: return true
            case .int, .int64, .float: return Double(desiredConstant) == Double(foundConstant)
            case .uuid: return ScalarText.canonicalUUID(desiredConstant) == ScalarText.canonicalUUID(foundConstant)
            case .string, .boolean, .date, .enumeration: return desiredConstant == foundConstant
            }
        }
        return normalized(desired) == normalized(found)
    }

    /// Returns the text within `'text'::type`; nil for anything else.
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

    /// Returns whether the text is a single cast, such as `::character varying(40)` or `::"public"."genre"[]`.
    private static func isCast(_ text: Substring) -> Bool {
        text.hasPrefix("::")
            && text.dropFirst(2).allSatisfy { $0.isLetter || $0.isNumber || " _.,\"[]()".contains($0) }
    }

    /// Returns whether the text is a number, `true` or `false`.
    private static func isPlain(_ text: String) -> Bool {
        text == "true" || text == "false" || Double(text) != nil
    }

    /// Removes white space, casts and outer parentheses, and converts to lower case, except inside quotes.
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

    /// Returns whether the last parenthesis closes the first one.
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
