import GraphQLLanguage
package import SchemaModel

/// The type of a variable, or the type expected where it is used.
package indirect enum InputType: Sendable, Hashable {
    case scalar(ScalarType)
    /// `Novel_Key`, with the table's type name.
    case key(String)
    /// `Novel_Data`, with the table's type name.
    case data(String)
    /// `Date_Relative`, `Timestamp_Relative`
    case relative(isDate: Bool)
    /// `Date_Duration`, `Timestamp_Duration`
    case duration(isDate: Bool)
    /// `Novel_Filter`, `Novel_Order`, `String_Filter`, …
    case generated(InputTypeRef)
    /// `ASC` or `DESC`
    case orderDirection
    /// `Search_QueryFormat`: how a search reads its query.
    case searchFormat
    case list(InputType)
    case nonNull(InputType)

    init(_ column: ColumnType) {
        self = column.isList ? .list(.nonNull(.scalar(column.scalar))) : .scalar(column.scalar)
    }

    /// Whether the value determines the SQL text: `Novel_Filter`, `[Novel_Order!]`.
    var isDynamic: Bool {
        switch self {
        case .generated: true
        case .list(let inner), .nonNull(let inner): inner.isDynamic
        case .scalar, .key, .data, .relative, .duration, .orderDirection, .searchFormat: false
        }
    }

    package var nullable: InputType {
        if case .nonNull(let inner) = self { inner } else { self }
    }

    package var isNonNull: Bool {
        if case .nonNull = self { true } else { false }
    }

    /// The type in GraphQL syntax.
    var text: String {
        switch self {
        case .scalar(let scalar): scalar.typeName
        case .key(let type): "\(type)_Key"
        case .data(let type): "\(type)_Data"
        case .relative(let isDate): isDate ? "Date_Relative" : "Timestamp_Relative"
        case .duration(let isDate): isDate ? "Date_Duration" : "Timestamp_Duration"
        case .generated(let input): input.typeName
        case .orderDirection: "OrderDirection"
        case .searchFormat: "Search_QueryFormat"
        case .list(let element): "[\(element.text)]"
        case .nonNull(let inner): "\(inner.text)!"
        }
    }

    /// Returns whether a variable of this type may be used where `expected` is required (GraphQL specification §5.8.5).
    /// A default other than null makes up for a missing `!`.
    func accepts(in expected: InputType, hasDefault: Bool) -> Bool {
        if case .nonNull(let inner) = expected, !isNonNull { return hasDefault && isCompatible(with: inner) }
        return isCompatible(with: expected)
    }

    private func isCompatible(with expected: InputType) -> Bool {
        switch (self, expected) {
        case (.nonNull(let mine), .nonNull(let other)): mine.isCompatible(with: other)
        case (_, .nonNull): false
        case (.nonNull(let mine), _): mine.isCompatible(with: expected)
        case (.list(let mine), .list(let other)): mine.isCompatible(with: other)
        case (.list, _), (_, .list): false
        default: self == expected
        }
    }
}

extension Schema {
    /// Returns nil for a type that variables cannot have.
    func inputType(_ reference: TypeReference) -> InputType? {
        switch reference.kind {
        case .nonNull(let inner): inputType(inner).map(InputType.nonNull)
        case .list(let inner): inputType(inner).map(InputType.list)
        case .named(let name): inputType(named: name)
        }
    }

    private func inputType(named name: String) -> InputType? {
        if let scalar = ScalarType.named(name) { return .scalar(scalar) }
        if enums[name] != nil { return .scalar(.enumeration(name)) }
        for type in [InputType.orderDirection, .searchFormat] where type.text == name { return type }
        for isDate in [true, false] {
            for type in [InputType.relative(isDate: isDate), .duration(isDate: isDate)] where type.text == name {
                return type
            }
        }
        if name.hasSuffix("_Key"), tables.contains(where: { $0.typeName == name.dropLast(4) }) {
            return .key(String(name.dropLast(4)))
        }
        if name.hasSuffix("_Data"), tables.contains(where: { $0.typeName == name.dropLast(5) }) {
            return .data(String(name.dropLast(5)))
        }
        return inputTypeRef(named: name).map(InputType.generated)
    }

    /// Names of types that variables can have, for suggestions.
    var inputTypeNames: [String] {
        ScalarType.names + enums.keys.sorted() + ["OrderDirection", "Search_QueryFormat", "String_Pattern"]
            + [true, false].flatMap { [InputType.relative(isDate: $0).text, InputType.duration(isDate: $0).text] }
            + tables.flatMap { ["\($0.typeName)_Key", "\($0.typeName)_Data", "\($0.typeName)_FirstRow"] }
            + (tables + views).flatMap { table in
                ["Filter", "ListFilter", "Having", "Order"].map { "\(table.typeName)_\($0)" }
            }
    }
}
