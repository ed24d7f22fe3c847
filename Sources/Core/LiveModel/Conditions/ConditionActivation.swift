package import CEL

/// The two values that a refresh condition reads: `request`, the live query, and `mutation`, the event; each is
/// `{variables, auth}`. Source: docs/reference/sql-connect.md §5.1, bindings of `@refresh(condition)`.
package struct ConditionActivation: Activation {
    /// The environment in which refresh conditions are compiled. A selection below a null `auth` is null
    /// (docs/reference/sql-connect.md §5.7).
    package static let environment = Environment(
        variables: [
            VariableDeclaration(name: "request", type: .map(.string, .dyn)),
            VariableDeclaration(name: "mutation", type: .map(.string, .dyn)),
        ],
        nullSafePaths: [["request", "auth"], ["mutation", "auth"]], allowNilLiteral: true)

    /// Returns the path below `auth` that an attribute of one side, `request` or `mutation`, reads: `[]` is auth
    /// itself, nil something else.
    package static func authPath(_ attribute: AttributePath, of side: String) -> ArraySlice<String>? {
        guard attribute.root == side else { return nil }
        switch attribute.fields.first {
        case "auth": return attribute.fields.dropFirst()
        case nil: return []
        default: return nil
        }
    }

    package var request: Value
    package var mutation: Value

    package init(request: Value, mutation: Value) {
        self.request = request
        self.mutation = mutation
    }

    package func value(ofVariable index: Int) -> Value? {
        switch index {
        case 0: request
        case 1: mutation
        default: nil
        }
    }
}
