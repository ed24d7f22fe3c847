/// The reason that a node does not start: one line with the remedy.
package struct NodeError: Error, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
