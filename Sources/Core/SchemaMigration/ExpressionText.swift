/// Compares the texts of index expressions: as this service writes them, and as Postgres prints them.
enum ExpressionText {
    static func areSame(_ one: String?, _ other: String?) -> Bool { one.map(reduced) == other.map(reduced) }

    /// Reduces a text to its tokens: without white space, parentheses, casts and quotes of names, in lower case except
    /// where quoted. `to_tsvector('english'::regconfig, ((COALESCE(title, ''::text) || ' '::text) || COALESCE("Body",
    /// ''::text)))` becomes `to_tsvector'english',coalescetitle,''||' '||coalesceBody,''`.
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

    /// Reads up to the closing quote, which is dropped; doubled quotes stay doubled.
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

    /// Skips a type: `regconfig`, `public.citext`, `character varying(40)`.
    private static func dropType(_ rest: inout Substring) {
        if rest.hasPrefix("character varying") { rest = rest.dropFirst("character varying".count) }
        rest = rest.drop { $0.isLetter || $0.isNumber || "_.\"[]".contains($0) }
        guard rest.first == "(" else { return }
        rest = rest.drop { $0 != ")" }.dropFirst()
    }
}
