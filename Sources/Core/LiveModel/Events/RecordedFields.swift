/// The fields of one table whose values events tell of changed rows.
package struct RecordedFields: Sendable, Hashable {
    /// The fields that guards and bound values are compared with: told of the row before and after.
    package var compared: Set<String>
    /// The fields of the primary key, if a query shows rows of the table one by one: told of both, too.
    package var key: Set<String>
    /// The fields that lists are ordered by: told of the row after.
    package var ordered: Set<String>

    package init(compared: Set<String> = [], key: Set<String> = [], ordered: Set<String> = []) {
        self.compared = compared
        self.key = key
        self.ordered = ordered
    }

    /// The fields of an image of a row before its change.
    package var former: Set<String> { compared.union(key) }
    /// The fields of an image of a row after its change.
    package var all: Set<String> { compared.union(key).union(ordered) }
    package var isEmpty: Bool { compared.isEmpty && key.isEmpty && ordered.isEmpty }

    package mutating func formUnion(_ other: RecordedFields) {
        compared.formUnion(other.compared)
        key.formUnion(other.key)
        ordered.formUnion(other.ordered)
    }
}
