import GraphQLLanguage

/// The SQL type that `@col(dataType:)` gives a column, checked against its GraphQL type.
///
/// Only types that preserve the wire form of values are supported. They are spelt as `format_type` prints them, so that
/// a database can be compared with the schema.
package struct ColumnDataType {
    /// The element type for lists: `character varying(40)`. `integer` for `serial`.
    let name: String
    let isSerial: Bool

    /// Returns nil if the type is unknown or does not fit the column. A list type may be written with or without `[]`.
    init?(_ text: String, for type: ColumnType) {
        var lowered = text.lowercased().split(whereSeparator: \.isWhitespace).joined(separator: " ")
        if type.isList, lowered.hasSuffix("[]") {
            lowered.removeLast(2)
            if lowered.last == " " { lowered.removeLast() }
        }
        let open = lowered.firstIndex(of: "(") ?? lowered.endIndex
        var base = String(lowered[..<open])
        while base.last == " " { base.removeLast() }
        var parameters: [Int] = []
        if open < lowered.endIndex {
            guard lowered.last == ")" else { return nil }
            for part in lowered[lowered.index(after: open)...].dropLast().split(separator: ",") {
                guard let number = Int(part.filter { $0 != " " }), (0...10_485_760).contains(number) else { return nil }
                parameters.append(number)
            }
            guard !parameters.isEmpty else { return nil }
        }
        guard let known = Self.known[base], known.scalar == type.scalar, parameters.count <= known.parametersMax else {
            return nil
        }
        // In SQL, `char` means `char(1)`.
        if known.name == "character", parameters.isEmpty { parameters = [1] }
        let suffix = parameters.isEmpty ? "" : "(\(parameters.map(String.init).joined(separator: ",")))"
        name = known.name + suffix
        isSerial = known.isSerial
    }

    /// The most dimensions that pgvector supports in a `vector`.
    package static let vectorSizeMax: Int64 = 16_000

    /// Reads `@col` of a field: its `dataType`, or the type that its `size` implies. Returns nil if it gives neither.
    init?(of field: DeclaredField, _ type: ColumnType) {
        guard let col = field.directive("col") else { return nil }
        if let text = col.string("dataType") {
            self.init(text, for: type)
            return
        }
        guard let size = col.value("size")?.intValue else { return nil }
        switch type.scalar {
        case .string: self.init("varchar(\(size))", for: type)
        case .vector: self.init("vector(\(size))", for: type)
        case .uuid, .int, .int64, .float, .boolean, .date, .timestamp, .any, .enumeration: return nil
        }
    }

    /// Returns the types that may be given, for help texts.
    static func names(for type: ColumnType) -> [String] {
        known.filter { $0.value.scalar == type.scalar && !(type.isList && $0.value.isSerial) }.map(\.key).sorted()
            .map { type.isList ? $0 + "[]" : $0 }
    }

    /// Returns whether the text names the column's own enum type, which it has anyway.
    static func isEnum(_ text: String, _ type: ColumnType, _ enums: [String: EnumType]) -> Bool {
        guard case .enumeration(let name) = type.scalar else { return false }
        let own = enums[name]?.name ?? GeneratedNames.snakeCase(name)
        let names = [own, SQLName.quoted(own), name, SQLName.quoted(name)]
        return (type.isList ? names + names.map { $0 + "[]" } : names).contains(text)
    }

    private struct Known {
        let name: String
        let scalar: ScalarType
        var parametersMax = 0
        var isSerial = false
    }

    private static let known: [String: Known] = [
        "text": Known(name: "text", scalar: .string),
        "varchar": Known(name: "character varying", scalar: .string, parametersMax: 1),
        "character varying": Known(name: "character varying", scalar: .string, parametersMax: 1),
        "char": Known(name: "character", scalar: .string, parametersMax: 1),
        "character": Known(name: "character", scalar: .string, parametersMax: 1),
        "integer": Known(name: "integer", scalar: .int),
        "int": Known(name: "integer", scalar: .int),
        "int4": Known(name: "integer", scalar: .int),
        "smallint": Known(name: "smallint", scalar: .int),
        "int2": Known(name: "smallint", scalar: .int),
        "serial": Known(name: "integer", scalar: .int, isSerial: true),
        "serial4": Known(name: "integer", scalar: .int, isSerial: true),
        "smallserial": Known(name: "smallint", scalar: .int, isSerial: true),
        "serial2": Known(name: "smallint", scalar: .int, isSerial: true),
        "bigint": Known(name: "bigint", scalar: .int64),
        "int8": Known(name: "bigint", scalar: .int64),
        "bigserial": Known(name: "bigint", scalar: .int64, isSerial: true),
        "serial8": Known(name: "bigint", scalar: .int64, isSerial: true),
        "double precision": Known(name: "double precision", scalar: .float),
        "float8": Known(name: "double precision", scalar: .float),
        "float": Known(name: "double precision", scalar: .float),
        "real": Known(name: "real", scalar: .float),
        "float4": Known(name: "real", scalar: .float),
        "numeric": Known(name: "numeric", scalar: .float, parametersMax: 2),
        "decimal": Known(name: "numeric", scalar: .float, parametersMax: 2),
        "boolean": Known(name: "boolean", scalar: .boolean),
        "bool": Known(name: "boolean", scalar: .boolean),
        "uuid": Known(name: "uuid", scalar: .uuid),
        "date": Known(name: "date", scalar: .date),
        "timestamptz": Known(name: "timestamp with time zone", scalar: .timestamp),
        "timestamp with time zone": Known(name: "timestamp with time zone", scalar: .timestamp),
        // Holds UTC: sessions have this time zone.
        "timestamp": Known(name: "timestamp without time zone", scalar: .timestamp),
        "timestamp without time zone": Known(name: "timestamp without time zone", scalar: .timestamp),
        "jsonb": Known(name: "jsonb", scalar: .any),
        "vector": Known(name: "vector", scalar: .vector, parametersMax: 1),
    ]
}
