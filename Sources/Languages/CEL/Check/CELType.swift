/// A static type, as the checker deduces it (langdef "Gradual Type Checking"). Finer than the runtime's `TypeValue`.
package indirect enum CELType: Sendable, Hashable {
    case null
    case bool
    case int
    case uint
    case double
    case string
    case bytes
    case duration
    case timestamp
    /// A type known only at run time; assignable to and from everything.
    case dyn
    /// The type of an expression that already has a diagnostic; assignable to everything.
    case error
    case list(CELType)
    case map(CELType, CELType)
    /// A type used as a value; nil if that type is unknown.
    case type(CELType?)
    /// A primitive or null.
    case wrapper(CELType)
    /// A type parameter of an overload, or one that inference introduced.
    case typeParameter(String)
    case message(String)
    case function(result: CELType, arguments: [CELType])
    /// An opaque type that only declared functions produce and accept.
    case abstract(String, [CELType])
}

extension CELType: CustomStringConvertible {
    package var description: String {
        switch self {
        case .null: "null"
        case .bool: "bool"
        case .int: "int"
        case .uint: "uint"
        case .double: "double"
        case .string: "string"
        case .bytes: "bytes"
        case .duration: "duration"
        case .timestamp: "timestamp"
        case .dyn: "dyn"
        case .error: "error"
        case .list(let element): "list(\(element))"
        case .map(let key, let value): "map(\(key), \(value))"
        case .type(let type): type.map { "type(\($0))" } ?? "type"
        case .wrapper(let type): "wrapper(\(type))"
        case .typeParameter(let name): name
        case .message(let name): name
        case .function(let result, let arguments): "(\(Self.list(arguments))) -> \(result)"
        case .abstract(let name, let parameters):
            parameters.isEmpty ? name : "\(name)(\(Self.list(parameters)))"
        }
    }

    private static func list(_ types: [CELType]) -> String {
        types.map(\.description).joined(separator: ", ")
    }

    /// The type of optional values.
    static func optional(_ wrapped: CELType) -> CELType { .abstract("optional_type", [wrapped]) }

    /// The type inside an optional type; nil for other types.
    var wrapped: CELType? {
        if case .abstract("optional_type", let parameters) = self { parameters.first } else { nil }
    }

    var isDynamic: Bool {
        self == .dyn || self == .error
    }
}
