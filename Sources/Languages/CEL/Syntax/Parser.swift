/// Builds the tree by precedence climbing. `Limits.depthMax` bounds recursion. Left-associative chains need no
/// recursion here but are bounded by the depth of the resulting tree, since later stages walk it recursively.
struct Parser {
    var lexer: Lexer
    var token: Token
    var previousEnd = 0
    var nesting = 0
    var nodeCount = 0
    let limits: Limits
    let options: Environment.Options

    static func parse(
        _ source: String, limits: Limits, options: Environment.Options
    ) throws(CompileFailure) -> Expression {
        do throws(SyntaxProblem) {
            guard source.utf8.count <= limits.sourceBytesMax else {
                throw SyntaxProblem(message: .sourceTooLong(max: limits.sourceBytesMax), offset: 0)
            }
            var parser = try Parser(source: source, limits: limits, options: options)
            let expression = try parser.parseExpression()
            guard parser.token.kind == .end else { throw parser.unexpected(expected: "end of expression") }
            return expression
        } catch {
            throw CompileFailure(diagnostics: [
                Diagnostic(message: error.message.text, offset: error.offset, source: source)
            ])
        }
    }

    private init(source: String, limits: Limits, options: Environment.Options) throws(SyntaxProblem) {
        lexer = Lexer(source: source)
        token = try lexer.next()
        self.limits = limits
        self.options = options
    }

    // MARK: Tokens

    mutating func advance() throws(SyntaxProblem) {
        previousEnd = token.range.upperBound
        token = try lexer.next()
    }

    func isAt(_ symbol: Token.Symbol) -> Bool {
        token.kind == .symbol(symbol)
    }

    mutating func take(_ symbol: Token.Symbol) throws(SyntaxProblem) -> Bool {
        guard isAt(symbol) else { return false }
        try advance()
        return true
    }

    mutating func expect(_ symbol: Token.Symbol) throws(SyntaxProblem) {
        guard try take(symbol) else { throw unexpected(expected: "'\(symbol.rawValue)'") }
    }

    func unexpected(expected: String) -> SyntaxProblem {
        SyntaxProblem(
            message: .unexpected(token.description, expected: expected), offset: token.range.lowerBound)
    }

    // MARK: Nodes

    mutating func make(
        _ kind: Expression.Kind, from start: Int, over children: [Expression] = []
    ) throws(SyntaxProblem) -> Expression {
        nodeCount += 1
        guard nodeCount <= limits.nodesMax else {
            throw SyntaxProblem(message: .tooManyNodes(max: limits.nodesMax), offset: start)
        }
        let depth = 1 + (children.lazy.map(\.depth).max() ?? 0)
        guard depth <= limits.depthMax else {
            throw SyntaxProblem(message: .tooDeep(max: limits.depthMax), offset: start)
        }
        return Expression(id: nodeCount - 1, range: start..<max(previousEnd, start), depth: depth, kind: kind)
    }

    mutating func call(
        _ name: String, _ arguments: [Expression], from start: Int
    ) throws(SyntaxProblem) -> Expression {
        try make(.call(name, target: nil, arguments: arguments), from: start, over: arguments)
    }

    // MARK: Operators

    mutating func parseExpression() throws(SyntaxProblem) -> Expression {
        nesting += 1
        defer { nesting -= 1 }
        guard nesting <= limits.depthMax else {
            throw SyntaxProblem(
                message: .tooDeep(max: limits.depthMax), offset: token.range.lowerBound)
        }
        let start = token.range.lowerBound
        let condition = try parseLogic(.or)
        guard try take(.question) else { return condition }
        let accepted = try parseLogic(.or)
        try expect(.colon)
        let rejected = try parseExpression()
        return try call(Operator.conditional, [condition, accepted, rejected], from: start)
    }

    mutating func parseLogic(_ logic: Expression.Logic) throws(SyntaxProblem) -> Expression {
        let start = token.range.lowerBound
        let symbol: Token.Symbol = logic == .or ? .or : .and
        var operands = [try logic == .or ? parseLogic(.and) : parseBinary(level: 0)]
        while try take(symbol) {
            operands.append(try logic == .or ? parseLogic(.and) : parseBinary(level: 0))
        }
        guard operands.count > 1 else { return operands[0] }
        return try make(.logic(logic, operands), from: start, over: operands)
    }

