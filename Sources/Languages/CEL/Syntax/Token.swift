/// A token of the source.
struct Token {
    enum Kind: Equatable {
        case identifier(String)
        /// `` `any-text` ``, allowed as a field name.
        case quotedIdentifier(String)
        /// Unsigned; a sign is a separate token.
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

    /// The token as diagnostics show it.
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

/// A problem found before its line and column are known.
struct SyntaxProblem: Error {
    let message: DiagnosticMessage
    let offset: Int
}
