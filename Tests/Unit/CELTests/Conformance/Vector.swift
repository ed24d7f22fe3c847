import CEL
import Foundation

/// One test of the vectors; the format is described in their README.
struct Vector {
    enum Expectation {
        case value(Value, deducedType: CELType?)
        case deducedType(CELType)
        case error
    }

    struct Malformed: Error {
        let what: String
    }

    let name: String
    let suite: String
    let source: String
    let container: String
    let disablesMacros: Bool
    let disablesCheck: Bool
    let checksOnly: Bool
    let needsProto: Bool
    let extensions: [String]
    private let object: [String: Any]

    init(line: String) throws {
        guard let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
            let suite = object["suite"] as? String, let source = object["expr"] as? String
        else { throw Malformed(what: "line") }
        self.object = object
        self.suite = suite
        self.source = source
        let parts = [object["section"], object["name"], object["occurrence"]].compactMap { $0 }
        name = "\(suite)/" + parts.map { "\($0)" }.joined(separator: "/")
        container = object["container"] as? String ?? ""
        disablesMacros = object["disable_macros"] as? Bool ?? false
        disablesCheck = object["disable_check"] as? Bool ?? false
        checksOnly = object["check_only"] as? Bool ?? false
        needsProto = object["needs_proto"] as? Bool ?? false
        extensions = object["ext"] as? [String] ?? []
    }

    func expectation() throws -> Expectation {
        guard let expect = object["expect"] as? [String: Any] else { throw Malformed(what: "expect") }
        if expect["error"] != nil || expect["any_error"] != nil { return .error }
        let type = try expect["deduced_type"].map(Self.type)
        if let value = expect["value"] { return .value(try Self.value(value), deducedType: type) }
        guard let type else { throw Malformed(what: "expect") }
        return .deducedType(type)
    }

    /// Bound values by name.
    func bindings() throws -> [String: Value] {
        try (object["bindings"] as? [String: Any] ?? [:]).mapValues(Self.value)
    }

    func declarations() throws -> (variables: [VariableDeclaration], functions: [FunctionDeclaration]) {
        var variables: [VariableDeclaration] = []
        var functions: [FunctionDeclaration] = []
        for case let entry as [String: Any] in object["type_env"] as? [Any] ?? [] {
            guard let name = entry["name"] as? String else { throw Malformed(what: "type_env") }
            if let ident = entry["ident"] {
                variables.append(VariableDeclaration(name: name, type: try Self.type(ident)))
            } else if let overloads = entry["function"] as? [[String: Any]] {
                functions.append(FunctionDeclaration(name: name, overloads: try overloads.map(Self.overload)))
            }
        }
        return (variables, functions)
    }

    private static func overload(_ json: [String: Any]) throws -> Overload {
        guard let id = json["id"] as? String, let parameters = json["params"] as? [Any], let result = json["result"]
        else { throw Malformed(what: "overload") }
        return Overload(
            id: id, parameters: try parameters.map(type), result: try type(result),
            isInstance: json["instance"] as? Bool ?? false)
    }

    // MARK: Types

    private static let simpleTypes: [String: CELType] = [
        "bool": .bool, "int": .int, "uint": .uint, "double": .double, "string": .string, "bytes": .bytes,
        "null": .null, "dyn": .dyn, "any": .dyn, "timestamp": .timestamp, "duration": .duration, "error": .error,
    ]

    private static func type(_ json: Any) throws -> CELType {
        if let name = json as? String, let type = simpleTypes[name] { return type }
        guard let (kind, detail) = (json as? [String: Any])?.first else { throw Malformed(what: "type") }
        switch kind {
        case "list": return .list(try type(detail))
        case "map":
            guard let pair = detail as? [Any], pair.count == 2 else { throw Malformed(what: "map type") }
            return .map(try type(pair[0]), try type(pair[1]))
        case "wrapper": return .wrapper(try type(detail))
        case "type": return .type(detail is NSNull ? nil : try type(detail))
        case "type_param": return .typeParameter(detail as? String ?? "")
        case "message": return .message(detail as? String ?? "")
        case "abstract":
            guard let parts = detail as? [Any], parts.count == 2, let name = parts[0] as? String,
                let parameters = parts[1] as? [Any]
            else { throw Malformed(what: "abstract type") }
            return .abstract(name, try parameters.map(type))
        case "function":
            guard let parts = detail as? [String: Any], let result = parts["result"],
                let arguments = parts["args"] as? [Any]
            else { throw Malformed(what: "function type") }
            return .function(result: try type(result), arguments: try arguments.map(type))
        default: throw Malformed(what: kind)
        }
    }

    // MARK: Values

    private static func value(_ json: Any) throws -> Value {
        guard let (kind, detail) = (json as? [String: Any])?.first else { throw Malformed(what: "value") }
        let text = detail as? String ?? ""
        let value: Value? =
            switch kind {
            case "null": .null
            case "bool": (detail as? Bool).map(Value.bool)
            case "int": Int64(text).map(Value.int)
            case "uint": UInt64(text).map(Value.uint)
            case "double": Double(text).map(Value.double)
            case "string": .string(text)
            case "bytes": Data(base64Encoded: text).map { .bytes(Array($0)) }
            case "list": .list(try (detail as? [Any] ?? []).map(Self.value))
            case "map":
                .map(
                    try MapValue(
                        entries: (detail as? [[Any]] ?? []).map {
                            (key: try Self.value($0[0]), value: try Self.value($0[1]))
                        }))
            case "duration": DurationValue(text).map(Value.duration)
            case "timestamp": TimestampValue(text).map(Value.timestamp)
            case "type": .type(TypeValue(name: text))
            default: nil
            }
        guard let value else { throw Malformed(what: kind) }
        return value
    }
}

extension Value {
    /// Equality of outcomes: the types are equal too, NaN matches NaN.
    func matches(_ other: Value) -> Bool {
        switch (self, other) {
        case (.double(let left), .double(let right)):
            left.isNaN ? right.isNaN : left == right && left.sign == right.sign
        case (.list(let left), .list(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.matches($1) }
        case (.map(let left), .map(let right)):
            left.count == right.count
                && left.entries.allSatisfy { entry in
                    right.entries.contains { entry.key.matches($0.key) && entry.value.matches($0.value) }
                }
        default: typeValue == other.typeValue && celEquals(other)
        }
    }
}
