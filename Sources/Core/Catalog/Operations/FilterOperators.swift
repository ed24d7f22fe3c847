/// The operators of each type. Source: docs/reference/sql-connect.md §5.5.
enum FilterOperators {
    /// In SQL.
    static let comparisons = ["eq": "=", "ne": "<>", "gt": ">", "ge": ">=", "lt": "<", "le": "<="]

    static func typeName(of type: ColumnType) -> String {
        "\(type.scalar.typeName)_\(type.isList ? "List" : "")Filter"
    }

    static func names(of type: ColumnType) -> [String] {
        let suffixes = suffixes(of: type.scalar)
        func withSuffixes(_ names: [String]) -> [String] {
            names.flatMap { name in [name] + suffixes.map { name + $0 } }
        }
        if type.isList {
            return ["isNull"] + withSuffixes(["includes", "excludes"]) + ["includesAll", "excludesAll"]
        }
        let equality = ["isNull", "in", "nin"] + withSuffixes(["eq", "ne"])
        let order = withSuffixes(["gt", "ge", "lt", "le"])
        return switch type.scalar {
        case .uuid, .boolean, .any, .vector: equality
        case .int, .int64, .float, .date, .timestamp, .enumeration: equality + order
        case .string: equality + order + ["contains", "startsWith", "endsWith", "pattern"]
        }
    }

    /// Other ways to give the value of an operator.
    private static func suffixes(of scalar: ScalarType) -> [String] {
        switch scalar {
        case .date: ["_expr", "_date"]
        case .timestamp: ["_expr", "_time"]
        case .vector: []
        case .uuid, .string, .int, .int64, .float, .boolean, .any, .enumeration: ["_expr"]
        }
    }
}
