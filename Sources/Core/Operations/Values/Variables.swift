package import JSON

/// The coerced variables of a request, as conditions and operands read them.
package struct Variables: Sendable {
    package let object: JSONObject

    package init(_ object: JSONObject) {
        self.object = object
    }

    /// Returns the value at a path; nil if nothing was sent, or if a value above it is null.
    package func value(_ name: String, path: [String]) -> JSONValue? {
        guard var value = object[name] else { return nil }
        for field in path {
            guard let inner = value[field] ?? Int(field).flatMap({ value[$0] }) else { return nil }
            value = inner
        }
        return value
    }

    package func satisfies(_ condition: Condition) -> Bool {
        switch condition {
        case .given(let name, let path): value(name, path: path) != nil
        case .givenAny(let name, let paths): paths.contains { value(name, path: $0) != nil }
        case .notNull(let name, let path): value(name, path: path).map { !$0.isNull } ?? false
        case .isTrue(let name): object[name]?.boolValue ?? false
        case .equals(let name, let text): object[name]?.stringValue == text
        }
    }

    package func satisfies(_ inclusion: Inclusion) -> Bool {
        inclusion.alternatives.contains { tests in
            tests.allSatisfy { (object[$0.variable]?.boolValue ?? false) == $0.expected }
        }
    }
}
