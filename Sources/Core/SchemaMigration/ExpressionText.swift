/// The text of an expression of an index, for two of them to be compared: what this service writes, and what Postgres
/// makes of it when it prints it.
enum ExpressionText {
    static func areSame(_ one: String?, _ other: String?) -> Bool { one.map(reduced) == other.map(reduced) }

    /// Without blanks, parentheses, casts and the quotes of names, and in small letters but for what was quoted.
    /// `to_tsvector('english'::regconfig, ((COALESCE(title, ''::text) || ' '::text) || COALESCE("Body", ''::text)))` is
    /// `to_tsvector'english',coalescetitle,''||' '||coalesceBody,''`.
    static func reduced(_ text: String) -> String {
        var result = ""
        var rest = text[...]
        while let character = rest.popFirst() {
            switch character {
            case "'":
                result.append(character)
                result += quoted(&rest, by: character)
                result.append(character)
            case "\"": result += quoted(&rest, by: character)
            case ":" where rest.first == ":":
                rest.removeFirst()
                dropType(&rest)
            case "(", ")": continue
            case _ where character.isWhitespace: continue
            default: result += character.lowercased()
            }
        }
        return result
    }

    /// Up to the closing quote, which is dropped; doubled ones stay doubled.
    private static func quoted(_ rest: inout Substring, by quote: Character) -> String {
        var inside = ""
        while let character = rest.popFirst() {
            if character == quote {
                guard rest.first == quote else { break }
                rest.removeFirst()
                inside.append(quote)
            }
            inside.append(character)
        }
        return inside
    }

    /// `regconfig`, `public.citext`, `character varying(40)`.
    private static func dropType(_ rest: inout Substring) {
        if rest.hasPrefix("character varying") { rest = rest.dropFirst("character varying".count) }
        rest = rest.drop { $0.isLetter || $0.isNumber || "_.\"[]".contains($0) }
        guard rest.first == "(" else { return }
        rest = rest.drop { $0 != ")" }.dropFirst()
    }
}
