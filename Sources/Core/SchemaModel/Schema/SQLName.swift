/// Formats names and constants as SQL text.
package enum SQLName {
    /// The longest name that Postgres does not truncate: `NAMEDATALEN` - 1.
    package static let bytesMax = 63

    /// Quotes an identifier: `"novel"`; inner quotes are doubled.
    package static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    /// Formats a string literal: `'text'`, safe for any setting of `standard_conforming_strings`.
    package static func literal(_ text: String) -> String {
        let escaped = text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
        guard escaped.contains("\\") else { return "'\(escaped)'" }
        return "E'" + escaped.split(separator: "\\", omittingEmptySubsequences: false).joined(separator: "\\\\") + "'"
    }

    /// Generates a name such as `novel_title_idx`. A name too long for Postgres is truncated and made unique by a hash.
    package static func generated(_ parts: [String], suffix: String) -> String {
        let whole = (parts + [suffix]).joined(separator: "_")
        guard whole.utf8.count > bytesMax else { return whole }
        var hash: UInt32 = 2_166_136_261
        for byte in whole.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        let digits = String(hash, radix: 16)
        let tail = "_" + String(repeating: "0", count: 8 - digits.count) + digits + "_" + suffix
        // Names are ASCII, so a byte is a letter.
        return String(decoding: whole.utf8.prefix(bytesMax - tail.utf8.count), as: UTF8.self) + tail
    }
}

extension ScalarType {
    /// The GraphQL names of the scalars.
    package static let names = [
        "UUID", "String", "Int", "Int64", "Float", "Boolean", "Date", "Timestamp", "Any", "Vector",
    ]

    /// The scalars by names that other languages and services give them, in lower case.
    private static let foreignNames = [
        "integer": "Int", "int32": "Int", "long": "Int64", "bigint": "Int64", "double": "Float", "number": "Float",
        "decimal": "Float", "bool": "Boolean", "text": "String", "varchar": "String", "datetime": "Timestamp",
        "timestamptz": "Timestamp", "time": "Timestamp", "json": "Any", "jsonb": "Any", "object": "Any",
    ]

    /// Returns `did you mean "Int"?` for `Integer` and for names similar to a candidate; nil for others.
    package static func help(_ name: String, among candidates: some Sequence<String>) -> String? {
        foreignNames[name.lowercased()].map { "did you mean \"\($0)\"?" } ?? DidYouMean.help(name, among: candidates)
    }

    static var namesText: String { names.joined(separator: ", ") }

    /// Returns the scalar with a GraphQL name; nil for enums and unknown names.
    package static func named(_ name: String) -> ScalarType? {
        switch name {
        case "UUID": .uuid
        case "String": .string
        case "Int": .int
        case "Int64": .int64
        case "Float": .float
        case "Boolean": .boolean
        case "Date": .date
        case "Timestamp": .timestamp
        case "Any": .any
        case "Vector": .vector
        default: nil
        }
    }

    /// The GraphQL name.
    package var typeName: String {
        switch self {
        case .uuid: "UUID"
        case .string: "String"
        case .int: "Int"
        case .int64: "Int64"
        case .float: "Float"
        case .boolean: "Boolean"
        case .date: "Date"
        case .timestamp: "Timestamp"
        case .any: "Any"
        case .vector: "Vector"
        case .enumeration(let name): name
        }
    }

    /// The SQL type as `format_type` prints it. Nil for enums, whose SQL names are in the schema. Source:
    /// docs/reference/sql-connect.md §5.3.
    package var sqlTypeName: String? {
        switch self {
        case .uuid: "uuid"
        case .string: "text"
        case .int: "integer"
        case .int64: "bigint"
        case .float: "double precision"
        case .boolean: "boolean"
        case .date: "date"
        case .timestamp: "timestamp with time zone"
        case .any: "jsonb"
        case .vector: "vector"
        case .enumeration: nil
        }
    }
}
