/// The signatures of the standard operators and functions (langdef "Standard Definitions").
enum StandardDeclarations {
    private static let a = CELType.typeParameter("A")
    private static let b = CELType.typeParameter("B")

    private static func function(_ id: String, _ parameters: [CELType], _ result: CELType) -> Overload {
        Overload(id: id, parameters: parameters, result: result)
    }

    private static func method(_ id: String, _ parameters: [CELType], _ result: CELType) -> Overload {
        Overload(id: id, parameters: parameters, result: result, isInstance: true)
    }

    static let overloads: [String: [Overload]] = {
        var table: [String: [Overload]] = [
            Operator.conditional: [function("conditional", [.bool, a, a], a)],
            Operator.not: [function("logical_not", [.bool], .bool)],
            Operator.equal: [function("equals", [a, a], .bool)],
            Operator.notEqual: [function("not_equals", [a, a], .bool)],
            Operator.index: [
                function("index_list", [.list(a), .int], a), function("index_map", [.map(a, b), a], b),
                function("index_optional_list", [.optional(.list(a)), .int], .optional(a)),
                function("index_optional_map", [.optional(.map(a, b)), a], .optional(b)),
            ],
            Operator.optionalIndex: [
                function("list_optindex", [.list(a), .int], .optional(a)),
                function("map_optindex", [.map(a, b), a], .optional(b)),
                function("optional_list_optindex", [.optional(.list(a)), .int], .optional(a)),
                function("optional_map_optindex", [.optional(.map(a, b)), a], .optional(b)),
            ],
            Operator.contained: [
                function("in_list", [a, .list(a)], .bool), function("in_map", [a, .map(a, b)], .bool),
            ],
            Operator.negate: [
                function("negate_int64", [.int], .int), function("negate_double", [.double], .double),
            ],
            "type": [function("type", [a], .type(a))],
            "dyn": [function("to_dyn", [a], .dyn)],
            "contains": [method("contains_string", [.string, .string], .bool)],
            "startsWith": [method("starts_with_string", [.string, .string], .bool)],
            "endsWith": [method("ends_with_string", [.string, .string], .bool)],
            "matches": [
                function("matches", [.string, .string], .bool), method("matches_string", [.string, .string], .bool),
            ],
        ]
        addArithmetic(to: &table)
        addOrder(to: &table)
        addSizes(to: &table)
        addConversions(to: &table)
        addTimes(to: &table)
        return table
    }()

    private static func addArithmetic(to table: inout [String: [Overload]]) {
        func numeric(_ name: String, _ types: [CELType]) -> [Overload] {
            types.map { function("\(name)_\($0)", [$0, $0], $0) }
        }
        table[Operator.multiply] = numeric("multiply", [.int, .uint, .double])
        table[Operator.divide] = numeric("divide", [.int, .uint, .double])
        table[Operator.remainder] = numeric("modulo", [.int, .uint])
        table[Operator.add] =
            numeric("add", [.int, .uint, .double, .string, .bytes, .list(a), .duration]) + [
                function("add_timestamp_duration", [.timestamp, .duration], .timestamp),
                function("add_duration_timestamp", [.duration, .timestamp], .timestamp),
            ]
        table[Operator.subtract] =
            numeric("subtract", [.int, .uint, .double, .duration]) + [
                function("subtract_timestamp_timestamp", [.timestamp, .timestamp], .duration),
                function("subtract_timestamp_duration", [.timestamp, .duration], .timestamp),
            ]
    }

    private static func addOrder(to table: inout [String: [Overload]]) {
        let numbers: [CELType] = [.int, .uint, .double]
        var pairs: [(CELType, CELType)] = numbers.flatMap { left in numbers.map { (left, $0) } }
        pairs += [.bool, .string, .bytes, .timestamp, .duration].map { ($0, $0) }
        for (symbol, name) in [
            (Operator.less, "less"), (Operator.lessOrEqual, "less_equals"), (Operator.greater, "greater"),
            (Operator.greaterOrEqual, "greater_equals"),
        ] {
            table[symbol] = pairs.map { function("\(name)_\($0.0)_\($0.1)", [$0.0, $0.1], .bool) }
        }
    }

    private static func addSizes(to table: inout [String: [Overload]]) {
        let sized: [CELType] = [.string, .bytes, .list(a), .map(a, b)]
        table["size"] =
            sized.map { function("size_\($0)", [$0], .int) } + sized.map { method("\($0)_size", [$0], .int) }
    }

    private static func addConversions(to table: inout [String: [Overload]]) {
        let conversions: [(String, CELType, [CELType])] = [
            ("bool", .bool, [.bool, .string]),
            ("int", .int, [.int, .uint, .double, .string, .timestamp, .duration]),
            ("uint", .uint, [.uint, .int, .double, .string]),
            ("double", .double, [.double, .int, .uint, .string]),
            ("string", .string, [.string, .bool, .int, .uint, .double, .bytes, .timestamp, .duration]),
            ("bytes", .bytes, [.bytes, .string]),
            ("timestamp", .timestamp, [.timestamp, .string, .int]),
            ("duration", .duration, [.duration, .string, .int]),
        ]
        for (name, result, sources) in conversions {
            table[name] = sources.map { function("\($0)_to_\(name)", [$0], result) }
        }
    }

    private static func addTimes(to table: inout [String: [Overload]]) {
        let ofTimestamp = [
            "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours",
            "getMinutes", "getSeconds", "getMilliseconds",
        ]
        for name in ofTimestamp {
            table[name] = [
                method("timestamp_\(name)", [.timestamp], .int),
                method("timestamp_\(name)_with_tz", [.timestamp, .string], .int),
            ]
        }
        for name in ["getHours", "getMinutes", "getSeconds", "getMilliseconds"] {
            table[name, default: []].append(method("duration_\(name)", [.duration], .int))
        }
    }
}
