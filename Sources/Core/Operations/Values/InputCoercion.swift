import JSON
import LiveModel
import SchemaModel

/// Validates values of generated input types in requests. Its results contain only known fields and operators, with
/// values in canonical form.
struct InputCoercion {
    let inputs: InputInterpreter
    let scalars: ScalarCoercion
    private var nodes = 0

    init(schema: Schema, scalars: ScalarCoercion) {
        inputs = InputInterpreter(schema: schema)
        self.scalars = scalars
    }

    struct Mismatch: Error {
        /// The path of the invalid value, such as `.title.eq`.
        let path: String
        let expected: String
    }

    private mutating func count(_ path: String, _ depth: Int) throws(Mismatch) {
        nodes += 1
        guard nodes <= InputInterpreter.nodesMax, depth <= InputInterpreter.depthMax else {
            throw Mismatch(
                path: path,
                expected: "at most \(InputInterpreter.nodesMax) conditions, \(InputInterpreter.depthMax) levels deep")
        }
    }

    func object(_ value: JSONValue, _ typeName: String, _ path: String) throws(Mismatch) -> JSONObject {
        guard let object = value.objectValue else {
            throw Mismatch(path: path, expected: "an object of type \(typeName)")
        }
        return object
    }

    mutating func coerce(_ value: JSONValue, to input: InputTypeRef) throws(Mismatch) -> JSONValue {
        func table(_ name: String) throws(Mismatch) -> Table {
            guard let table = inputs.schema.table(ofType: name) else {
                throw Mismatch(path: "", expected: "an existing type")
            }
            return table
        }
        switch input {
        case .filter(let type): return try filter(value, table(type))
        case .listFilter(let type): return try listFilter(value, table(type), "", 0)
        case .having(let type): return try having(value, table(type))
        case .order(let type): return try order(value, table(type))
        case .firstRow(let type): return try firstRow(value, table(type))
        case .pattern: return value.isNull ? .null : try pattern(object(value, input.typeName, ""), "")
        case .change(let type): return try oneChange(value, type)
        case .tests(let type): return try tests(value, type, "", 0)
        }
    }

    /// Coerces `{where: {…}, orderBy: [{…}]}`.
    private mutating func firstRow(_ value: JSONValue, _ table: Table) throws(Mismatch) -> JSONValue {
        if value.isNull { return .null }
        var coerced = JSONObject()
        for entry in try object(value, "\(table.typeName)_FirstRow", "") {
            let path = ".\(entry.key)"
            switch entry.key {
            case "where": coerced["where"] = try filter(entry.value, table, path)
            case "orderBy":
                guard !entry.value.isNull else { continue }
                guard (entry.value.arrayValue?.count ?? 1) <= CoercionPlan.orderCountMax else {
                    throw Mismatch(path: path, expected: "at most \(CoercionPlan.orderCountMax) elements")
                }
                coerced["orderBy"] = try list(entry.value, path, 0) { (coercion, inner, path) throws(Mismatch) in
                    try coercion.order(inner, table, path, depth: 1)
                }
            default: throw Mismatch(path: path, expected: "where or orderBy")
            }
        }
        return .object(coerced)
    }

    // MARK: Filters

    mutating func filter(
        _ value: JSONValue, _ table: Table, _ path: String = "", depth: Int = 0
    ) throws(Mismatch) -> JSONValue {
        if value.isNull { return .null }
        var coerced = JSONObject()
        for entry in try object(value, "\(table.typeName)_Filter", path) {
            let path = "\(path).\(entry.key)"
            try count(path, depth)
            switch entry.key {
            case "_and", "_or":
                coerced[entry.key] = try list(entry.value, path, depth) { (coercion, inner, path) throws(Mismatch) in
                    try coercion.filter(inner, table, path, depth: depth + 1)
                }
            case "_not": coerced[entry.key] = try filter(entry.value, table, path, depth: depth + 1)
            default: coerced[entry.key] = try field(entry.key, entry.value, table, path, depth)
            }
        }
        return .object(coerced)
    }

    private mutating func list(
        _ value: JSONValue, _ path: String, _ depth: Int,
        _ one: (inout InputCoercion, JSONValue, String) throws(Mismatch) -> JSONValue
    ) throws(Mismatch) -> JSONValue {
        var coerced: [JSONValue] = []
        for (index, inner) in (value.arrayValue ?? [value]).enumerated() {
            try count(path, depth)
            coerced.append(try one(&self, inner, "\(path)[\(index)]"))
        }
        return .array(coerced)
    }

    mutating func having(
        _ value: JSONValue, _ table: Table, _ path: String = "", depth: Int = 0
    ) throws(Mismatch) -> JSONValue {
        if value.isNull { return .null }
        let aggregates = Aggregate.all(of: table)
        var coerced = JSONObject()
        for entry in try object(value, "\(table.typeName)_Having", path) {
            let path = "\(path).\(entry.key)"
            try count(path, depth)
            switch entry.key {
            case "_and", "_or":
                coerced[entry.key] = try list(entry.value, path, depth) { (coercion, inner, path) throws(Mismatch) in
                    try coercion.having(inner, table, path, depth: depth + 1)
                }
            case "_not": coerced[entry.key] = try having(entry.value, table, path, depth: depth + 1)
            case "_distinct": coerced[entry.key] = try scalar(entry.value, ColumnType(.boolean), path)
            default:
                guard let aggregate = aggregates.first(where: { $0.name == entry.key })?.aggregate else {
                    throw Mismatch(path: path, expected: "a field of \(table.typeName)_Having")
                }
                coerced[entry.key] = try tests(entry.value, aggregate.type, path, depth)
            }
        }
        return .object(coerced)
    }

