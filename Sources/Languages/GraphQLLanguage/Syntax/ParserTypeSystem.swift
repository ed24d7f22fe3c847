// Type system definitions and extensions (specification, section 3).
//
// An extension differs from a definition in three ways: it has no description, begins with `extend`, and must add
// something. `Head` represents the first two; `requireContent` checks the third.
extension Parser {
    struct Head {
        var description: Description?
        var isExtension: Bool
        var start: Int
    }

    mutating func typeSystemDefinition(
        _ description: Description?, from start: Int
    ) throws(SyntaxError) -> Definition {
        if peek(keyword: "directive") { return .directive(try directiveDefinition(description, from: start)) }
        return try typeSystem(Head(description: description, isExtension: false, start: start))
    }

    mutating func typeSystemExtension() throws(SyntaxError) -> Definition {
        let start = token.start
        try expect(keyword: "extend")
        return try typeSystem(Head(description: nil, isExtension: true, start: start))
    }

    private mutating func typeSystem(_ head: Head) throws(SyntaxError) -> Definition {
        guard token.kind == .name else { throw unexpected() }
        switch token.value {
        case "schema": return .schema(try schema(head))
        case "scalar": return .scalar(try scalar(head))
        case "type": return .object(try object(head))
        case "interface": return .interface(try interface(head))
        case "union": return .union(try union(head))
        case "enum": return .enum(try enumeration(head))
        case "input": return .inputObject(try inputObject(head))
        default: throw unexpected()
        }
    }

    private func requireContent(_ head: Head, _ hasContent: Bool) throws(SyntaxError) {
        if head.isExtension, !hasContent { throw unexpected() }
    }

    private mutating func schema(_ head: Head) throws(SyntaxError) -> SchemaDefinition {
        try advance()
        let directives = try directives(isConstant: true)
        let hasOperationTypes = !head.isExtension || token.kind == .leftBrace
        let operationTypes =
            hasOperationTypes
            ? try many(.leftBrace, .rightBrace) { parser throws(SyntaxError) in
                try parser.operationTypeDefinition()
            } : []
        try requireContent(head, !directives.isEmpty || !operationTypes.isEmpty)
        return SchemaDefinition(
            description: head.description, directives: directives, operationTypes: operationTypes,
            isExtension: head.isExtension, range: range(from: head.start))
    }

    private mutating func operationTypeDefinition() throws(SyntaxError) -> OperationTypeDefinition {
        let start = token.start
        let operation = try operationKind()
        try expect(.colon)
        let type = try name()
        return OperationTypeDefinition(operation: operation, type: type, range: range(from: start))
    }

    private mutating func scalar(_ head: Head) throws(SyntaxError) -> ScalarTypeDefinition {
        try advance()
        let name = try name()
        let directives = try directives(isConstant: true)
        try requireContent(head, !directives.isEmpty)
        return ScalarTypeDefinition(
            description: head.description, name: name, directives: directives, isExtension: head.isExtension,
            range: range(from: head.start))
    }

    private mutating func object(_ head: Head) throws(SyntaxError) -> ObjectTypeDefinition {
        try advance()
        let name = try name()
        let interfaces = try interfaces()
        let directives = try directives(isConstant: true)
        let fields = try fieldDefinitions()
        try requireContent(head, !interfaces.isEmpty || !directives.isEmpty || !fields.isEmpty)
        return ObjectTypeDefinition(
            description: head.description, name: name, interfaces: interfaces, directives: directives, fields: fields,
            isExtension: head.isExtension, range: range(from: head.start))
    }

    private mutating func interface(_ head: Head) throws(SyntaxError) -> InterfaceTypeDefinition {
        try advance()
        let name = try name()
        let interfaces = try interfaces()
        let directives = try directives(isConstant: true)
        let fields = try fieldDefinitions()
        try requireContent(head, !interfaces.isEmpty || !directives.isEmpty || !fields.isEmpty)
        return InterfaceTypeDefinition(
            description: head.description, name: name, interfaces: interfaces, directives: directives, fields: fields,
            isExtension: head.isExtension, range: range(from: head.start))
    }

    private mutating func interfaces() throws(SyntaxError) -> [Name] {
        guard try accept(keyword: "implements") else { return [] }
        return try delimited(by: .ampersand) { parser throws(SyntaxError) in try parser.name() }
    }

