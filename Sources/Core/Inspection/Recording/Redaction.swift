package import JSON

/// The values that operators never see of users' data: `auth.token` always, and the values of all
/// variables, fields and claims with certain names.
package struct Redaction: Sendable, Hashable {
    /// The names in lower case.
    private let names: Set<String>

    /// Stands in place of a value.
    package static let mark = "(redacted)"

    /// - Parameter names: matched without regard to case.
    package init(names: some Sequence<String> = []) {
        self.names = Set(names.map { $0.lowercased() })
    }

    /// The hidden names in lower case.
    package var hiddenNames: Set<String> { names }

    /// Returns a redaction that hides these names, too.
    package func adding(_ names: some Sequence<String>) -> Redaction {
        Redaction(names: self.names.union(names.map { $0.lowercased() }))
    }

    package func hides(_ name: String) -> Bool { !names.isEmpty && names.contains(name.lowercased()) }

    /// Whether the value at this path is hidden: `["mutation", "auth", "token", "org"]`.
    package func hides(path: [String]) -> Bool {
        if path.contains(where: hides) { return true }
        guard let auth = path.firstIndex(of: "auth"), auth <= 1 else { return false }
        // `auth` as a whole holds the token.
        return path.count == auth + 1 || path[auth + 1] == "token"
    }

    /// Returns the variables with the values of hidden names replaced, at any depth.
    package func variables(_ variables: JSONObject) -> JSONObject {
        if names.isEmpty { return variables }
        var shown = JSONObject()
        for member in variables.entries {
            shown[member.key] = hides(member.key) ? .string(Self.mark) : value(member.value)
        }
        return shown
    }

    private func value(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let object): .object(variables(object))
        case .array(let values): .array(values.map(self.value))
        default: value
        }
    }

    /// Returns the projected claims of a live query, without the token.
    package func auth(_ auth: JSONValue?) -> JSONValue? {
        guard case .object(var object)? = auth else { return auth }
        if let token = object["token"]?.objectValue, token.isEmpty { return auth }
        if object["token"] != nil { object["token"] = .string(Self.mark) }
        return .object(object)
    }
}
