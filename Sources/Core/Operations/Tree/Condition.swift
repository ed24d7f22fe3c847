/// A question about the variables of a request that changes the text of its statement.
package enum Condition: Sendable, Hashable {
    /// Sent, or filled by a default; may be null.
    case given(String, path: [String])
    /// One of several paths into a variable was sent.
    case givenAny(String, [[String]])
    case notNull(String, path: [String])
    case isTrue(String)
    /// An enum variable has this value.
    case equals(String, String)

    /// What holds also where the value that it asks for is null.
    package var sent: Condition {
        if case .notNull(let name, let path) = self { .given(name, path: path) } else { self }
    }
}
