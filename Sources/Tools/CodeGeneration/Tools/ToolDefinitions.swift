import JSON

/// The operations of a connector as tools of language models: `{name, description, parameters}` with a JSON Schema of
/// the variables.
struct ToolDefinitions {
    private let connector: ConnectorDescription

    init(_ connector: ConnectorDescription) {
        self.connector = connector
    }

    var text: String { PrettyJSON.text(.array(connector.operations.map(tool))) }

    private func tool(_ operation: OperationDescription) -> JSONValue {
        var definitions: [String: JSONValue] = [:]
        var properties = JSONObject()
        for variable in operation.variables {
            var schema = schema(variable.type, &definitions)
            if variable.isNullable { schema = Self.nullable(schema) }
            if let documentation = variable.documentation, var object = schema.objectValue {
                object["description"] = .string(documentation)
                schema = .object(object)
            }
            properties[variable.name] = schema
        }
        var parameters = Self.object(properties, required: operation.requiredVariables.map(\.name))
        if !definitions.isEmpty {
            parameters["$defs"] = .object(JSONObject(definitions.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }))
        }
        return [
            "name": .string(operation.name), "description": .string(description(of: operation)),
            "parameters": .object(parameters),
        ]
    }

    private func description(of operation: OperationDescription) -> String {
        if let documentation = operation.documentation { return documentation }
        let fields = operation.result.fields.map(\.name).joined(separator: ", ")
        return operation.kind == .query ? "Reads \(fields)." : "Changes data: \(fields)."
    }

    private static func object(_ properties: JSONObject, required: [String]) -> JSONObject {
        var object: JSONObject = ["type": "object", "properties": .object(properties)]
        if !required.isEmpty { object["required"] = .array(required.map { .string($0) }) }
        object["additionalProperties"] = false
        return object
    }

    private func schema(_ type: ValueType, _ definitions: inout [String: JSONValue]) -> JSONValue {
        switch type {
        case .scalar(let scalar): return Self.schema(scalar)
        case .enumeration(let name):
            let values = connector.enums.first { $0.name == name }?.values ?? []
            return ["type": "string", "enum": .array(values.map { .string($0) })]
        case .key(let typeName):
            let fields = connector.key(of: typeName)?.fields ?? []
            let members = fields.map { ($0.name, schema($0.type, &definitions)) }
            return .object(Self.object(JSONObject(members), required: fields.map(\.name)))
        case .input(let name):
            if definitions[name] == nil {
                // Inputs may contain themselves.
                definitions[name] = [:]
                let fields = connector.input(named: name)?.fields ?? []
                let members = fields.map { ($0.name, schema($0.type, &definitions)) }
                definitions[name] = .object(
                    Self.object(JSONObject(members), required: fields.filter(\.isRequired).map(\.name)))
            }
            return ["$ref": .string("#/$defs/\(name)")]
        case .object: return ["type": "object"]
        case .list(let element, let hasNullableElements):
            let items = schema(element, &definitions)
            return ["type": "array", "items": hasNullableElements ? Self.nullable(items) : items]
        }
    }

    private static func schema(_ scalar: ValueType.Scalar) -> JSONValue {
        switch scalar {
        case .string, .id: ["type": "string"]
        case .int: ["type": "integer"]
        case .int64: ["type": "string", "pattern": "^-?[0-9]+$", "description": "A 64-bit integer as a string."]
        case .float: ["type": "number"]
        case .boolean: ["type": "boolean"]
        case .uuid: ["type": "string", "format": "uuid"]
        case .date: ["type": "string", "format": "date"]
        case .timestamp: ["type": "string", "format": "date-time"]
        case .any: [:]
        case .vector: ["type": "array", "items": ["type": "number"]]
        }
    }

    /// Also allows null.
    private static func nullable(_ schema: JSONValue) -> JSONValue {
        guard var object = schema.objectValue, !object.isEmpty else { return schema }
        guard let type = object["type"]?.stringValue else { return ["anyOf": [schema, ["type": "null"]]] }
        object["type"] = [.string(type), "null"]
        if let values = object["enum"]?.arrayValue { object["enum"] = .array(values + [.null]) }
        return .object(object)
    }
}
