/// Why a node does not start: one line that says what to do.
package struct NodeError: Error, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
