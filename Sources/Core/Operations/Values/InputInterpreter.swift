package import JSON
import LiveModel
package import SchemaModel

/// Interprets values of the generated types `Novel_Filter`, `Novel_Having`, `Novel_Order`, `String_Filter`, … in
/// variables. Source: docs/reference/sql-connect.md §5.5.
///
/// The SQL depends on which fields and operators such a value contains, not on the operands: a statement is rendered
/// and cached per form (see `DynamicPlans`).
package struct InputInterpreter: Sendable {
    /// The deepest nesting of filters.
    static let depthMax = 8
    /// The most operators and fields in one value.
    static let nodesMax = 256

    package let schema: Schema

    package init(schema: Schema) {
        self.schema = schema
    }

    // MARK: Interpretation

    package func filter(_ variable: FilterVariable, _ value: JSONValue) -> Filter {
        func one(_ value: JSONValue, _ path: [String]) -> Filter {
            switch variable.subject {
            case .rows(let table): filter(value, table, variable: variable.name, path: path)
            case .groups(let table): having(value, table, variable: variable.name, path: path)
            case .related(let rows): related(value, rows, variable.name, path)
            }
        }
        guard let junction = variable.junction else { return one(value, variable.path) }
        let filters = (value.arrayValue ?? []).enumerated().map {
            one($0.element, variable.path + [String($0.offset)])
        }
        return junction == .all ? .all(filters) : .any(filters)
    }

    /// - Parameter path: the path of the value within the variable.
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
        return related(value, rows, variable, path)
    }

    private func related(_ value: JSONValue, _ rows: RelatedRows, _ variable: String, _ path: [String]) -> Filter {
        if value.isNull { return .all([]) }
        let matching = value["exist"].map { filter($0, rows.table, variable: variable, path: path + ["exist"]) }
        return .count(
            rows, matching ?? .all([]), tests(value["count"] ?? .null, ColumnType(.int), variable, path + ["count"]))
    }

    func having(_ value: JSONValue, _ table: Table, variable: String, path: [String]) -> Filter {
        let isDistinct = value["_distinct"]?.boolValue ?? false
        return .all(
            (value.objectValue?.entries ?? []).map { entry in
                let path = path + [entry.key]
                func filters() -> [Filter] {
                    (entry.value.arrayValue ?? []).enumerated().map {
                        having($0.element, table, variable: variable, path: path + [String($0.offset)])
                    }
                }
                switch entry.key {
                case "_and": return .all(filters())
                case "_or": return .any(filters())
                case "_not": return .not(having(entry.value, table, variable: variable, path: path))
                default:
                    guard
                        let aggregate = Aggregate.all(of: table).first(where: { $0.name == entry.key })?
                            .aggregate.distinct(isDistinct)
                    else { return .all([]) }
                    return .all(tests(entry.value, aggregate.type, variable, path).map { .aggregate(aggregate, $0) })
                }
            })
    }

    private func related(_ name: String, _ table: Table) -> RelatedRows? {
        if let relation = schema.inverseRelations(ofType: table.typeName).first(where: { $0.name == name }) {
            return .inverse(relation)
        }
        return schema.manyToManyRelations(ofType: table.typeName).first { $0.name == name }
            .map(RelatedRows.manyToMany)
    }

    /// Returns the tests in a variable of type `String_Filter` or `String_Pattern`.
    package func tests(_ value: JSONValue, _ input: InputTypeRef, _ variable: String) -> [ColumnTest] {
        switch input {
        case .tests(let type): tests(value, type, variable, [])
        case .pattern: [pattern(value, variable, [])]
        case .filter, .listFilter, .having, .order, .firstRow, .change: []
        }
    }

    /// Returns the row selected by a variable of type `Novel_FirstRow`.
    package func firstRow(_ value: JSONValue, _ table: Table, variable: String) -> RowTarget {
        let filter = FilterVariable(name: variable, subject: .rows(table), path: ["where"])
        // Set even without a filter: mutations reject a variable with an empty filter.
        return .first(.variable(filter), order(value["orderBy"] ?? .null, table))
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
        guard let filterOperator = FilterOperator.named(name, of: type) else { return nil }
        // An explicit null is a test: it selects rows without a value.
        if value.isNull { return filterOperator.nullMatch.map { .isNull(.sent($0)) } ?? .null }
        switch filterOperator.argument {
        case .flag: return .isNull(.constant(value.boolValue ?? true))
        case .pattern: return pattern(value, variable, path)
        case .operand(let form, let test): return operand(value, form, type.scalar, variable, path).map(test)
        }
    }

    private func operand(
        _ value: JSONValue, _ form: FilterOperator.OperandForm, _ scalar: ScalarType, _ variable: String,
        _ path: [String]
    ) -> Operand? {
        let given = Operand.Source.variable(variable, path: path)
        return switch form {
        case .element: Operand(given, type: ColumnType(scalar), schema: schema)
        case .list: Operand(given, type: ColumnType(scalar, isList: true), schema: schema)
        case .part(let pattern): Operand(given, type: ColumnType(scalar), schema: schema, pattern: pattern)
        case .relative(let isDate):
            Operand(
                .relative(RelativeTime(value, isDate: isDate, variable, path)), type: ColumnType(scalar),
                schema: schema)
        case .expression: nil
        }
    }

    /// Interprets `{like: "A%", ignoreCase: true}`.
    private func pattern(_ value: JSONValue, _ variable: String, _ path: [String]) -> ColumnTest {
        if value.isNull { return .null }
        let isLike = !(value["like"]?.isNull ?? true)
        let text = Operand(
            .variable(variable, path: path + [isLike ? "like" : "regex"]), type: ColumnType(.string), schema: schema)
        return .match(
            ColumnTest.Match(isLike: isLike, ignoreCase: value["ignoreCase"]?.boolValue ?? false), text,
            isNegated: value["invert"]?.boolValue ?? false)
    }

    /// Interprets `[{inc: 1}]` as an update of a column; returns nil if there is none.
    func change(_ column: Column, _ value: JSONValue, _ variable: String, _ path: [String]) -> Assignment? {
        guard let entry = value.arrayValue?.first?.objectValue?.entries.first,
            let change = Assignment.Change(rawValue: entry.key)
        else { return nil }
        let amountPath = path + ["0", entry.key]
        guard column.type.isList || ![.date, .timestamp].contains(column.type.scalar) else {
            let shifts = RelativeTime.amounts(entry.value, variable, amountPath).map {
                Assignment.Shift(unit: $0.unit, count: Operand($0.count, type: ColumnType(.int), schema: schema))
            }
            return shifts.isEmpty
                ? nil : Assignment(column: column, value: .shift(isForward: change == .inc, shifts), required: [])
        }
        let operand = Operand(.variable(variable, path: amountPath), type: column.type, schema: schema)
        return Assignment(column: column, value: .change(change, operand), required: operand.presence)
    }

    package func order(_ value: JSONValue, _ table: Table) -> [OrderTerm] {
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

    /// Returns the parts of a value that determine the text of a statement: everything except operands. Values with the
    /// same form have the same SQL.
    package static func form(of value: JSONValue?) -> String {
        switch value {
        case nil: "-"
        case .null: "n"
        case .bool(let flag): flag ? "t" : "f"
        case .int, .double: "?"
        case .string(let text): isWord(text) ? text : "?"
        case .array(let elements):
            // A list of values is one parameter; a list of filters is not.
            elements.contains { $0.objectValue != nil }
                ? "[\(elements.map { form(of: $0) }.joined(separator: ","))]" : "[]"
        case .object(let object):
            "{"
                + object.entries.map { "\(JSONValue.string($0.key).description):\(form(of: $0.value))" }
                .joined(separator: ",") + "}"
        }
    }

    /// Returns whether the text is an enum value that determines the statement's text.
    private static func isWord(_ text: String) -> Bool {
        SortOrder(rawValue: text) != nil || RelativeTime.Interval(rawValue: text) != nil
    }

    /// Returns the form of rows: which fields, how many nested rows and which updates they contain. Column values are
    /// parameters.
    package static func form(of value: JSONValue?, _ plan: CoercionPlan) -> String {
        guard let value else { return "-" }
        if let rows = value.arrayValue { return "[\(rows.map { form(of: $0, plan) }.joined(separator: ","))]" }
        guard value.objectValue != nil else { return "n" }
        let fields = plan.rowMembers.compactMap { member -> String? in
            guard let inner = value[member.name] else { return nil }
            switch member.plan {
            case .list(.nonNull(.object), _): return "\(member.name):\(form(of: inner, member.plan))"
            case .relative, .change: return "\(member.name):\(form(of: inner))"
            case .scalar, .word, .list, .object, .generated, .nonNull: return member.name
            }
        }
        return "{\(fields.joined(separator: ","))}"
    }
}
