/// A value that a program reads from outside: a variable and the fields below it, as far as the source fixes them. Both
/// `request.auth.uid` and `request.auth['uid']` are the path `request` / `auth` / `uid`; below a computed or numeric
/// index a path ends.
package struct AttributePath: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The name of a declared variable (may contain dots).
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

    /// The parts joined by dots; for people, since fields may contain dots themselves.
    package var description: String {
        ([root] + fields).joined(separator: ".")
    }
}
