/// A parsed document: operations, fragments and type system definitions in source order.
package struct Document: Sendable {
    package var definitions: [Definition]
    package var range: SourceRange

    package init(definitions: [Definition], range: SourceRange = .none) {
        self.definitions = definitions
        self.range = range
    }

    package var operations: [OperationDefinition] {
        definitions.compactMap { if case .operation(let operation) = $0 { operation } else { nil } }
    }

    package var fragments: [FragmentDefinition] {
        definitions.compactMap { if case .fragment(let fragment) = $0 { fragment } else { nil } }
    }
}

/// One definition of a document. A type system extension uses the same case with the node's `isExtension` set.
package enum Definition: Sendable {
    case operation(OperationDefinition)
    case fragment(FragmentDefinition)
    case schema(SchemaDefinition)
    case scalar(ScalarTypeDefinition)
    case object(ObjectTypeDefinition)
    case interface(InterfaceTypeDefinition)
    case union(UnionTypeDefinition)
    case `enum`(EnumTypeDefinition)
    case inputObject(InputObjectTypeDefinition)
    case directive(DirectiveDefinition)
}

extension Definition {
    /// The name; nil for anonymous operations and for `schema`.
    package var name: Name? {
        switch self {
        case .operation(let node): node.name
        case .fragment(let node): node.name
        case .schema: nil
        case .scalar(let node): node.name
        case .object(let node): node.name
        case .interface(let node): node.name
        case .union(let node): node.name
        case .enum(let node): node.name
        case .inputObject(let node): node.name
        case .directive(let node): node.name
        }
    }

    package var range: SourceRange {
        switch self {
        case .operation(let node): node.range
        case .fragment(let node): node.range
        case .schema(let node): node.range
        case .scalar(let node): node.range
        case .object(let node): node.range
        case .interface(let node): node.range
        case .union(let node): node.range
        case .enum(let node): node.range
        case .inputObject(let node): node.range
        case .directive(let node): node.range
        }
    }

    package var isExtension: Bool {
        switch self {
        case .operation, .fragment, .directive: false
        case .schema(let node): node.isExtension
        case .scalar(let node): node.isExtension
        case .object(let node): node.isExtension
        case .interface(let node): node.isExtension
        case .union(let node): node.isExtension
        case .enum(let node): node.isExtension
        case .inputObject(let node): node.isExtension
        }
    }
}

/// The kind of an operation.
package enum OperationKind: String, Sendable, Hashable, CaseIterable {
    case query, mutation, subscription
}

/// An operation: `query Name($variable: Type) @directive { … }`.
package struct OperationDefinition: Sendable {
    package var kind: OperationKind
    package var name: Name?
    package var description: Description?
    package var variables: [VariableDefinition]
    package var directives: [Directive]
    package var selectionSet: SelectionSet
    package var range: SourceRange

    package init(
        kind: OperationKind, name: Name? = nil, description: Description? = nil,
        variables: [VariableDefinition] = [], directives: [Directive] = [], selectionSet: SelectionSet,
        range: SourceRange = .none
    ) {
        self.kind = kind
        self.name = name
        self.description = description
        self.variables = variables
        self.directives = directives
        self.selectionSet = selectionSet
        self.range = range
    }
}

/// A variable that an operation declares.
package struct VariableDefinition: Sendable {
    /// The name without `$`; the range includes it.
    package var name: Name
    package var description: Description?
    package var type: TypeReference
    package var defaultValue: Value?
    package var directives: [Directive]
    package var range: SourceRange

    package init(
        name: Name, description: Description? = nil, type: TypeReference, defaultValue: Value? = nil,
        directives: [Directive] = [], range: SourceRange = .none
    ) {
        self.name = name
        self.description = description
        self.type = type
        self.defaultValue = defaultValue
        self.directives = directives
        self.range = range
    }
}

