// Operations and fragments (specification, sections 2.3 to 2.8).
extension Parser {
    /// Parses an anonymous query written as `{ … }`.
    mutating func shorthandQuery() throws(SyntaxError) -> OperationDefinition {
        let start = token.start
        let selectionSet = try selectionSet()
        return OperationDefinition(kind: .query, selectionSet: selectionSet, range: range(from: start))
    }

    mutating func operation(
        _ description: Description?, from start: Int
    ) throws(SyntaxError) -> OperationDefinition {
        let kind = try operationKind()
        let name = token.kind == .name ? try name() : nil
        let variables = try optionalMany(.leftParenthesis, .rightParenthesis) { parser throws(SyntaxError) in
            try parser.variableDefinition()
        }
        let directives = try directives(isConstant: false)
        let selectionSet = try selectionSet()
        return OperationDefinition(
            kind: kind, name: name, description: description, variables: variables, directives: directives,
            selectionSet: selectionSet, range: range(from: start))
    }

    mutating func operationKind() throws(SyntaxError) -> OperationKind {
        guard token.kind == .name else { throw unexpected(expected: "Name") }
        guard let kind = OperationKind(rawValue: token.value) else { throw unexpected() }
        try advance()
        return kind
    }

    private mutating func variableDefinition() throws(SyntaxError) -> VariableDefinition {
        let start = token.start
        let description = try description()
        let name = try variable()
        try expect(.colon)
        let type = try typeReference()
        let defaultValue = try accept(.equals) ? try value(isConstant: true) : nil
        let directives = try directives(isConstant: true)
        return VariableDefinition(
            name: name, description: description, type: type, defaultValue: defaultValue, directives: directives,
            range: range(from: start))
    }

    mutating func fragment(_ description: Description?, from start: Int) throws(SyntaxError) -> FragmentDefinition {
        try expect(keyword: "fragment")
        let name = try fragmentName()
        try expect(keyword: "on")
        let typeCondition = try self.name()
        let directives = try directives(isConstant: false)
        let selectionSet = try selectionSet()
        return FragmentDefinition(
            name: name, description: description, typeCondition: typeCondition, directives: directives,
            selectionSet: selectionSet, range: range(from: start))
    }

    /// Parses any name except `on`.
    private mutating func fragmentName() throws(SyntaxError) -> Name {
        if peek(keyword: "on") { throw error(.reservedName, "Unexpected Name 'on'", at: token) }
        return try name()
    }

    mutating func selectionSet() throws(SyntaxError) -> SelectionSet {
        let start = token.start
        let selections = try nested { parser throws(SyntaxError) in
            try parser.many(.leftBrace, .rightBrace) { parser throws(SyntaxError) in try parser.selection() }
        }
        return SelectionSet(selections, range: range(from: start))
    }

    private mutating func selection() throws(SyntaxError) -> Selection {
        token.kind == .spread ? try fragmentSelection() : .field(try field())
    }

    private mutating func field() throws(SyntaxError) -> Field {
        let start = token.start
        var name = try name()
        var alias: Name?
        if try accept(.colon) {
            alias = name
            name = try self.name()
        }
        let arguments = try arguments(isConstant: false)
        let directives = try directives(isConstant: false)
        let selectionSet = token.kind == .leftBrace ? try selectionSet() : nil
        return Field(
            alias: alias, name: name, arguments: arguments, directives: directives, selectionSet: selectionSet,
            range: range(from: start))
    }

    /// Parses `...Name`, `... on Type { }` or `... { }`.
    private mutating func fragmentSelection() throws(SyntaxError) -> Selection {
        let start = token.start
        try expect(.spread)
        let hasTypeCondition = try accept(keyword: "on")
        if !hasTypeCondition, token.kind == .name {
            let name = try name()
            let directives = try directives(isConstant: false)
            return .fragmentSpread(FragmentSpread(name: name, directives: directives, range: range(from: start)))
        }
        let typeCondition = hasTypeCondition ? try name() : nil
        let directives = try directives(isConstant: false)
        let selectionSet = try selectionSet()
        return .inlineFragment(
            InlineFragment(
                typeCondition: typeCondition, directives: directives, selectionSet: selectionSet,
                range: range(from: start)))
    }
}
