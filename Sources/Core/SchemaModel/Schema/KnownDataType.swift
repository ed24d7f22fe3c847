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
    /// The numbers that may follow in parentheses.
    var parameters: [ClosedRange<Int>] = []
    var isSerial = false
    /// Whether the type has the comparison operators.
    var isOrdered = true
    /// The extension that has the type.
    var extensionName: String?

    /// The name in casts: `character` and `bit` alone would mean one character.
    var castName: String {
        switch name {
        case "character", "bpchar": "text"
        case "bit": "bit varying"
        default: name
        }
    }

    /// The ranges of the numbers that Postgres permits in parentheses.
    private enum Parameters {
        static let length = [1...10_485_760]
        static let bits = [1...83_886_080]
        /// Precision and scale.
        static let numeric = [1...1_000, -1_000...1_000]
        /// Digits of a second.
        static let seconds = [0...secondDigitsMax]
        static let dimensions = [1...Int(ColumnDataType.vectorSizeMax)]
    }

    /// The most digits of a second that Postgres stores; it reduces a larger number to this one.
    static let secondDigitsMax = 6

    /// Whether these numbers may follow in parentheses.
    func takes(_ numbers: [Int]) -> Bool {
        numbers.count <= parameters.count && zip(numbers, parameters).allSatisfy { $1.contains($0) }
    }

    /// Whether the parameter is the number of digits of a second.
    var hasSecondDigits: Bool { parameters == Parameters.seconds }

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

    /// Returns the usual name of a type that SQL has several names for: `varchar` for `national character varying`.
    /// - Parameter parameters: the numbers in parentheses; none are left where the usual name stands for them.
    static func usual(_ name: String, _ parameters: [Int]) -> (name: String, parameters: [Int]) {
        switch (name, parameters.count) {
        case ("dec", _): ("numeric", parameters)
        case ("nchar", _), ("national char", _), ("national character", _), ("bpchar", 1): ("char", parameters)
        case ("char varying", _), ("nchar varying", _), ("national char varying", _), ("national character varying", _):
            ("varchar", parameters)
        // The number of binary digits.
        case ("float", 1) where (1...24).contains(parameters[0]): ("real", [])
        case ("float", 1) where (25...53).contains(parameters[0]): ("double precision", [])
        default: (name, parameters)
        }
    }

    /// The known types by the names that a schema may use, in lower case.
    static let all: [String: KnownDataType] = {
        var all: [String: KnownDataType] = [:]
        func add(_ names: String..., type: KnownDataType) { for name in names { all[name] = type } }
        let varchar = KnownDataType(
            name: "character varying", family: .text, native: .string, parameters: Parameters.length)
        add("text", type: KnownDataType(name: "text", family: .text, native: .string))
        add("varchar", "character varying", type: varchar)
        add(
            "char", "character",
            type: KnownDataType(name: "character", family: .text, native: .string, parameters: Parameters.length))
        // Without a limit of the length, unlike `char`; blanks at the end do not count either.
        add("bpchar", type: KnownDataType(name: "bpchar", family: .text, native: .string))
        add("citext", type: KnownDataType(name: "citext", family: .text, extensionName: "citext"))
        add("name", type: KnownDataType(name: "name", family: .text))

        add("integer", "int", "int4", type: KnownDataType(name: "integer", family: .number, native: .int))
        add("smallint", "int2", type: KnownDataType(name: "smallint", family: .number, native: .int))
        add("bigint", "int8", type: KnownDataType(name: "bigint", family: .number, native: .int64))
        let double = KnownDataType(name: "double precision", family: .number, native: .float)
        add("double precision", "float8", "float", type: double)
        add("real", "float4", type: KnownDataType(name: "real", family: .number, native: .float))
        let numeric = KnownDataType(name: "numeric", family: .number, native: .float, parameters: Parameters.numeric)
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
            name: "timestamp with time zone", family: .moment, native: .timestamp, parameters: Parameters.seconds)
        add("timestamptz", "timestamp with time zone", type: zoned)
        // Holds UTC: sessions have this time zone.
        let unzoned = KnownDataType(
            name: "timestamp without time zone", family: .moment, native: .timestamp, parameters: Parameters.seconds)
        add("timestamp", "timestamp without time zone", type: unzoned)
        let time = KnownDataType(name: "time without time zone", family: .other, parameters: Parameters.seconds)
        add("time", "time without time zone", type: time)
        let zonedTime = KnownDataType(name: "time with time zone", family: .other, parameters: Parameters.seconds)
        add("timetz", "time with time zone", type: zonedTime)
        for fields in ["", " second", " day to second", " hour to second", " minute to second"] {
            let name = "interval\(fields)"
            add(name, type: KnownDataType(name: name, family: .other, parameters: Parameters.seconds))
        }
        for fields in [
            "year", "month", "day", "hour", "minute", "year to month", "day to hour", "day to minute", "hour to minute",
        ] {
            add("interval \(fields)", type: KnownDataType(name: "interval \(fields)", family: .other))
        }

        add("jsonb", type: KnownDataType(name: "jsonb", family: .json, native: .any))
        add("json", type: KnownDataType(name: "json", family: .json, isOrdered: false))
        let vector = KnownDataType(
            name: "vector", family: .vector, native: .vector, parameters: Parameters.dimensions)
        add("vector", type: vector)

        let varbit = KnownDataType(name: "bit varying", family: .other, parameters: Parameters.bits)
        add("varbit", "bit varying", type: varbit)
        add("bit", type: KnownDataType(name: "bit", family: .other, parameters: Parameters.bits))
        for name in ["bytea", "cidr", "inet", "macaddr", "macaddr8", "money", "oid", "pg_lsn", "tsvector"] {
            add(name, type: KnownDataType(name: name, family: .other))
        }
        add("xml", type: KnownDataType(name: "xml", family: .other, isOrdered: false))
        add("ltree", type: KnownDataType(name: "ltree", family: .other, extensionName: "ltree"))
        add("hstore", type: KnownDataType(name: "hstore", family: .other, isOrdered: false, extensionName: "hstore"))
        return all
    }()
}
