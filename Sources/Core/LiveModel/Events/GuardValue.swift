package import JSON

/// The text by which values of guards and images are compared: equal for equal values of one column.
package enum GuardValue {
    package static func text(_ value: JSONValue) -> String {
        // Strings are most of the values, and a column never mixes types.
        if case .string(let text) = value { return text }
        return value.text
    }
}
