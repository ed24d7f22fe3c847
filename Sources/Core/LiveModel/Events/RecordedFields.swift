/// The fields of one table whose values events tell of changed rows.
package struct RecordedFields: Sendable, Hashable {
    /// The fields that guards and bound values are compared with, recorded before and after the change.
    package var compared: Set<String>
    /// The fields of the primary key, if a query shows rows of the table one by one; recorded before and after, too.
    package var key: Set<String>
    /// The fields by which rows enter a list, those of its order and ranges; recorded after the change.
    package var latter: Set<String>
    /// The fields of which a query knows no more than that its filter holds; recorded before and after the change of
    /// single rows, because many rows have few of these values in common.
    package var filtered: Set<String>

    package init(
        compared: Set<String> = [], key: Set<String> = [], latter: Set<String> = [], filtered: Set<String> = []
    ) {
        self.compared = compared
        self.key = key
        self.latter = latter
        self.filtered = filtered
    }

    /// The fields of an image of a row before its change.
    package var former: Set<String> { compared.union(key).union(filtered) }
    /// The fields of an image of a row after its change.
    package var all: Set<String> { former.union(latter) }
    package var isEmpty: Bool { all.isEmpty }

    package mutating func formUnion(_ other: RecordedFields) {
        compared.formUnion(other.compared)
        key.formUnion(other.key)
        latter.formUnion(other.latter)
        filtered.formUnion(other.filtered)
    }
}
