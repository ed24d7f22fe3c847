/// A recursive descent parser with one token of look-ahead (specification, section 2 and 3, October 2021, with the
/// descriptions on operations, fragments and variables of September 2025).
///
/// It reports the first error at the place the reference implementation reports it. Recursion is bounded by
/// `ParserLimits.depthMax`, work by `tokensMax` and `bytesMax`.
package struct Parser: Sendable {
    private var lexer: Lexer
    /// The token not yet consumed.
    private(set) var token: Token
    /// End of the last token consumed.
    private var lastEnd = 0
    private var depth = 0

    package static func parseDocument(
        _ source: Source, limits: ParserLimits = .default
    ) throws(SyntaxError) -> Document {
        var parser = try Parser(source, limits: limits)
        return try parser.document()
    }

    /// One value up to the end of the source; variables allowed.
    package static func parseValue(_ source: Source, limits: ParserLimits = .default) throws(SyntaxError) -> Value {
        var parser = try Parser(source, limits: limits)
        let value = try parser.value(isConstant: false)
        try parser.expectEnd()
        return value
    }

    /// One value up to the end of the source; variables refused.
    package static func parseConstValue(
        _ source: Source, limits: ParserLimits = .default
    ) throws(SyntaxError) -> Value {
        var parser = try Parser(source, limits: limits)
        let value = try parser.value(isConstant: true)
        try parser.expectEnd()
        return value
    }

    /// One type reference up to the end of the source.
    package static func parseType(
        _ source: Source, limits: ParserLimits = .default
    ) throws(SyntaxError) -> TypeReference {
        var parser = try Parser(source, limits: limits)
        let type = try parser.typeReference()
        try parser.expectEnd()
        return type
    }

    private init(_ source: Source, limits: ParserLimits) throws(SyntaxError) {
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

// What the rules are built from.
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

    func expectEnd() throws(SyntaxError) {
        guard token.kind == .endOfFile else { throw unexpected(expected: Token.Kind.endOfFile.rawValue) }
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

    /// One or more items between two punctuators.
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

    /// The same, or nothing at all.
    mutating func optionalMany<Item>(
        _ open: Token.Kind, _ close: Token.Kind, _ item: (inout Parser) throws(SyntaxError) -> Item
    ) throws(SyntaxError) -> [Item] {
        token.kind == open ? try many(open, close, item) : []
    }

    /// One or more items with a punctuator between them, which may also stand in front.
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

    /// Counts one level of nesting while `body` runs.
    mutating func nested<Node>(
        _ body: (inout Parser) throws(SyntaxError) -> Node
    ) throws(SyntaxError) -> Node {
        guard depth < lexer.limits.depthMax else {
            throw error(.tooDeep, "Nested deeper than \(lexer.limits.depthMax) levels", at: token)
        }
        depth += 1
        // Not undone on an error: that ends the parse.
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