    /// The operator at the current token and its precedence: relations 0, sums 1, products 2.
    var binaryOperator: (name: String, level: Int)? {
        switch token.kind {
        case .identifier("in"): (Operator.contained, 0)
        case .symbol(let symbol):
            switch symbol {
            case .equal: (Operator.equal, 0)
            case .notEqual: (Operator.notEqual, 0)
            case .less: (Operator.less, 0)
            case .lessOrEqual: (Operator.lessOrEqual, 0)
            case .greater: (Operator.greater, 0)
            case .greaterOrEqual: (Operator.greaterOrEqual, 0)
            case .plus: (Operator.add, 1)
            case .minus: (Operator.subtract, 1)
            case .star: (Operator.multiply, 2)
            case .slash: (Operator.divide, 2)
            case .percent: (Operator.remainder, 2)
            default: nil
            }
        default: nil
        }
    }

    mutating func parseBinary(level: Int) throws(SyntaxProblem) -> Expression {
        let start = token.range.lowerBound
        var left = try parseUnary()
        while let (name, operatorLevel) = binaryOperator, operatorLevel >= level {
            try advance()
            let right = try parseBinary(level: operatorLevel + 1)
            left = try call(name, [left, right], from: start)
        }
        return left
    }

    mutating func parseUnary() throws(SyntaxProblem) -> Expression {
        guard isAt(.not) || isAt(.minus) else { return try parseMember() }
        let symbol: Token.Symbol = isAt(.not) ? .not : .minus
        var starts: [Int] = []
        while isAt(symbol) {
            starts.append(token.range.lowerBound)
            try advance()
        }
        var operand: Expression
        // The sign belongs to the literal; otherwise the least integer could not be written.
        if symbol == .minus, let constant = try negatedConstant() {
            let start = starts.removeLast()
            try advance()
            operand = try parseMember(after: make(.constant(constant), from: start), from: start)
        } else {
            operand = try parseMember()
        }
        for start in starts.reversed() {
            operand = try call(symbol == .not ? Operator.not : Operator.negate, [operand], from: start)
        }
        return operand
    }

    func negatedConstant() throws(SyntaxProblem) -> Value? {
        switch token.kind {
        case .double(let value): return .double(-value)
        case .int(let magnitude):
            guard magnitude <= Int64.min.magnitude else {
                throw SyntaxProblem(message: .intOutOfRange, offset: token.range.lowerBound)
            }
            return .int(Int64(truncatingIfNeeded: 0 &- magnitude))
        default: return nil
        }
    }

    // MARK: Members

    mutating func parseMember() throws(SyntaxProblem) -> Expression {
        let start = token.range.lowerBound
        let primary = try parsePrimary()
        return try parseMember(after: primary, from: start)
    }

    mutating func parseMember(after first: Expression, from start: Int) throws(SyntaxProblem) -> Expression {
        var operand = first
        while true {
            if try take(.dot) {
                operand = try parseSelection(from: operand, start: start)
            } else if try take(.leftBracket) {
                let isOptional = try take(.question)
                let index = try parseExpression()
                try expect(.rightBracket)
                operand = try call(isOptional ? Operator.optionalIndex : Operator.index, [operand, index], from: start)
            } else if isAt(.leftBrace), let name = QualifiedName(operand) {
                operand = try parseMessage(name, from: start)
            } else {
                return operand
            }
        }
    }

    mutating func parseSelection(from operand: Expression, start: Int) throws(SyntaxProblem) -> Expression {
        if try take(.question) { return try parseOptionalSelection(from: operand, start: start) }
        switch token.kind {
        case .quotedIdentifier(let field):
            try advance()
            return try make(.select(operand, field: field, isQuoted: true), from: start, over: [operand])
        case .identifier(let name) where !Self.literalWords.contains(name):
            try advance()
            guard try take(.leftParenthesis) else {
                return try make(.select(operand, field: name, isQuoted: false), from: start, over: [operand])
            }
            let arguments = try parseList(until: .rightParenthesis)
            if options.expandsMacros, let macro = Expression.Comprehension.Macro(rawValue: name),
                let comprehension = try Self.expand(macro, over: operand, arguments)
            {
                return try make(.comprehension(comprehension), from: start, over: [operand] + arguments)
            }
            if options.expandsMacros, let macro = try extensionMacro(name, operand, arguments, start: start) {
                return macro
            }
            return try make(
                .call(name, target: operand, arguments: arguments), from: start, over: [operand] + arguments)
        default:
            throw unexpected(expected: "a field name")
        }
    }

    /// Parses elements up to and including a closing symbol. A trailing comma is allowed, except in an argument list.
    mutating func parseList(until closing: Token.Symbol) throws(SyntaxProblem) -> [Expression] {
        var elements: [Expression] = []
        while !isAt(closing) {
            elements.append(closing == .rightBracket ? try parseElement() : try parseExpression())
            guard try take(.comma) else { break }
            if isAt(closing), closing == .rightParenthesis { throw unexpected(expected: "an expression") }
        }
        try expect(closing)
        return elements
    }
}