/// `fragment Name on Type { … }`
package struct FragmentDefinition: Sendable {
    package var name: Name
    package var description: Description?
    package var typeCondition: Name
    package var directives: [Directive]
    package var selectionSet: SelectionSet
    package var range: SourceRange

    package init(
        name: Name, description: Description? = nil, typeCondition: Name, directives: [Directive] = [],
        selectionSet: SelectionSet, range: SourceRange = .none
    ) {
        self.name = name
        self.description = description
        self.typeCondition = typeCondition
        self.directives = directives
        self.selectionSet = selectionSet
        self.range = range
    }
}

/// The fields and fragments between two braces.
package struct SelectionSet: Sendable {
    /// Never empty if it comes from the parser.
    package var selections: [Selection]
    package var range: SourceRange

    package init(_ selections: [Selection], range: SourceRange = .none) {
        self.selections = selections
        self.range = range
    }
}

/// One item of a selection set.
package enum Selection: Sendable {
    case field(Field)
    case fragmentSpread(FragmentSpread)
    case inlineFragment(InlineFragment)

    package var range: SourceRange {
        switch self {
        case .field(let node): node.range
        case .fragmentSpread(let node): node.range
        case .inlineFragment(let node): node.range
        }
    }

    package var directives: [Directive] {
        switch self {
        case .field(let node): node.directives
        case .fragmentSpread(let node): node.directives
        case .inlineFragment(let node): node.directives
        }
    }
}

/// A field, with alias, arguments, directives and selection set.
package struct Field: Sendable {
    package var alias: Name?
    package var name: Name
    package var arguments: [Argument]
    package var directives: [Directive]
    package var selectionSet: SelectionSet?
    package var range: SourceRange

    package init(
        alias: Name? = nil, name: Name, arguments: [Argument] = [], directives: [Directive] = [],
        selectionSet: SelectionSet? = nil, range: SourceRange = .none
    ) {
        self.alias = alias
        self.name = name
        self.arguments = arguments
        self.directives = directives
        self.selectionSet = selectionSet
        self.range = range
    }

    /// The field's key in the result: the alias, or else the name.
    package var responseKey: String { alias?.value ?? name.value }
}

/// `...Name`
package struct FragmentSpread: Sendable {
    package var name: Name
    package var directives: [Directive]
    package var range: SourceRange

    package init(name: Name, directives: [Directive] = [], range: SourceRange = .none) {
        self.name = name
        self.directives = directives
        self.range = range
    }
}

/// `... on Type { … }`, or without a type condition.
package struct InlineFragment: Sendable {
    package var typeCondition: Name?
    package var directives: [Directive]
    package var selectionSet: SelectionSet
    package var range: SourceRange

    package init(
        typeCondition: Name? = nil, directives: [Directive] = [], selectionSet: SelectionSet,
        range: SourceRange = .none
    ) {
        self.typeCondition = typeCondition
        self.directives = directives
        self.selectionSet = selectionSet
        self.range = range
    }
}

/// A named argument of a field or directive.
package struct Argument: Sendable {
    package var name: Name
    package var value: Value
    package var range: SourceRange

    package init(name: Name, value: Value, range: SourceRange = .none) {
        self.name = name
        self.value = value
        self.range = range
    }
}

/// An applied directive: `@name(argument: value)`.
package struct Directive: Sendable {
    /// The name without `@`.
    package var name: Name
    package var arguments: [Argument]
    package var range: SourceRange

    package init(name: Name, arguments: [Argument] = [], range: SourceRange = .none) {
        self.name = name
        self.arguments = arguments
        self.range = range
    }
}

extension [Argument] {
    /// Returns the value of the first argument with this name.
    package func value(of name: String) -> Value? {
        first { $0.name.value == name }?.value
    }
}

extension [Directive] {
    /// Returns the first directive with this name, given without `@`.
    package func first(named name: String) -> Directive? {
        first { $0.name.value == name }
    }

    /// Returns all directives with this name, given without `@`.
    package func all(named name: String) -> [Directive] {
        filter { $0.name.value == name }
    }
}
