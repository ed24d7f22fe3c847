/// A Postgres type that `@col(dataType:)` may name.
struct KnownDataType {
    /// Types that Postgres casts to one another.
    enum Family {
        case text, number, boolean, uuid, moment, json, vector
        /// Cast to and from texts only.
        case other
    }

    /// The name that `format_type` prints: `character varying`.
    let name: String
    let family: Family
    /// The scalar whose values the type holds unchanged.
    var native: ScalarType?
    /// How many numbers may follow in parentheses.
    var parametersMax = 0
    var isSerial = false
    /// Whether the type has the comparison operators.
    var isOrdered = true
    /// The extension that has the type.
    var extensionName: String?

    /// The name in casts: `character` and `bit` alone would mean one character.
    var castName: String {
        switch name {
        case "character": "text"
        case "bit": "bit varying"
        default: name
        }
    }

    /// Returns whether Postgres casts the type to the standard type of a scalar and back.
    func fits(_ scalar: ScalarType) -> Bool {
        switch scalar {
        case .string: true
        case .int: [.number, .text].contains(family) || family == .boolean
        case .int64, .float: [.number, .text].contains(family)
        case .boolean: [.boolean, .text].contains(family) || name == "integer"
        case .uuid: [.uuid, .text].contains(family)
        case .date, .timestamp: [.moment, .text].contains(family)
        case .any: [.json, .text].contains(family)
        case .vector: [.vector, .text].contains(family)
        case .enumeration: family == .text
        }
    }

    /// Returns how a column of the type is compared with values of a scalar that it is not native to.
    func comparison(with scalar: ScalarType) -> ColumnDataType.Comparison {
        switch (scalar, family) {
        case (.int, .number), (.int64, .number), (.float, .number), (.date, .moment), (.timestamp, .moment): .direct
        case (.string, _) where isOrdered: .stored
        // The text that nodes write: an index on the column serves.
        case (.uuid, .text), (.enumeration, .text): .stored
        default: .standard
        }
    }

    /// The known types by the names that a schema may use, in lower case.
    static let all: [String: KnownDataType] = {
        var all: [String: KnownDataType] = [:]
        func add(_ names: String..., type: KnownDataType) { for name in names { all[name] = type } }
        let varchar = KnownDataType(name: "character varying", family: .text, native: .string, parametersMax: 1)
        add("text", type: KnownDataType(name: "text", family: .text, native: .string))
        add("varchar", "character varying", type: varchar)
        add(
            "char", "character",
            type: KnownDataType(name: "character", family: .text, native: .string, parametersMax: 1))
        add("citext", type: KnownDataType(name: "citext", family: .text, extensionName: "citext"))
        add("name", type: KnownDataType(name: "name", family: .text))

        add("integer", "int", "int4", type: KnownDataType(name: "integer", family: .number, native: .int))
        add("smallint", "int2", type: KnownDataType(name: "smallint", family: .number, native: .int))
        add("bigint", "int8", type: KnownDataType(name: "bigint", family: .number, native: .int64))
        let double = KnownDataType(name: "double precision", family: .number, native: .float)
        add("double precision", "float8", "float", type: double)
        add("real", "float4", type: KnownDataType(name: "real", family: .number, native: .float))
        let numeric = KnownDataType(name: "numeric", family: .number, native: .float, parametersMax: 2)
        add("numeric", "decimal", type: numeric)
        let serial = KnownDataType(name: "integer", family: .number, native: .int, isSerial: true)
        add("serial", "serial4", type: serial)
        let small = KnownDataType(name: "smallint", family: .number, native: .int, isSerial: true)
        add("smallserial", "serial2", type: small)
        let big = KnownDataType(name: "bigint", family: .number, native: .int64, isSerial: true)
        add("bigserial", "serial8", type: big)

        add("boolean", "bool", type: KnownDataType(name: "boolean", family: .boolean, native: .boolean))
        add("uuid", type: KnownDataType(name: "uuid", family: .uuid, native: .uuid))
        add("date", type: KnownDataType(name: "date", family: .moment, native: .date))
        let zoned = KnownDataType(
            name: "timestamp with time zone", family: .moment, native: .timestamp, parametersMax: 1)
        add("timestamptz", "timestamp with time zone", type: zoned)
        // Holds UTC: sessions have this time zone.
        let unzoned = KnownDataType(
            name: "timestamp without time zone", family: .moment, native: .timestamp, parametersMax: 1)
        add("timestamp", "timestamp without time zone", type: unzoned)
        let time = KnownDataType(name: "time without time zone", family: .other, parametersMax: 1)
        add("time", "time without time zone", type: time)
        let zonedTime = KnownDataType(name: "time with time zone", family: .other, parametersMax: 1)
        add("timetz", "time with time zone", type: zonedTime)
        add("interval", type: KnownDataType(name: "interval", family: .other, parametersMax: 1))

        add("jsonb", type: KnownDataType(name: "jsonb", family: .json, native: .any))
        add("json", type: KnownDataType(name: "json", family: .json, isOrdered: false))
        add("vector", type: KnownDataType(name: "vector", family: .vector, native: .vector, parametersMax: 1))

        let varbit = KnownDataType(name: "bit varying", family: .other, parametersMax: 1)
        add("varbit", "bit varying", type: varbit)
        add("bit", type: KnownDataType(name: "bit", family: .other, parametersMax: 1))
        for name in ["bytea", "cidr", "inet", "macaddr", "macaddr8", "money", "oid", "pg_lsn", "tsvector"] {
            add(name, type: KnownDataType(name: name, family: .other))
        }
        add("xml", type: KnownDataType(name: "xml", family: .other, isOrdered: false))
        add("ltree", type: KnownDataType(name: "ltree", family: .other, extensionName: "ltree"))
        add("hstore", type: KnownDataType(name: "hstore", family: .other, isOrdered: false, extensionName: "hstore"))
        return all
    }()
}
