/// A word of the source.
struct Token {
    enum Kind: Equatable {
        case identifier(String)
        /// `` `any-text` ``, allowed as the name of a field.
        case quotedIdentifier(String)
        /// Without sign, which is a token of its own.
        case int(UInt64)
        case uint(UInt64)
        case double(Double)
        case string(String)
        case bytes([UInt8])
        case symbol(Symbol)
        case end
    }

    enum Symbol: String, CaseIterable {
        case leftParenthesis = "("
        case rightParenthesis = ")"
        case leftBracket = "["
        case rightBracket = "]"
        case leftBrace = "{"
        case rightBrace = "}"
        case dot = "."
        case comma = ","
        case colon = ":"
        case question = "?"
        case plus = "+"
        case minus = "-"
        case star = "*"
        case slash = "/"
        case percent = "%"
        case not = "!"
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
        case equal = "=="
        case notEqual = "!="
        case and = "&&"
        case or = "||"
    }

    let kind: Kind
    /// UTF-8 byte offsets.
    let range: Range<Int>

    /// How the token is named in a diagnostic.
    var description: String {
        switch kind {
        case .identifier(let name): "'\(name)'"
        case .quotedIdentifier(let name): "'`\(name)`'"
        case .int, .uint, .double: "number"
        case .string: "string"
        case .bytes: "bytes"
        case .symbol(let symbol): "'\(symbol.rawValue)'"
        case .end: "end of expression"
        }
    }
}

/// A problem found while reading, before line and column are known.
struct SyntaxProblem: Error {
    let message: DiagnosticMessage
    let offset: Int
}
