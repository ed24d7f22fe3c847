/// A value that a program reads from its activation: a variable and the fields below it, as far as the source
/// determines them. Both `request.auth.uid` and `request.auth['uid']` are the path `request` / `auth` / `uid`; a path
/// ends at a computed or numeric index.
package struct AttributePath: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The name of a declared variable; may contain dots.
    package let root: String
    package let fields: [String]

    package init(root: String, fields: [String]) {
        self.root = root
        self.fields = fields
    }

    package static func < (left: AttributePath, right: AttributePath) -> Bool {
        if left.root != right.root { return precedesByCodePoint(left.root, right.root) }
        return left.fields.lexicographicallyPrecedes(right.fields, by: precedesByCodePoint)
    }

    /// The components joined by dots, for display only: fields may themselves contain dots.
    package var description: String {
        ([root] + fields).joined(separator: ".")
    }
}
