import Crypto
package import FreshetTypes
package import JSON

/// The id of a table's row in the cache: the one that the server sends to SQL Connect clients, computed from the key,
/// so that it needs no room in results. Source: docs/reference/sql-connect.md §4.
///
/// It is the first half of the SHA-256 of `Novel["0a…"]`, the type and the key as Postgres prints it, in hexadecimal.
package struct EntityID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }

    package init(type: String, key: [JSONValue]) {
        var text = Array(type.utf8)
        text.append(UInt8(ascii: "["))
        for (index, value) in key.enumerated() {
            if index > 0 { text.append(contentsOf: [UInt8(ascii: ","), UInt8(ascii: " ")]) }
            JSONWriter.append(value, to: &text)
        }
        text.append(UInt8(ascii: "]"))
        let digits = Array("0123456789abcdef".utf8)
        var hex: [UInt8] = []
        for byte in SHA256.hash(data: text).prefix(16) {
            hex.append(digits[Int(byte >> 4)])
            hex.append(digits[Int(byte & 15)])
        }
        description = String(decoding: hex, as: UTF8.self)
    }

    package init(_ key: some EntityKey) {
        self.init(type: type(of: key).entityType, key: key.keyValues.map(\.json))
    }

    package static func < (left: EntityID, right: EntityID) -> Bool { left.description < right.description }
}

/// The known fields of a row, by response key.
package struct EntityRecord: Hashable, Sendable {
    package let type: String
    /// The values of the primary key.
    package let key: [JSONValue]
    package var fields: JSONObject

    package init(type: String, key: [JSONValue], fields: JSONObject) {
        self.type = type
        self.key = key
        self.fields = fields
    }

    /// The record with the fields of a newer one.
    package func merging(_ newer: JSONObject) -> EntityRecord {
        var copy = self
        for entry in newer { copy.fields[entry.key] = entry.value }
        return copy
    }

    /// An estimate of the memory that it takes.
    package var bytes: Int { 96 + StoreSize.of(.object(fields)) }
}

extension JSONObject {
    /// The members with those of a newer object, if there is one.
    package func merging(_ newer: JSONObject?) -> JSONObject {
        guard let newer else { return self }
        var copy = self
        for entry in newer { copy[entry.key] = entry.value }
        return copy
    }
}

/// Estimates of memory, cheap enough for every write.
enum StoreSize {
    static func of(_ value: JSONValue) -> Int {
        switch value {
        case .null, .bool, .int, .double: 16
        case .string(let text): 16 + (text.utf8.count > 15 ? text.utf8.count + 32 : 0)
        case .array(let elements): elements.reduce(48) { $0 + of($1) }
        case .object(let object): object.entries.reduce(48) { $0 + 32 + $1.key.utf8.count + of($1.value) }
        }
    }
}
