extension Printer {
    mutating func document(_ document: Document) {
        for (number, definition) in document.definitions.enumerated() {
            if number > 0 { blankLine() }
            self.definition(definition)
            allowsShorthand = Self.isExecutable(definition)
        }
        newLine()
    }

    private static func isExecutable(_ definition: Definition) -> Bool {
        switch definition {
        case .operation, .fragment: true
        case .schema, .scalar, .object, .interface, .union, .enum, .inputObject, .directive: false
        }
    }

    mutating func definition(_ definition: Definition) {
        switch definition {
        case .operation(let node): operation(node)
        case .fragment(let node): fragment(node)
        case .schema(let node): schema(node)
        case .scalar(let node): scalar(node)
        case .object(let node): object(node)
        case .interface(let node): interface(node)
        case .union(let node): union(node)
        case .enum(let node): enumeration(node)
        case .inputObject(let node): inputObject(node)
        case .directive(let node): directiveDefinition(node)
        }
    }

    private mutating func operation(_ node: OperationDefinition) {
        description(node.description)
        let isShorthand =
            allowsShorthand && node.kind == .query && node.name == nil && node.description == nil
            && node.variables.isEmpty
            && node.directives.isEmpty
        if !isShorthand {
            emit(node.kind.rawValue)
            if let name = node.name {
                space()
                emit(name.value)
            } else if !node.variables.isEmpty {
                space()
            }
            variables(node.variables)
            directives(node.directives)
            space()
        }
        selectionSet(node.selectionSet)
    }

    mutating func variables(_ nodes: [VariableDefinition]) {
        guard !nodes.isEmpty else { return }
        if nodes.contains(where: { $0.description != nil }) {
            lines("(", nodes, ")") { $0.variable($1) }
        } else {
            inline("(", nodes, ")") { $0.variable($1) }
        }
    }

    private mutating func variable(_ node: VariableDefinition) {
        description(node.description)
        emit("$\(node.name.value):")
        space()
        emit(node.type.description)
        defaultValue(node.defaultValue)
        directives(node.directives)
    }

    mutating func fragment(_ node: FragmentDefinition) {
        description(node.description)
        emit("fragment")
        emit(node.name.value)
        emit("on")
        emit(node.typeCondition.value)
        directives(node.directives)
        space()
        selectionSet(node.selectionSet)
    }

    mutating func selectionSet(_ node: SelectionSet) {
        lines("{", node.selections, "}") { $0.selection($1) }
    }

    private mutating func selection(_ node: Selection) {
        switch node {
        case .field(let node): field(node)
        case .fragmentSpread(let node):
            emit("...\(node.name.value)")
            directives(node.directives)
        case .inlineFragment(let node):
            emit("...")
            if let typeCondition = node.typeCondition {
                space()
                emit("on")
                emit(typeCondition.value)
            }
            directives(node.directives)
            space()
            selectionSet(node.selectionSet)
        }
    }

    private mutating func field(_ node: Field) {
        if let alias = node.alias {
            emit("\(alias.value):")
            space()
        }
        emit(node.name.value)
        arguments(node.arguments)
        directives(node.directives)
        if let selectionSet = node.selectionSet {
            space()
            self.selectionSet(selectionSet)
        }
    }

    private mutating func arguments(_ nodes: [Argument]) {
        guard !nodes.isEmpty else { return }
        inline("(", nodes, ")") { printer, node in
            printer.emit("\(node.name.value):")
            printer.space()
            printer.value(node.value)
        }
    }

    /// Prints directives, each preceded by a space.
    mutating func directives(_ nodes: [Directive]) {
        for node in nodes {
            if !text.isEmpty { space() }
            emit("@\(node.name.value)")
            arguments(node.arguments)
        }
    }

    mutating func defaultValue(_ node: Value?) {
        guard let node else { return }
        space()
        emit("=")
        space()
        value(node)
    }

    mutating func value(_ node: Value) {
        switch node.kind {
        case .variable(let name): emit("$\(name)")
        case .int(let text), .float(let text): emit(text)
        case .string(let text, let isBlock): string(text, isBlock: isBlock)
        case .boolean(let value): emit(value ? "true" : "false")
        case .null: emit("null")
        case .enum(let name): emit(name)
        case .list(let values): inline("[", values, "]") { $0.value($1) }
        case .object(let fields):
            inline("{", fields, "}") { printer, field in
                printer.emit("\(field.name.value):")
                printer.space()
                printer.value(field.value)
            }
        }
    }
}