    private mutating func field(
        _ name: String, _ value: JSONValue, _ table: Table, _ path: String, _ depth: Int
    ) throws(Mismatch) -> JSONValue {
        let schema = inputs.schema
        if let column = table.column(ofField: name) { return try tests(value, column.type, path, depth) }
        if let reference = table.reference(ofField: name), let target = schema.table(ofType: reference.targetType) {
            return try filter(value, target, path, depth: depth + 1)
        }
        let inverse = schema.inverseRelations(ofType: table.typeName).first { $0.name == name }
        if let inverse, inverse.isSingle { return try filter(value, inverse.child, path, depth: depth + 1) }
        let many = schema.manyToManyRelations(ofType: table.typeName).first { $0.name == name }
        guard let rows = inverse.map(RelatedRows.inverse) ?? many.map(RelatedRows.manyToMany) else {
            throw Mismatch(path: path, expected: "a field of \(table.typeName)_Filter")
        }
        return try listFilter(value, rows.table, path, depth)
    }

    private mutating func listFilter(
        _ value: JSONValue, _ table: Table, _ path: String, _ depth: Int
    ) throws(Mismatch) -> JSONValue {
        if value.isNull { return .null }
        var coerced = JSONObject()
        for entry in try object(value, "\(table.typeName)_ListFilter", path) {
            let path = "\(path).\(entry.key)"
            try count(path, depth)
            switch entry.key {
            case "exist": coerced["exist"] = try filter(entry.value, table, path, depth: depth + 1)
            case "count": coerced["count"] = try tests(entry.value, ColumnType(.int), path, depth)
            default: throw Mismatch(path: path, expected: "exist or count")
            }
        }
        return .object(coerced)
    }

    private mutating func tests(
        _ value: JSONValue, _ type: ColumnType, _ path: String, _ depth: Int
    ) throws(Mismatch) -> JSONValue {
        if value.isNull { return .null }
        var coerced = JSONObject()
        for entry in try object(value, type.filterName, path) {
            let path = "\(path).\(entry.key)"
            try count(path, depth)
            guard let filterOperator = FilterOperator.named(entry.key, of: type), filterOperator.isOfVariables else {
                throw Mismatch(path: path, expected: "an operator of \(type.filterName) that variables support")
            }
            coerced[entry.key] = try argument(filterOperator.argument, entry.value, type, path)
        }
        return .object(coerced)
    }

    private func argument(
        _ argument: FilterOperator.Argument, _ value: JSONValue, _ type: ColumnType, _ path: String
    ) throws(Mismatch) -> JSONValue {
        switch argument {
        case .flag: return try scalar(value, ColumnType(.boolean), path)
        case .pattern:
            if value.isNull { return .null }
            return try pattern(try object(value, InputTypeRef.pattern.typeName, path), path)
        case .operand(let form, _):
            switch form {
            case .element, .part: return try scalar(value, ColumnType(type.scalar), path)
            case .list:
                if let elements = value.arrayValue, elements.count > CoercionPlan.listCountMax {
                    throw Mismatch(path: path, expected: "at most \(CoercionPlan.listCountMax) elements")
                }
                if let elements = value.arrayValue, elements.contains(where: \.isNull) {
                    throw Mismatch(path: path, expected: "a list without null")
                }
                return try scalar(value, ColumnType(type.scalar, isList: true), path)
            case .relative(let isDate): return try relative(value, isDate: isDate, path)
            case .expression: preconditionFailure("a variable has an expression at \(path)")
            }
        }
    }

    func scalar(_ value: JSONValue, _ type: ColumnType, _ path: String) throws(Mismatch) -> JSONValue {
        // A single value is coerced to a list (GraphQL specification §3.11).
        let isSingle = type.isList && value.arrayValue == nil && !value.isNull
        do throws(ScalarCoercion.Mismatch) {
            return try scalars.coerce(isSingle ? .array([value]) : value, to: type)
        } catch {
            throw Mismatch(path: path, expected: error.expected)
        }
    }

    // MARK: Order

    mutating func order(
        _ value: JSONValue, _ table: Table, _ path: String = "", depth: Int = 0
    ) throws(Mismatch) -> JSONValue {
        if value.isNull { return .null }
        let singles = inputs.schema.inverseRelations(ofType: table.typeName).filter(\.isSingle)
        var coerced = JSONObject()
        for entry in try object(value, "\(table.typeName)_Order", path) {
            let path = "\(path).\(entry.key)"
            try count(path, depth)
            if let column = table.column(ofField: entry.key), column.type.scalar != .vector {
                if entry.value.isNull { continue }
                guard let word = entry.value.stringValue, SortOrder(rawValue: word) != nil else {
                    throw Mismatch(path: path, expected: "ASC or DESC")
                }
                coerced[entry.key] = entry.value
            } else if let reference = table.reference(ofField: entry.key),
                let target = inputs.schema.table(ofType: reference.targetType)
            {
                coerced[entry.key] = try order(entry.value, target, path, depth: depth + 1)
            } else if let relation = singles.first(where: { $0.name == entry.key }) {
                coerced[entry.key] = try order(entry.value, relation.child, path, depth: depth + 1)
            } else {
                throw Mismatch(path: path, expected: "a field of \(table.typeName)_Order that variables support")
            }
        }
        return .object(coerced)
    }
}
