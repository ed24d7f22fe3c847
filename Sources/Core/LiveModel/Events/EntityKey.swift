package import JSON

/// The primary key of one row: the subject of implicit refreshes.
///
/// Values are in canonical form (a UUID is 32 lower-case hexadecimal digits, an integer a JSON integer), in the order
/// of the table's key, so equal rows have equal keys. Source: docs/reference/sql-connect.md
/// §5.7.
package struct EntityKey: Hashable, Sendable {
    /// The SQL name of the table.
    package let table: String
    /// The key's values as a canonical JSON array.
    package let values: String

    package init(table: String, values: [JSONValue]) {
        self.table = table
        self.values = String(decoding: JSONValue.array(values).canonicalBytes, as: UTF8.self)
    }

    package init(table: String, canonicalValues: String) {
        self.table = table
        self.values = canonicalValues
    }
}
