/// Parses primary expressions: literals, names, function calls, lists and maps.
extension Parser {
    /// Words that are literals or operators; not even allowed as field names.
    static let literalWords: Set<String> = ["true", "false", "null", "in"]

    static let reservedWords: Set<String> = [
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
        "namespace", "return", "var", "void", "while",
    ]

    mutating func parsePrimary() throws(SyntaxProblem) -> Expression {
        let start = token.range.lowerBound
        switch token.kind {
        case .int(let magnitude):
            guard let value = Int64(exactly: magnitude) else {
                throw SyntaxProblem(message: .intOutOfRange, offset: start)
            }
            return try constant(.int(value))
        case .uint(let value): return try constant(.uint(value))
        case .double(let value): return try constant(.double(value))
        case .string(let value): return try constant(.string(value))
        case .bytes(let value): return try constant(.bytes(value))
        case .identifier("true"): return try constant(.bool(true))
        case .identifier("false"): return try constant(.bool(false))
        case .identifier("null"): return try constant(.null)
        case .identifier: return try parseName(isAbsolute: false, start: start)
        case .symbol(.dot):
            try advance()
            return try parseName(isAbsolute: true, start: start)
        case .symbol(.leftParenthesis):
            try advance()
            var expression = try parseExpression()
            try expect(.rightParenthesis)
            expression.isGrouped = true
            return expression
        case .symbol(.leftBracket):
            try advance()
            let elements = try parseList(until: .rightBracket)
            return try make(.list(elements), from: start, over: elements)
        case .symbol(.leftBrace): return try parseMap(start: start)
        default: throw unexpected(expected: "an expression")
        }
    }

    mutating func constant(_ value: Value) throws(SyntaxProblem) -> Expression {
        let start = token.range.lowerBound
        try advance()
        return try make(.constant(value), from: start)
    }

    mutating func parseName(isAbsolute: Bool, start: Int) throws(SyntaxProblem) -> Expression {
        guard case .identifier(let name) = token.kind, !Self.literalWords.contains(name) else {
            throw unexpected(expected: "a name")
        }
        if Self.reservedWords.contains(name) {
            throw SyntaxProblem(message: .reserved(name), offset: token.range.lowerBound)
        }
        try advance()
        guard try take(.leftParenthesis) else {
            return try make(.identifier(name, isAbsolute: isAbsolute), from: start)
        }
        let arguments = try parseList(until: .rightParenthesis)
        if options.expandsMacros, name == "has", !isAbsolute {
            guard arguments.count == 1 else { throw SyntaxProblem(message: .hasNeedsSelection, offset: start) }
            switch arguments[0].kind {
            case .select(let operand, let field, _), .optionalSelect(let operand, let field):
                return try make(.presence(operand, field: field), from: start, over: [operand])
            default: throw SyntaxProblem(message: .hasNeedsSelection, offset: start)
            }
        }
        return try make(
            .call(isAbsolute ? "." + name : name, target: nil, arguments: arguments), from: start, over: arguments)
    }

    mutating func parseMap(start: Int) throws(SyntaxProblem) -> Expression {
        try advance()
        var entries: [Expression.Entry] = []
        while !isAt(.rightBrace) {
            let entryStart = token.range.lowerBound
            let isOptional = try take(.question)
            let key = try parseExpression()
            try expect(.colon)
            var value = try parseExpression()
            if isOptional { value = try make(.splice(value), from: entryStart, over: [value]) }
            entries.append(Expression.Entry(key: key, value: value))
            guard try take(.comma) else { break }
        }
        try expect(.rightBrace)
        return try make(.map(entries), from: start, over: entries.flatMap { [$0.key, $0.value] })
    }

    /// Parses a message literal to its end and returns a node that the checker rejects: messages are not supported.
    mutating func parseMessage(_ name: QualifiedName, from start: Int) throws(SyntaxProblem) -> Expression {
        try expect(.leftBrace)
        while !isAt(.rightBrace) {
            switch token.kind {
            case .identifier, .quotedIdentifier: try advance()
            default: throw unexpected(expected: "a field name")
            }
            try expect(.colon)
            _ = try parseExpression()
            guard try take(.comma) else { break }
        }
        try expect(.rightBrace)
        return try make(.message(name.text), from: start)
    }
}