    private mutating func fieldDefinitions() throws(SyntaxError) -> [FieldDefinition] {
        try optionalMany(.leftBrace, .rightBrace) { parser throws(SyntaxError) in
            let start = parser.token.start
            let description = try parser.description()
            let name = try parser.name()
            let arguments = try parser.inputValues(.leftParenthesis, .rightParenthesis)
            try parser.expect(.colon)
            let type = try parser.typeReference()
            let directives = try parser.directives(isConstant: true)
            return FieldDefinition(
                description: description, name: name, arguments: arguments, type: type, directives: directives,
                range: parser.range(from: start))
        }
    }

    private mutating func inputValues(
        _ open: Token.Kind, _ close: Token.Kind
    ) throws(SyntaxError) -> [InputValueDefinition] {
        try optionalMany(open, close) { parser throws(SyntaxError) in
            let start = parser.token.start
            let description = try parser.description()
            let name = try parser.name()
            try parser.expect(.colon)
            let type = try parser.typeReference()
            let defaultValue = try parser.accept(.equals) ? try parser.value(isConstant: true) : nil
            let directives = try parser.directives(isConstant: true)
            return InputValueDefinition(
                description: description, name: name, type: type, defaultValue: defaultValue, directives: directives,
                range: parser.range(from: start))
        }
    }

    private mutating func union(_ head: Head) throws(SyntaxError) -> UnionTypeDefinition {
        try advance()
        let name = try name()
        let directives = try directives(isConstant: true)
        let hasTypes = try accept(.equals)
        let types = hasTypes ? try delimited(by: .pipe) { parser throws(SyntaxError) in try parser.name() } : []
        try requireContent(head, !directives.isEmpty || !types.isEmpty)
        return UnionTypeDefinition(
            description: head.description, name: name, directives: directives, types: types,
            isExtension: head.isExtension, range: range(from: head.start))
    }

    private mutating func enumeration(_ head: Head) throws(SyntaxError) -> EnumTypeDefinition {
        try advance()
        let name = try name()
        let directives = try directives(isConstant: true)
        let values = try optionalMany(.leftBrace, .rightBrace) { parser throws(SyntaxError) in
            let start = parser.token.start
            let description = try parser.description()
            let name = try parser.enumValueName()
            let directives = try parser.directives(isConstant: true)
            return EnumValueDefinition(
                description: description, name: name, directives: directives, range: parser.range(from: start))
        }
        try requireContent(head, !directives.isEmpty || !values.isEmpty)
        return EnumTypeDefinition(
            description: head.description, name: name, directives: directives, values: values,
            isExtension: head.isExtension, range: range(from: head.start))
    }

    private mutating func enumValueName() throws(SyntaxError) -> Name {
        if peek(keyword: "true") || peek(keyword: "false") || peek(keyword: "null") {
            throw error(.reservedName, "Name '\(token.value)' is reserved and cannot be an enum value", at: token)
        }
        return try name()
    }

    private mutating func inputObject(_ head: Head) throws(SyntaxError) -> InputObjectTypeDefinition {
        try advance()
        let name = try name()
        let directives = try directives(isConstant: true)
        let fields = try inputValues(.leftBrace, .rightBrace)
        try requireContent(head, !directives.isEmpty || !fields.isEmpty)
        return InputObjectTypeDefinition(
            description: head.description, name: name, directives: directives, fields: fields,
            isExtension: head.isExtension, range: range(from: head.start))
    }

    private mutating func directiveDefinition(
        _ description: Description?, from start: Int
    ) throws(SyntaxError) -> DirectiveDefinition {
        try expect(keyword: "directive")
        try expect(.at)
        let name = try name()
        let arguments = try inputValues(.leftParenthesis, .rightParenthesis)
        let isRepeatable = try accept(keyword: "repeatable")
        try expect(keyword: "on")
        let locations = try delimited(by: .pipe) { parser throws(SyntaxError) in
            guard parser.token.kind == .name else { throw parser.unexpected(expected: "Name") }
            guard let location = DirectiveLocation(rawValue: parser.token.value) else { throw parser.unexpected() }
            try parser.advance()
            return location
        }
        return DirectiveDefinition(
            description: description, name: name, arguments: arguments, isRepeatable: isRepeatable,
            locations: locations, range: range(from: start))
    }
}
