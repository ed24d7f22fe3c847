/// A lexical token (specification, section 2.1.6). Ignored tokens are not represented.
struct Token: Sendable {
    enum Kind: String, Sendable {
        case startOfFile = "<SOF>"
        case endOfFile = "<EOF>"
        case bang = "!"
        case dollar = "$"
        case ampersand = "&"
        case leftParenthesis = "("
        case rightParenthesis = ")"
        case spread = "..."
        case colon = ":"
        case equals = "="
        case at = "@"
        case leftBracket = "["
        case rightBracket = "]"
        case leftBrace = "{"
        case pipe = "|"
        case rightBrace = "}"
        case name = "Name"
        case int = "Int"
        case float = "Float"
        case string = "String"
        case blockString = "BlockString"
    }

    var kind: Kind
    /// Byte offsets, `end` exclusive.
    var start: Int
    var end: Int
    /// The text of names and numbers, the decoded content of strings; otherwise empty.
    var value: String = ""

    var range: SourceRange { SourceRange(start: start, end: end) }

    /// The token as messages show it.
    var description: String {
        switch kind {
        case .name: "Name '\(value)'"
        case .int, .float, .string, .blockString, .startOfFile, .endOfFile: kind.rawValue
        case .bang, .dollar, .ampersand, .leftParenthesis, .rightParenthesis, .spread, .colon, .equals, .at,
            .leftBracket, .rightBracket, .leftBrace, .pipe, .rightBrace:
            "'\(kind.rawValue)'"
        }
    }
}
