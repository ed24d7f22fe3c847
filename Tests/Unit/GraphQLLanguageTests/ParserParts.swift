@testable import GraphQLLanguage

/// Parses parts of documents, of which the product only parses whole ones.
extension Parser {
    static func parseValue(_ source: Source, limits: ParserLimits = .default) throws(SyntaxError) -> Value {
        var parser = try Parser(source, limits: limits)
        let value = try parser.value(isConstant: false)
        try parser.expectEnd()
        return value
    }

    /// Rejects variables.
    static func parseConstValue(_ source: Source, limits: ParserLimits = .default) throws(SyntaxError) -> Value {
        var parser = try Parser(source, limits: limits)
        let value = try parser.value(isConstant: true)
        try parser.expectEnd()
        return value
    }

    static func parseType(_ source: Source, limits: ParserLimits = .default) throws(SyntaxError) -> TypeReference {
        var parser = try Parser(source, limits: limits)
        let type = try parser.typeReference()
        try parser.expectEnd()
        return type
    }

    private func expectEnd() throws(SyntaxError) {
        guard token.kind == .endOfFile else { throw unexpected(expected: Token.Kind.endOfFile.rawValue) }
    }
}
