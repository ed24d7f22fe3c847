extension Printer {
    /// Prints the description, `extend` for extensions, and the keyword.
    private mutating func head(_ keyword: String, _ description: Description?, isExtension: Bool) {
        self.description(isExtension ? nil : description)
        if isExtension { emit("extend") }
        emit(keyword)
    }

    mutating func schema(_ node: SchemaDefinition) {
        head("schema", node.description, isExtension: node.isExtension)
        directives(node.directives)
        block(node.operationTypes) { printer, node in
            printer.emit("\(node.operation.rawValue):")
            printer.space()
            printer.emit(node.type.value)
        }
    }

    mutating func scalar(_ node: ScalarTypeDefinition) {
        head("scalar", node.description, isExtension: node.isExtension)
        emit(node.name.value)
        directives(node.directives)
    }

    mutating func object(_ node: ObjectTypeDefinition) {
        head("type", node.description, isExtension: node.isExtension)
        emit(node.name.value)
        interfaces(node.interfaces)
        directives(node.directives)
        block(node.fields) { $0.field($1) }
    }

    mutating func interface(_ node: InterfaceTypeDefinition) {
        head("interface", node.description, isExtension: node.isExtension)
        emit(node.name.value)
        interfaces(node.interfaces)
        directives(node.directives)
        block(node.fields) { $0.field($1) }
    }

    private mutating func interfaces(_ names: [Name]) {
        guard !names.isEmpty else { return }
        emit("implements")
        joined(names, by: "&")
    }

    private mutating func field(_ node: FieldDefinition) {
        description(node.description)
        emit(node.name.value)
        argumentDefinitions(node.arguments)
        emit(":")
        space()
        emit(node.type.description)
        directives(node.directives)
    }

    private mutating func argumentDefinitions(_ nodes: [InputValueDefinition]) {
        guard !nodes.isEmpty else { return }
        if nodes.contains(where: { $0.description != nil }) {
            lines("(", nodes, ")") { $0.inputValue($1) }
        } else {
            inline("(", nodes, ")") { $0.inputValue($1) }
        }
    }

    private mutating func inputValue(_ node: InputValueDefinition) {
        description(node.description)
        emit("\(node.name.value):")
        space()
        emit(node.type.description)
        defaultValue(node.defaultValue)
        directives(node.directives)
    }

    mutating func union(_ node: UnionTypeDefinition) {
        head("union", node.description, isExtension: node.isExtension)
        emit(node.name.value)
        directives(node.directives)
        guard !node.types.isEmpty else { return }
        space()
        emit("=")
        joined(node.types, by: "|")
    }

    mutating func enumeration(_ node: EnumTypeDefinition) {
        head("enum", node.description, isExtension: node.isExtension)
        emit(node.name.value)
        directives(node.directives)
        block(node.values) { printer, node in
            printer.description(node.description)
            printer.emit(node.name.value)
            printer.directives(node.directives)
        }
    }

    mutating func inputObject(_ node: InputObjectTypeDefinition) {
        head("input", node.description, isExtension: node.isExtension)
        emit(node.name.value)
        directives(node.directives)
        block(node.fields) { $0.inputValue($1) }
    }

    mutating func directiveDefinition(_ node: DirectiveDefinition) {
        head("directive", node.description, isExtension: false)
        space()
        emit("@\(node.name.value)")
        argumentDefinitions(node.arguments)
        if node.isRepeatable {
            space()
            emit("repeatable")
        }
        space()
        emit("on")
        joined(node.locations.map { Name($0.rawValue) }, by: "|")
    }

    /// Prints items on lines between braces, or nothing if there are none.
    private mutating func block<Item>(_ items: [Item], _ print: (inout Printer, Item) -> Void) {
        guard !items.isEmpty else { return }
        space()
        lines("{", items, "}", print)
    }

    private mutating func joined(_ names: [Name], by separator: String) {
        for (number, name) in names.enumerated() {
            if number > 0 {
                space()
                emit(separator)
            }
            space()
            emit(name.value)
        }
    }
}
