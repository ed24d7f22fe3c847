import JSON
import SchemaModel

/// The parts of a table's key that refreshes by key leave out: columns whose type treats different texts as equal,
/// such as `citext`. A live query that looks up `a@x.org` also shows the row that was written as `A@x.org`.
struct KeyMasks: Sendable {
    private let isMasked: [Bool]

    init(_ table: Table) {
        let masks = table.keyColumns.map { !$0.isIdentifiedByText }
        isMasked = masks.contains(true) ? masks : []
    }

    /// Returns the values of a key, with null for those left out.
    func masked(_ values: [JSONValue]) -> [JSONValue] {
        isMasked.isEmpty ? values : zip(values, isMasked).map { $1 ? .null : $0 }
    }
}
