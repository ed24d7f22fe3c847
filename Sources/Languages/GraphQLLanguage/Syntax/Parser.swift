/// A recursive descent parser with one token of look-ahead. Implements sections 2 and 3 of the October 2021
/// specification, with descriptions on operations, fragments and variables as of September 2025.
///
/// Reports the first error, at the position where the reference implementation reports it. `ParserLimits.depthMax`
/// bounds recursion; `tokensMax` and `bytesMax` bound the work.
package struct Parser: Sendable {
    private var lexer: Lexer
    /// The next token, not yet consumed.
    private(set) var token: Token
    /// The end of the last consumed token.
    private var lastEnd = 0
    private var depth = 0

    /// Parses a whole document.
    package static func parseDocument(
        _ source: Source, limits: ParserLimits = .default
    ) throws(SyntaxError) -> Document {
        var parser = try Parser(source, limits: limits)
        return try parser.document()
    }

    init(_ source: Source, limits: ParserLimits) throws(SyntaxError) {
        lexer = try Lexer(source, limits: limits)
        token = try lexer.next()
    }

    private mutating func document() throws(SyntaxError) -> Document {
        let start = token.start
        var definitions: [Definition] = []
        repeat {
            definitions.append(try definition())
        } while token.kind != .endOfFile
        return Document(definitions: definitions, range: range(from: start))
    }

    private mutating func definition() throws(SyntaxError) -> Definition {
        if token.kind == .leftBrace { return .operation(try shorthandQuery()) }
        let start = token
        let description = try description()
        guard token.kind == .name else { throw unexpected() }
        switch token.value {
        case "query", "mutation", "subscription": return .operation(try operation(description, from: start.start))
        case "fragment": return .fragment(try fragment(description, from: start.start))
        case "extend":
            if description != nil {
                throw error(.unexpectedToken, "Unexpected description, extensions have none", at: start)
            }
            return try typeSystemExtension()
        default: return try typeSystemDefinition(description, from: start.start)
        }
    }
}

// MARK: Primitives
extension Parser {
    mutating func advance() throws(SyntaxError) {
        lastEnd = token.end
        token = try lexer.next()
    }

    func range(from start: Int) -> SourceRange {
        SourceRange(start: start, end: lastEnd)
    }

    func peek(keyword: String) -> Bool {
        token.kind == .name && token.value == keyword
    }

    mutating func expect(_ kind: Token.Kind) throws(SyntaxError) {
        guard token.kind == kind else { throw unexpected(expected: "'\(kind.rawValue)'") }
        try advance()
    }

    mutating func accept(_ kind: Token.Kind) throws(SyntaxError) -> Bool {
        guard token.kind == kind else { return false }
        try advance()
        return true
    }

    mutating func expect(keyword: String) throws(SyntaxError) {
        guard peek(keyword: keyword) else { throw unexpected(expected: "'\(keyword)'") }
        try advance()
    }

    mutating func accept(keyword: String) throws(SyntaxError) -> Bool {
        guard peek(keyword: keyword) else { return false }
        try advance()
        return true
    }

    mutating func name() throws(SyntaxError) -> Name {
        guard token.kind == .name else { throw unexpected(expected: "Name") }
        let name = Name(token.value, range: token.range)
        try advance()
        return name
    }

    mutating func description() throws(SyntaxError) -> Description? {
        guard token.kind == .string || token.kind == .blockString else { return nil }
        let description = Description(token.value, isBlock: token.kind == .blockString, range: token.range)
        try advance()
        return description
    }

    /// Parses one or more items between two punctuators.
    mutating func many<Item>(
        _ open: Token.Kind, _ close: Token.Kind, _ item: (inout Parser) throws(SyntaxError) -> Item
    ) throws(SyntaxError) -> [Item] {
        try expect(open)
        var items: [Item] = []
        repeat {
            items.append(try item(&self))
        } while token.kind != close
        try advance()
        return items
    }

    /// Parses what `many` parses, but returns an empty array if the opening punctuator is missing.
    mutating func optionalMany<Item>(
        _ open: Token.Kind, _ close: Token.Kind, _ item: (inout Parser) throws(SyntaxError) -> Item
    ) throws(SyntaxError) -> [Item] {
        token.kind == open ? try many(open, close, item) : []
    }

    /// Parses one or more items separated by a punctuator, which may also precede the first.
    mutating func delimited<Item>(
        by delimiter: Token.Kind, _ item: (inout Parser) throws(SyntaxError) -> Item
    ) throws(SyntaxError) -> [Item] {
        _ = try accept(delimiter)
        var items: [Item] = []
        repeat {
            items.append(try item(&self))
        } while try accept(delimiter)
        return items
    }

    /// Runs `body` one nesting level deeper; throws `tooDeep` past the limit.
    mutating func nested<Node>(
        _ body: (inout Parser) throws(SyntaxError) -> Node
    ) throws(SyntaxError) -> Node {
        guard depth < lexer.limits.depthMax else {
            throw error(.tooDeep, "Nested deeper than \(lexer.limits.depthMax) levels", at: token)
        }
        depth += 1
        // Not restored on an error, which ends the parse.
        let node = try body(&self)
        depth -= 1
        return node
    }

    func unexpected(expected: String) -> SyntaxError {
        error(.unexpectedToken, "Expected \(expected), found \(token.description)", at: token)
    }

    func unexpected() -> SyntaxError {
        error(.unexpectedToken, "Unexpected \(token.description)", at: token)
    }

    func error(_ code: SyntaxError.Code, _ message: String, at token: Token) -> SyntaxError {
        lexer.error(code, message, at: token.start)
    }
}
