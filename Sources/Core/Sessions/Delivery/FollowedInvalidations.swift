package import JSON
package import LiveModel

/// The history of invalidations as a client follows it that asks for it. Source: docs/reference/protocols.md.
package struct FollowedInvalidations: Sendable {
    /// The header with which a client asks in a request, and in which the response to it has the invalidations.
    package static let header = "freshet-invalidations"
    /// The longest value of that header; beyond it, `drop` is `"everything"`.
    package static let headerBytesMax = 4_096

    /// The end of the history that the client knows or was sent; nil for none.
    private var position: InvalidationPosition?

    /// - Parameter position: what the client says; anything but a position means that it knows nothing.
    package init(_ position: String) { self.position = InvalidationPosition(position) }

    /// Returns what the client has to drop, `{"position":…,"drop":…}`; nil if it knows the history as far as this node.
    ///
    /// A client that knows more is sent back to this node's position, because Redis may have lost the rest. If another
    /// node is only ahead in reading, the client drops the rest again.
    package mutating func told(of invalidations: Invalidations) -> JSONValue? {
        guard let end = invalidations.position, end != position else { return nil }
        let drop: JSONValue =
            switch invalidations.since(position) {
            case .drop(let subjects): .array(subjects.map(\.json))
            case .dropEverything: "everything"
            }
        position = end
        return ["position": .string(end.description), "drop": drop]
    }

    /// Returns the same as the value of a header.
    package mutating func header(of invalidations: Invalidations) -> String? {
        guard let told = told(of: invalidations) else { return nil }
        let text = told.description
        if text.utf8.count <= Self.headerBytesMax, text.utf8.allSatisfy({ (32..<127).contains($0) }) { return text }
        return (["position": told["position"] ?? .null, "drop": "everything"] as JSONValue).description
    }
}
