package import JSON
import NIOHTTP1

/// The OpenAPI 3.1 description of routes. Pure.
package enum OpenAPIDocument {
    static let eventStream = "text/event-stream"

    /// Source: OpenAPI Specification 3.1.1, §4.8.1 "OpenAPI Object".
    package static func json(of routes: [AdminRoute]) -> JSONValue {
        var paths = JSONObject()
        for route in routes {
            for (path, isFormer) in [(route.path, false)] + (route.former.map { [($0, true)] } ?? []) {
                var item = paths[path]?.objectValue ?? JSONObject()
                item[route.method.rawValue.lowercased()] = operation(route, path, isFormer: isFormer)
                paths[path] = .object(item)
            }
        }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Freshet admin API", "version": "v1",
                "description": "Reports and actions for operators, on the admin port of every node with that role.",
            ],
            "paths": .object(paths),
            "components": [
                "securitySchemes": [
                    "adminToken": [
                        "type": "http", "scheme": "bearer",
                        "description":
                            "`admin.token`, or an ID token with `admin.auth.mode: oidc`; not needed where none is set.",
                    ]
                ],
                "parameters": ["every": parameter(ReportStream.every)],
                "schemas": ["Errors": errors],
            ],
        ]
    }

    private static let errors: JSONValue = [
        "type": "object", "required": ["errors"],
        "properties": [
            "errors": [
                "type": "array",
                "items": [
                    "type": "object",
                    "properties": [
                        "message": ["type": "string"],
                        "extensions": ["type": "object", "properties": ["code": ["type": "string"]]],
                    ],
                ],
            ]
        ],
    ]

    private static func operation(_ route: AdminRoute, _ path: String, isFormer: Bool) -> JSONValue {
        var content: JSONObject = [:]
        if let example = route.example {
            content[route.mediaType] = ["schema": schema(of: example), "example": example]
        } else {
            content[route.mediaType] = ["schema": ["type": "string"]]
        }
        let isFollowed = route.isReport && !isFormer
        if isFollowed {
            content[eventStream] = [
                "schema": [
                    "type": "string",
                    "description":
                        "Events `report` with the JSON, at once and when it differs, or `error` with `Errors`.",
                ]
            ]
        }
        var object: JSONObject = [
            "operationId": .string(name(route.method, path)), "summary": .string(plain(route.about)),
        ]
        if isFormer {
            object["deprecated"] = true
            object["description"] = .string("The former name of `\(route.path)`.")
        }
        object["security"] = route.isOpen ? [] : [["adminToken": []]]
        var parameters = route.parameters.map(parameter)
        if isFollowed { parameters.append(["$ref": "#/components/parameters/every"]) }
        if !parameters.isEmpty { object["parameters"] = .array(parameters) }
        object["responses"] = [
            "200": ["description": "OK", "content": .object(content)],
            "default": [
                "description": "An error",
                "content": ["application/json": ["schema": ["$ref": "#/components/schemas/Errors"]]],
            ],
        ]
        return .object(object)
    }

    private static func parameter(_ parameter: AdminParameter) -> JSONValue {
        var schema: JSONObject
        switch parameter.form {
        case .integer(let range):
            schema = ["type": "integer", "minimum": .int(range.lowerBound), "maximum": .int(range.upperBound)]
            if let standard = parameter.standard.flatMap({ Int64($0) }) { schema["default"] = .int(standard) }
        case .text(let bytesMax):
            schema = ["type": "string", "minLength": 1, "maxLength": .int(Int64(bytesMax))]
            if let standard = parameter.standard { schema["default"] = .string(standard) }
        case .choice(let choices):
            schema = ["type": "string", "enum": .array(choices.map(JSONValue.string))]
            if let standard = parameter.standard { schema["default"] = .string(standard) }
        }
        return [
            "name": .string(parameter.name), "in": .string(parameter.place.rawValue),
            "required": .bool(parameter.isRequired), "description": .string(parameter.about),
            "schema": .object(schema),
        ]
    }

    /// Returns the schema of values such as an example: members may be absent, and further ones may come.
    static func schema(of example: JSONValue) -> JSONValue {
        switch example {
        case .null: [:]
        case .bool: ["type": "boolean"]
        case .int: ["type": "integer"]
        case .double: ["type": "number"]
        case .string: ["type": "string"]
        case .array(let elements): ["type": "array", "items": elements.first.map(schema) ?? [:]]
        case .object(let object):
            [
                "type": "object",
                "properties": .object(JSONObject(object.entries.map { ($0.key, schema(of: $0.value)) })),
            ]
        }
    }

    /// Returns a name such as `getAdminV1Shards`.
    private static func name(_ method: HTTPMethod, _ path: String) -> String {
        let words = path.split { !$0.isLetter && !$0.isNumber }
        return method.rawValue.lowercased() + words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    /// Returns a text without the links of the documentation.
    private static func plain(_ text: String) -> String {
        text.replacing(#/\[([^\]]*)\]\([^)]*\)/#) { String($0.1) }.replacing("`", with: "")
    }
}
