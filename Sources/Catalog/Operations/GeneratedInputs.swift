internal import JSON
internal import LiveModel

/// Values of the generated types `Movie_Filter` and `Movie_Order` that a variable brings: their check, and what they
/// mean. Source: SQL Connect language §5.5.
///
/// The SQL depends on which fields and operators such a value has, not on what is compared with: a statement is rendered
/// for each form that is met and kept, see `DynamicPlans`.
struct GeneratedInputs: Sendable {
    /// Filters in filters.
    static let depthMax = 8
    /// Operators and fields of one value.
    static let nodesMax = 256

    let schema: Schema

    // MARK: Meaning

    /// - Parameter path: of the value inside the variable.
    func filter(_ value: JSONValue, _ table: Table, variable: String, path: [String]) -> Filter {
        guard let object = value.objectValue else { return .all([]) }
        return .all(
            object.entries.map { entry in
                let path = path + [entry.key]
                func filters() -> [Filter] {
                    (entry.value.arrayValue ?? []).enumerated().map {
                        filter($0.element, table, variable: variable, path: path + [String($0.offset)])
                    }
                }
                switch entry.key {
                case "_and": return .all(filters())
                case "_or": return .any(filters())
                case "_not": return .not(filter(entry.value, table, variable: variable, path: path))
                default: return field(entry.key, entry.value, table, variable, path)
                }
            })
    }

    private func field(
        _ name: String, _ value: JSONValue, _ table: Table, _ variable: String, _ path: [String]
    ) -> Filter {
        if value.isNull { return .all([]) }
        if let column = table.column(ofField: name) {
            return .all(tests(value, column.type, variable, path).map { .column(column, $0) })
        }
        if let reference = table.reference(ofField: name), let target = schema.table(ofType: reference.targetType) {
            return .referenced(reference, target, filter(value, target, variable: variable, path: path))
        }
        guard let rows = related(name, table) else { return .all([]) }
        if case .inverse(let relation) = rows, relation.isSingle {
            return .exists(rows, filter(value, relation.child, variable: variable, path: path))
        }
        guard let object = value.objectValue, !object.isEmpty else { return .exists(rows, .all([])) }
        return .all(
            object.entries.flatMap { entry -> [Filter] in
                if entry.value.isNull { return [] }
                let path = path + [entry.key]
                if entry.key == "exist" {
                    return [.exists(rows, filter(entry.value, rows.table, variable: variable, path: path))]
                }
                return tests(entry.value, ColumnType(.int), variable, path).map { .count(rows, $0) }
            })
    }

    private func related(_ name: String, _ table: Table) -> RelatedRows? {
        if let relation = schema.inverseRelations(ofType: table.typeName).first(where: { $0.name == name }) {
            return .inverse(relation)
        }
        return schema.manyToManyRelations(ofType: table.typeName).first { $0.name == name }
            .map(RelatedRows.manyToMany)
    }

    private func tests(
        _ value: JSONValue, _ type: ColumnType, _ variable: String, _ path: [String]
    ) -> [ColumnTest] {
        (value.objectValue?.entries ?? []).compactMap { entry in
            test(entry.key, entry.value, type, variable, path + [entry.key])
        }
    }

    private func test(
        _ name: String, _ value: JSONValue, _ type: ColumnType, _ variable: String, _ path: [String]
    ) -> ColumnTest? {
        func operand(isList: Bool = false, pattern: Operand.Pattern? = nil, path: [String] = path) -> Operand {
            Operand(
                .variable(variable, path: path), type: ColumnType(type.scalar, isList: isList), schema: schema,
                pattern: pattern)
        }
        if value.isNull {
            // Said, not left out: it asks for rows without a value.
            return name == "eq" ? .isNull(.constant(true)) : name == "ne" ? .isNull(.constant(false)) : nil
        }
        switch name {
        case "isNull": return .isNull(.constant(value.boolValue ?? true))
        case "in", "nin": return .member(operand(isList: true), isNegated: name == "nin")
        case "includes", "excludes": return .list("@>", operand(), isNegated: name == "excludes")
        case "includesAll": return .list("@>", operand(isList: true), isNegated: false)
        case "excludesAll": return .list("&&", operand(isList: true), isNegated: true)
        case "contains": return .match("LIKE", operand(pattern: .contains), isNegated: false)
        case "startsWith": return .match("LIKE", operand(pattern: .startsWith), isNegated: false)
        case "endsWith": return .match("LIKE", operand(pattern: .endsWith), isNegated: false)
        case "pattern":
            let ignoreCase = value["ignoreCase"]?.boolValue ?? false
            let isLike = !(value["like"]?.isNull ?? true)
            let symbol = isLike ? (ignoreCase ? "ILIKE" : "LIKE") : (ignoreCase ? "~*" : "~")
            return .match(
                symbol, operand(path: path + [isLike ? "like" : "regex"]),
                isNegated: value["invert"]?.boolValue ?? false)
        default: return FilterOperators.comparisons[name].map { .compare($0, operand()) }
        }
    }

    func order(_ value: JSONValue, _ table: Table) -> [OrderTerm] {
        let items = value.arrayValue ?? [value]
        return items.flatMap { keys($0, table) }
    }

    private func keys(_ value: JSONValue, _ table: Table) -> [OrderTerm] {
        orderKeys(value, table).map { .key($0.0, .constant($0.1)) }
    }

    private func orderKeys(_ value: JSONValue, _ table: Table) -> [(OrderKey, SortOrder)] {
        (value.objectValue?.entries ?? []).flatMap { entry -> [(OrderKey, SortOrder)] in
            if let column = table.column(ofField: entry.key) {
                return SortOrder(rawValue: entry.value.stringValue ?? "").map { [(.column(column), $0)] } ?? []
            }
            if let reference = table.reference(ofField: entry.key),
                let target = schema.table(ofType: reference.targetType)
            {
                return orderKeys(entry.value, target).map { (.referenced(reference, target, $0.0), $0.1) }
            }
            guard case .inverse(let relation)? = related(entry.key, table), relation.isSingle else { return [] }
            return orderKeys(entry.value, relation.child).map { (.single(relation, $0.0), $0.1) }
        }
    }

    // MARK: Form

    /// What of a value decides the text of a statement: everything but the values compared with. Two values with the
    /// same form have the same SQL.
    static func form(of value: JSONValue?) -> String {
        switch value {
        case nil: "-"
        case .null: "n"
        case .bool(let flag): flag ? "t" : "f"
        case .int, .double: "?"
        case .string(let text): SortOrder(rawValue: text) == nil ? "?" : text
        case .array(let elements):
            // Lists of values are one parameter; lists of filters are not.
            elements.contains { $0.objectValue != nil }
                ? "[\(elements.map { form(of: $0) }.joined(separator: ","))]" : "[]"
        case .object(let object):
            "{\(object.entries.map { "\(JSONValue.string($0.key).description):\(form(of: $0.value))" }.joined(separator: ","))}"
        }
    }
}
