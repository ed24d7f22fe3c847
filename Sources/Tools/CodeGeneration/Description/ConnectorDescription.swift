/// A connector as client code sees it, independent of any programming language: the only input of the printers.
///
/// `ConnectorDescriber` derives it from a compiled catalog. Lists are in a fixed order, so that the same project always
/// yields the same text.
package struct ConnectorDescription: Sendable {
    package var serviceID: String
    package var location: String
    /// The `connectorId`.
    package var id: String
    /// Changes with every change of an operation or of the schema.
    package var revision: String
    /// The operations in the order of the connector's files.
    package var operations: [OperationDescription]
    /// The keys of all tables, sorted by type name.
    package var keys: [KeyDescription]
    /// The enums of the schema, and others that operations use, sorted by name.
    package var enums: [EnumDescription]
    /// The input objects that variables use, sorted by name.
    package var inputs: [InputDescription]

    package func key(of typeName: String) -> KeyDescription? { keys.first { $0.typeName == typeName } }
    package func input(named name: String) -> InputDescription? { inputs.first { $0.name == name } }

    /// Whether any type of the connector satisfies a condition: of variables, results, keys or inputs.
    package func contains(_ condition: (ValueType) -> Bool) -> Bool {
        operations.contains { operation in
            operation.variables.contains { $0.type.contains(condition) } || operation.result.contains(condition)
        } || keys.contains { $0.fields.contains { $0.type.contains(condition) } }
            || inputs.contains { $0.fields.contains { $0.type.contains(condition) } }
    }
}

/// A query or mutation that clients run by name.
package struct OperationDescription: Sendable {
    package enum Kind: String, Sendable {
        case query, mutation
    }

    package var name: String
    package var kind: Kind
    /// The description before the operation, or else the comment lines directly above it.
    package var documentation: String?
    /// `PUBLIC`, `USER`, …; nil if `@auth` has an expression.
    package var accessLevel: String?
    /// Whether followers may receive further results.
    package var isRefreshed: Bool
    /// Changes with the operation's text and the schema.
    package var revision: String
    package var variables: [VariableDescription]
    package var result: ObjectShape

    package var requiredVariables: [VariableDescription] { variables.filter(\.isRequired) }
    package var optionalVariables: [VariableDescription] { variables.filter { !$0.isRequired } }
}

/// A variable of an operation.
package struct VariableDescription: Sendable {
    package var name: String
    package var type: ValueType
    /// Whether null may be sent.
    package var isNullable: Bool
    /// Whether it must be sent: not nullable and without a default.
    package var isRequired: Bool
    package var documentation: String?
}

/// The type of a variable, field or list element.
package indirect enum ValueType: Sendable, Hashable {
    case scalar(Scalar)
    /// An enum, by name.
    case enumeration(String)
    /// The key of a table, by type name.
    case key(String)
    /// An input object, by name.
    case input(String)
    /// An object of a result.
    case object(ObjectShape)
    case list(ValueType, hasNullableElements: Bool)

    package enum Scalar: String, Sendable, Hashable, CaseIterable {
        case string = "String"
        case int = "Int"
        case int64 = "Int64"
        case float = "Float"
        case boolean = "Boolean"
        case uuid = "UUID"
        case date = "Date"
        case timestamp = "Timestamp"
        case any = "Any"
        case vector = "Vector"
        case id = "ID"
    }

    /// Whether this type or one inside it satisfies a condition.
    package func contains(_ condition: (ValueType) -> Bool) -> Bool {
        if condition(self) { return true }
        return switch self {
        case .scalar, .enumeration, .key, .input: false
        case .object(let shape): shape.contains(condition)
        case .list(let element, _): element.contains(condition)
        }
    }

    /// The object inside lists; nil for other types.
    package var shape: ObjectShape? {
        switch self {
        case .object(let shape): shape
        case .list(let element, _): element.shape
        case .scalar, .enumeration, .key, .input: nil
        }
    }
}

/// The fields selected from a type, with fragments merged.
package struct ObjectShape: Sendable, Hashable {
    /// The GraphQL type, `Novel`.
    package var typeName: String
    /// The fields in the order of their first appearance.
    package var fields: [ResultField]
    /// The fields of the table's key, if all are selected under their own names; otherwise empty.
    package var keyFields: [String]
    /// The response keys that lead to each field of the row's key, if the server gives such rows entity ids and the
    /// whole key is in the result, be it through references; otherwise empty.
    package var entityKey: [[String]] = []

    package var hasKey: Bool { !keyFields.isEmpty }

    package func contains(_ condition: (ValueType) -> Bool) -> Bool {
        fields.contains { $0.type.contains(condition) }
    }
}

/// A field of a result.
package struct ResultField: Sendable, Hashable {
    /// The alias, or else the field's name.
    package var name: String
    package var isAliased: Bool
    package var type: ValueType
    package var isNullable: Bool
    /// Whether the field may be absent, because of `@skip` or `@include`.
    package var mayBeAbsent: Bool
}

/// The primary key of a table.
package struct KeyDescription: Sendable {
    package struct Field: Sendable {
        package var name: String
        package var type: ValueType
    }

    package var typeName: String
    package var fields: [Field]
}

package struct EnumDescription: Sendable {
    package var name: String
    package var values: [String]
}

/// An input object: a filter, an order, an update, or the rows that `@allow` lets a variable supply.
package struct InputDescription: Sendable {
    package struct Field: Sendable {
        package var name: String
        package var type: ValueType
        package var isRequired: Bool
    }

    package var name: String
    package var fields: [Field]
}
