/// A condition on a request's variables that changes the text of its statement.
package enum Condition: Sendable, Hashable {
    /// The value was sent or has a default; it may be null.
    case given(String, path: [String])
    /// At least one of several paths in a variable was sent.
    case givenAny(String, [[String]])
    case notNull(String, path: [String])
    case isTrue(String)
    /// An enum variable has this value.
    case equals(String, String)

    /// The weaker condition that also holds if the value is null.
    package var sent: Condition {
        if case .notNull(let name, let path) = self { .given(name, path: path) } else { self }
    }
}
