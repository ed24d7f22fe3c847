/// A value of the Common Expression Language (langdef "Values").
///
/// Not `Equatable`: CEL equality crosses numeric types and NaN is unequal to itself, see `Value.equals`. For hash
/// tables use `EqualityKey`. Strings are compared by code point, without normalisation.
package enum Value: Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case uint(UInt64)
    case double(Double)
    case string(String)
    case bytes([UInt8])
    case list([Value])
    case map(MapValue)
    case duration(DurationValue)
    case timestamp(TimestampValue)
    case type(TypeValue)
    /// A value that may be absent, from the extension library for optional values.
    indirect case optional(Value?)
}

/// A type as a value, as `type(x)` returns it and as `int`, `list` or `google.protobuf.Timestamp` denote it. Excludes
/// type parameters: `type([1]) == type(['a'])`.
package struct TypeValue: Sendable, Hashable {
    /// The CEL name, for example `null_type` or `google.protobuf.Duration`.
    package let name: String

    package init(name: String) {
        self.name = name
    }
}

extension Value {
    /// The value's runtime type.
    package var typeValue: TypeValue { TypeValue(name: typeName) }

    var typeName: String {
        switch self {
        case .null: "null_type"
        case .bool: "bool"
        case .int: "int"
        case .uint: "uint"
        case .double: "double"
        case .string: "string"
        case .bytes: "bytes"
        case .list: "list"
        case .map: "map"
        case .duration: "google.protobuf.Duration"
        case .timestamp: "google.protobuf.Timestamp"
        case .type: "type"
        case .optional: "optional_type"
        }
    }

    /// Names that denote types in expressions.
    static let typeNames: [String] = [
        "null_type", "bool", "int", "uint", "double", "string", "bytes", "list", "map", "google.protobuf.Duration",
        "google.protobuf.Timestamp", "type", "optional_type",
    ]
}
