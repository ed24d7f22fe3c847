/// A name as written: `[_A-Za-z][_0-9A-Za-z]*`.
package struct Name: Sendable {
    package var value: String
    package var range: SourceRange

    package init(_ value: String, range: SourceRange = .none) {
        self.value = value
        self.range = range
    }
}

/// The description in front of a definition.
package struct Description: Sendable {
    package var value: String
    /// Whether it is a block string.
    package var isBlock: Bool
    package var range: SourceRange

    package init(_ value: String, isBlock: Bool = false, range: SourceRange = .none) {
        self.value = value
        self.isBlock = isBlock
        self.range = range
    }
}

/// An input value (specification, section 2.9). Nodes are not `Equatable`, since positions would take part; to compare
/// structure, compare `description`, the compact text.
package struct Value: Sendable {
    package var kind: ValueKind
    package var range: SourceRange

    package init(_ kind: ValueKind, range: SourceRange = .none) {
        self.kind = kind
        self.range = range
    }
}

/// The kind and content of an input value.
package indirect enum ValueKind: Sendable {
    /// The name, without `$`.
    case variable(String)
    /// The digits as written; they may exceed any machine integer.
    case int(String)
    /// The text as written.
    case float(String)
    /// The decoded text; `block` marks a block string.
    case string(String, block: Bool)
    case boolean(Bool)
    case null
    case `enum`(String)
    case list([Value])
    /// The fields in source order; duplicate names are kept and rejected by validation.
    case object([ObjectField])
}

/// A field of an input object value.
package struct ObjectField: Sendable {
    package var name: Name
    package var value: Value
    package var range: SourceRange

    package init(name: Name, value: Value, range: SourceRange = .none) {
        self.name = name
        self.value = value
        self.range = range
    }
}

extension Value {
    /// The decoded text of a string value.
    package var stringValue: String? {
        if case .string(let text, _) = kind { text } else { nil }
    }

    package var boolValue: Bool? {
        if case .boolean(let value) = kind { value } else { nil }
    }

    /// The integer if it fits 64 bits.
    package var intValue: Int64? {
        if case .int(let text) = kind { Int64(text) } else { nil }
    }

    /// The number of an int or float literal, if a finite double can represent it.
    package var doubleValue: Double? {
        switch kind {
        case .int(let text), .float(let text):
            guard let number = Double(text), number.isFinite else { return nil }
            return number
        case .variable, .string, .boolean, .null, .enum, .list, .object:
            return nil
        }
    }

    package var enumValue: String? {
        if case .enum(let name) = kind { name } else { nil }
    }

    package var variableName: String? {
        if case .variable(let name) = kind { name } else { nil }
    }

    package var listValue: [Value]? {
        if case .list(let values) = kind { values } else { nil }
    }

    package var objectFields: [ObjectField]? {
        if case .object(let fields) = kind { fields } else { nil }
    }

    package var isNull: Bool {
        if case .null = kind { true } else { false }
    }

    /// Returns the first field with this name if this is an object.
    package func field(_ name: String) -> Value? {
        objectFields?.first { $0.name.value == name }?.value
    }

    /// The names of all variables in the value, in source order, with repetitions.
    package var variableNames: [String] {
        switch kind {
        case .variable(let name): [name]
        case .list(let values): values.flatMap(\.variableNames)
        case .object(let fields): fields.flatMap(\.value.variableNames)
        case .int, .float, .string, .boolean, .null, .enum: []
        }
    }
}

/// A type as written in a reference (specification, section 2.11): `Name`, `[T]`, `T!`.
package struct TypeReference: Sendable {
    package indirect enum Kind: Sendable {
        case named(String)
        case list(TypeReference)
        /// Never contains another `nonNull` if it comes from the parser.
        case nonNull(TypeReference)
    }

    package var kind: Kind
    package var range: SourceRange

    package init(_ kind: Kind, range: SourceRange = .none) {
        self.kind = kind
        self.range = range
    }
}

extension TypeReference: CustomStringConvertible {
    /// The canonical text, such as `[ID!]!`; two references denote the same type exactly when their texts are equal.
    package var description: String {
        switch kind {
        case .named(let name): name
        case .list(let element): "[\(element.description)]"
        case .nonNull(let wrapped): "\(wrapped.description)!"
        }
    }

    /// The innermost type name, without lists and non-nulls.
    package var namedType: String {
        switch kind {
        case .named(let name): name
        case .list(let inner), .nonNull(let inner): inner.namedType
        }
    }

    package var isNonNull: Bool {
        if case .nonNull = kind { true } else { false }
    }

    /// The type without its outermost `!`.
    package var nullable: TypeReference {
        if case .nonNull(let wrapped) = kind { wrapped } else { self }
    }

    /// The element type if this is a list or a non-null list.
    package var listElement: TypeReference? {
        if case .list(let element) = nullable.kind { element } else { nil }
    }
}
