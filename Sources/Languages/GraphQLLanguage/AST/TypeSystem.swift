// Type system definitions (specification, section 3). A node with `isExtension` set represents `extend …`.

/// `schema { query: QueryType }`
package struct SchemaDefinition: Sendable {
    package var description: Description?
    package var directives: [Directive]
    package var operationTypes: [OperationTypeDefinition]
    package var isExtension: Bool
    package var range: SourceRange

    package init(
        description: Description? = nil, directives: [Directive] = [], operationTypes: [OperationTypeDefinition] = [],
        isExtension: Bool = false, range: SourceRange = .none
    ) {
        self.description = description
        self.directives = directives
        self.operationTypes = operationTypes
        self.isExtension = isExtension
        self.range = range
    }
}

/// `query: QueryType` in a schema definition.
package struct OperationTypeDefinition: Sendable {
    package var operation: OperationKind
    package var type: Name
    package var range: SourceRange

    package init(operation: OperationKind, type: Name, range: SourceRange = .none) {
        self.operation = operation
        self.type = type
        self.range = range
    }
}

/// `scalar Name`
package struct ScalarTypeDefinition: Sendable {
    package var description: Description?
    package var name: Name
    package var directives: [Directive]
    package var isExtension: Bool
    package var range: SourceRange

    package init(
        description: Description? = nil, name: Name, directives: [Directive] = [], isExtension: Bool = false,
        range: SourceRange = .none
    ) {
        self.description = description
        self.name = name
        self.directives = directives
        self.isExtension = isExtension
        self.range = range
    }
}

/// `type Name implements Interface { … }`
package struct ObjectTypeDefinition: Sendable {
    package var description: Description?
    package var name: Name
    package var interfaces: [Name]
    package var directives: [Directive]
    package var fields: [FieldDefinition]
    package var isExtension: Bool
    package var range: SourceRange

    package init(
        description: Description? = nil, name: Name, interfaces: [Name] = [], directives: [Directive] = [],
        fields: [FieldDefinition] = [], isExtension: Bool = false, range: SourceRange = .none
    ) {
        self.description = description
        self.name = name
        self.interfaces = interfaces
        self.directives = directives
        self.fields = fields
        self.isExtension = isExtension
        self.range = range
    }
}

/// `interface Name { … }`
package struct InterfaceTypeDefinition: Sendable {
    package var description: Description?
    package var name: Name
    package var interfaces: [Name]
    package var directives: [Directive]
    package var fields: [FieldDefinition]
    package var isExtension: Bool
    package var range: SourceRange

    package init(
        description: Description? = nil, name: Name, interfaces: [Name] = [], directives: [Directive] = [],
        fields: [FieldDefinition] = [], isExtension: Bool = false, range: SourceRange = .none
    ) {
        self.description = description
        self.name = name
        self.interfaces = interfaces
        self.directives = directives
        self.fields = fields
        self.isExtension = isExtension
        self.range = range
    }
}

/// A field of an object or interface type.
package struct FieldDefinition: Sendable {
    package var description: Description?
    package var name: Name
    package var arguments: [InputValueDefinition]
    package var type: TypeReference
    package var directives: [Directive]
    package var range: SourceRange

    package init(
        description: Description? = nil, name: Name, arguments: [InputValueDefinition] = [], type: TypeReference,
        directives: [Directive] = [], range: SourceRange = .none
    ) {
        self.description = description
        self.name = name
        self.arguments = arguments
        self.type = type
        self.directives = directives
        self.range = range
    }
}

/// An argument of a field or directive, or a field of an input object.
package struct InputValueDefinition: Sendable {
    package var description: Description?
    package var name: Name
    package var type: TypeReference
    package var defaultValue: Value?
    package var directives: [Directive]
    package var range: SourceRange

    package init(
        description: Description? = nil, name: Name, type: TypeReference, defaultValue: Value? = nil,
        directives: [Directive] = [], range: SourceRange = .none
    ) {
        self.description = description
        self.name = name
        self.type = type
        self.defaultValue = defaultValue
        self.directives = directives
        self.range = range
    }
}

