import Catalog
import Execution
import Explanation
package import JSON
package import LiveModel
import Operations
import SchemaModel

/// The project's operations as the node serves them.
extension NodeInspector {
    /// Returns what the console needs to know about the node before anything else.
    package func console(isOnPublicPort: Bool) -> JSONValue {
        let catalog = parts.catalogs.set.current.catalog
        let folder = parts.folder.problem
        return [
            "node": .string(parts.id.name), "service": .string(catalog.serviceID),
            "location": .string(catalog.location), "project": .string(parts.catalogs.set.current.version.hex),
            "isDevelopment": .bool(parts.isDevelopment), "isOnPublicPort": .bool(isOnPublicPort),
            "servesLiveQueries": .bool(parts.components.gateway != nil),
            "connectors": .array(catalog.connectorIDs.sorted().map(JSONValue.string)),
            "notServed": .array(catalog.invalidOperations.map(JSONValue.string)),
            "errors": Self.errors(catalog.errors),
            "notReloaded": folder.map {
                ["errors": Self.errors($0.errors), "reason": $0.reason.map { .string($0) } ?? .null]
            } ?? .null,
        ]
    }

    /// Errors in files; `text` is what the terminal shows.
    private static func errors(_ errors: [Diagnostic]) -> JSONValue {
        .array(
            errors.prefix(errorsMax).map { error in
                [
                    "file": .string(error.file), "line": .int(Int64(error.line)),
                    "column": .int(Int64(error.column)), "message": .string(error.message),
                    "text": .string(DiagnosticRenderer().render(error)),
                ]
            })
    }

    /// The errors of a project that are listed.
    private static let errorsMax = 20

    /// Returns every stored operation with the types of its variables.
    package func operations() -> JSONValue {
        let catalog = parts.catalogs.set.current.catalog
        let operations = catalog.connectors.values.flatMap(\.operations.values).sorted { $0.reference < $1.reference }
        return [
            "node": .string(parts.id.name), "project": .string(parts.catalogs.set.current.version.hex),
            "operations": .array(
                operations.map { operation in
                    [
                        "operation": .string(operation.reference.description),
                        "connector": .string(operation.reference.connector),
                        "name": .string(operation.reference.operation), "kind": .string(operation.kind.rawValue),
                        "auth": .string(operation.auth.level.map(\.rawValue) ?? operation.auth.expression.text),
                        "isRefreshed": .bool(operation.isRefreshed),
                        "rules": .array(rules(of: operation.reference).map(JSONValue.string)),
                        "variables": .array(operation.variables.map { variable($0, catalog.schema) }),
                    ]
                }),
        ]
    }

    private func variable(_ variable: VariableSpec, _ schema: Schema) -> JSONValue {
        var object: JSONObject = [
            "name": .string(variable.name), "type": .string(variable.typeText), "required": .bool(variable.isRequired),
        ]
        if let standard = variable.defaultValue { object["default"] = standard }
        let named = variable.typeText.filter { !"[]!".contains($0) }
        if let type = schema.enums[named] {
            object["values"] = .array(type.values.map(JSONValue.string))
        }
        return .object(object)
    }

    /// Returns the explanation of one operation: SQL, rules with their indexes, what refreshes it.
    /// - Throws: `.notFound` for an operation that is not served.
    package func explanation(of reference: OperationReference) throws(RequestError) -> JSONValue {
        let catalog = parts.catalogs.set.current.catalog
        guard let operation = catalog.operation(reference) else {
            throw RequestError(.notFound, "no stored operation \"\(reference)\"")
        }
        return try OperationExplanation(operation, in: catalog).json
    }
}
