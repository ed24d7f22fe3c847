// Values, type references, directives and arguments (specification, sections 2.6, 2.9, 2.11 and 2.12).
extension Parser {
    mutating func value(isConstant: Bool) throws(SyntaxError) -> Value {
        let token = token
        switch token.kind {
        case .leftBracket:
            let values = try nested { parser throws(SyntaxError) in
                try parser.any(.leftBracket, .rightBracket) { parser throws(SyntaxError) in
                    try parser.value(isConstant: isConstant)
                }
            }
            return Value(.list(values), range: range(from: token.start))
        case .leftBrace:
            let fields = try nested { parser throws(SyntaxError) in
                try parser.any(.leftBrace, .rightBrace) { parser throws(SyntaxError) in
                    try parser.objectField(isConstant: isConstant)
                }
            }
            return Value(.object(fields), range: range(from: token.start))
        case .dollar:
            let variable = try self.variable()
            if isConstant {
                throw error(
                    .variableInConstant, "Unexpected variable '$\(variable.value)' in constant value", at: token)
            }
            return Value(.variable(variable.value), range: variable.range)
        case .int: return try literal(.int(token.value))
        case .float: return try literal(.float(token.value))
        case .string: return try literal(.string(token.value, block: false))
        case .blockString: return try literal(.string(token.value, block: true))
        case .name:
            switch token.value {
            case "true": return try literal(.boolean(true))
            case "false": return try literal(.boolean(false))
            case "null": return try literal(.null)
            default: return try literal(.enum(token.value))
            }
        case .startOfFile, .endOfFile, .bang, .ampersand, .leftParenthesis, .rightParenthesis, .spread, .colon,
            .equals, .at, .rightBracket, .pipe, .rightBrace:
            throw unexpected()
        }
    }

    private mutating func literal(_ kind: ValueKind) throws(SyntaxError) -> Value {
        let range = token.range
        try advance()
        return Value(kind, range: range)
    }

    private mutating func objectField(isConstant: Bool) throws(SyntaxError) -> ObjectField {
        let start = token.start
        let name = try name()
        try expect(.colon)
        let value = try value(isConstant: isConstant)
        return ObjectField(name: name, value: value, range: range(from: start))
    }

    /// Parses `$name`; the returned range includes the dollar sign, the name does not.
    mutating func variable() throws(SyntaxError) -> Name {
        let start = token.start
        try expect(.dollar)
        let name = try name()
        return Name(name.value, range: range(from: start))
    }

    /// Parses any number of items between two punctuators.
    private mutating func any<Item>(
        _ open: Token.Kind, _ close: Token.Kind, _ item: (inout Parser) throws(SyntaxError) -> Item
    ) throws(SyntaxError) -> [Item] {
        try expect(open)
        var items: [Item] = []
        while token.kind != close { items.append(try item(&self)) }
        try advance()
        return items
    }

    mutating func typeReference() throws(SyntaxError) -> TypeReference {
        let start = token.start
        let type: TypeReference
        if token.kind == .leftBracket {
            let element = try nested { parser throws(SyntaxError) in
                try parser.advance()
                let element = try parser.typeReference()
                try parser.expect(.rightBracket)
                return element
            }
            type = TypeReference(.list(element), range: range(from: start))
        } else {
            let name = try name()
            type = TypeReference(.named(name.value), range: name.range)
        }
        guard try accept(.bang) else { return type }
        return TypeReference(.nonNull(type), range: range(from: start))
    }

    mutating func directives(isConstant: Bool) throws(SyntaxError) -> [Directive] {
        var directives: [Directive] = []
        while token.kind == .at {
            let start = token.start
            try advance()
            let name = try name()
            let arguments = try arguments(isConstant: isConstant)
            directives.append(Directive(name: name, arguments: arguments, range: range(from: start)))
        }
        return directives
    }

    mutating func arguments(isConstant: Bool) throws(SyntaxError) -> [Argument] {
        try optionalMany(.leftParenthesis, .rightParenthesis) { parser throws(SyntaxError) in
            let start = parser.token.start
            let name = try parser.name()
            try parser.expect(.colon)
            let value = try parser.value(isConstant: isConstant)
            return Argument(name: name, value: value, range: parser.range(from: start))
        }
    }
}