/// `union Name = A | B`
package struct UnionTypeDefinition: Sendable {
    package var description: Description?
    package var name: Name
    package var directives: [Directive]
    package var types: [Name]
    package var isExtension: Bool
    package var range: SourceRange

    package init(
        description: Description? = nil, name: Name, directives: [Directive] = [], types: [Name] = [],
        isExtension: Bool = false, range: SourceRange = .none
    ) {
        self.description = description
        self.name = name
        self.directives = directives
        self.types = types
        self.isExtension = isExtension
        self.range = range
    }
}

/// `enum Name { … }`
package struct EnumTypeDefinition: Sendable {
    package var description: Description?
    package var name: Name
    package var directives: [Directive]
    package var values: [EnumValueDefinition]
    package var isExtension: Bool
    package var range: SourceRange

    package init(
        description: Description? = nil, name: Name, directives: [Directive] = [],
        values: [EnumValueDefinition] = [], isExtension: Bool = false, range: SourceRange = .none
    ) {
        self.description = description
        self.name = name
        self.directives = directives
        self.values = values
        self.isExtension = isExtension
        self.range = range
    }
}

/// A value of an enum type.
package struct EnumValueDefinition: Sendable {
    package var description: Description?
    package var name: Name
    package var directives: [Directive]
    package var range: SourceRange

    package init(
        description: Description? = nil, name: Name, directives: [Directive] = [], range: SourceRange = .none
    ) {
        self.description = description
        self.name = name
        self.directives = directives
        self.range = range
    }
}

/// `input Name { … }`
package struct InputObjectTypeDefinition: Sendable {
    package var description: Description?
    package var name: Name
    package var directives: [Directive]
    package var fields: [InputValueDefinition]
    package var isExtension: Bool
    package var range: SourceRange

    package init(
        description: Description? = nil, name: Name, directives: [Directive] = [],
        fields: [InputValueDefinition] = [], isExtension: Bool = false, range: SourceRange = .none
    ) {
        self.description = description
        self.name = name
        self.directives = directives
        self.fields = fields
        self.isExtension = isExtension
        self.range = range
    }
}

/// `directive @name(arguments) repeatable on LOCATION | …`
package struct DirectiveDefinition: Sendable {
    package var description: Description?
    package var name: Name
    package var arguments: [InputValueDefinition]
    package var isRepeatable: Bool
    package var locations: [DirectiveLocation]
    package var range: SourceRange

    package init(
        description: Description? = nil, name: Name, arguments: [InputValueDefinition] = [],
        isRepeatable: Bool = false, locations: [DirectiveLocation], range: SourceRange = .none
    ) {
        self.description = description
        self.name = name
        self.arguments = arguments
        self.isRepeatable = isRepeatable
        self.locations = locations
        self.range = range
    }
}

/// A location where a directive is allowed (specification, section 3.13).
package enum DirectiveLocation: String, Sendable, Hashable, CaseIterable {
    case query = "QUERY"
    case mutation = "MUTATION"
    case subscription = "SUBSCRIPTION"
    case field = "FIELD"
    case fragmentDefinition = "FRAGMENT_DEFINITION"
    case fragmentSpread = "FRAGMENT_SPREAD"
    case inlineFragment = "INLINE_FRAGMENT"
    case variableDefinition = "VARIABLE_DEFINITION"
    case schema = "SCHEMA"
    case scalar = "SCALAR"
    case object = "OBJECT"
    case fieldDefinition = "FIELD_DEFINITION"
    case argumentDefinition = "ARGUMENT_DEFINITION"
    case interface = "INTERFACE"
    case union = "UNION"
    case `enum` = "ENUM"
    case enumValue = "ENUM_VALUE"
    case inputObject = "INPUT_OBJECT"
    case inputFieldDefinition = "INPUT_FIELD_DEFINITION"
}
