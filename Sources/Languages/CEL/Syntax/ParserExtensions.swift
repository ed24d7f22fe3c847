/// Syntax of the extension libraries: `a.?b`, `[?x]`, and macros beyond the standard ones.
extension Parser {
    mutating func parseOptionalSelection(from operand: Expression, start: Int) throws(SyntaxProblem) -> Expression {
        switch token.kind {
        case .quotedIdentifier(let field):
            try advance()
            return try make(.optionalSelect(operand, field: field), from: start, over: [operand])
        case .identifier(let name) where !Self.literalWords.contains(name):
            try advance()
            return try make(.optionalSelect(operand, field: name), from: start, over: [operand])
        default: throw unexpected(expected: "a field name")
        }
    }

    /// Parses a list element; `?x` is omitted if none.
    mutating func parseElement() throws(SyntaxProblem) -> Expression {
        let start = token.range.lowerBound
        guard try take(.question) else { return try parseExpression() }
        let element = try parseExpression()
        return try make(.splice(element), from: start, over: [element])
    }

    /// Expands `cel.bind(x, value, body)`, `o.optMap(x, body)`, `o.optFlatMap(x, body)` and `l.sortBy(x, key)`; returns
    /// nil for other calls.
    mutating func extensionMacro(
        _ name: String, _ target: Expression, _ arguments: [Expression], start: Int
    ) throws(SyntaxProblem) -> Expression? {
        let isBind: Bool
        switch name {
        case "bind" where arguments.count == 3:
            guard case .identifier("cel", isAbsolute: false) = target.kind else { return nil }
            isBind = true
        case "optMap", "optFlatMap", "sortBy":
            guard arguments.count == 2 else { return nil }
            isBind = false
        default: return nil
        }
        guard case .identifier(let variable, isAbsolute: false) = arguments[0].kind else {
            throw SyntaxProblem(message: .macroNeedsVariable(name), offset: arguments[0].range.lowerBound)
        }
        if isBind { return try make(.bind(variable, arguments[1], arguments[2]), from: start, over: arguments) }
        guard name == "sortBy" else {
            return try make(
                .optionalMap(target, variable, arguments[1], isFlat: name == "optFlatMap"), from: start,
                over: [target, arguments[1]])
        }
        let keys = try make(
            .comprehension(
                Expression.Comprehension(
                    macro: .map, range: target, variable: variable, predicate: nil, transform: arguments[1])),
            from: start, over: [target, arguments[1]])
        return try make(
            .call(ListFunctions.sortByKeys, target: target, arguments: [keys]), from: start, over: [target, keys])
    }
}
