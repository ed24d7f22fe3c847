internal import JSON
internal import LiveModel

/// The check of values of the types `Movie_Filter` and `Movie_Order` that a request sends. What comes out has known fields
/// and operators only, with values in canonical form.
struct GeneratedInputCoercion {
    let inputs: GeneratedInputs
    let scalars: ScalarCoercion
    private var nodes = 0

    init(schema: Schema, scalars: ScalarCoercion) {
        inputs = GeneratedInputs(schema: schema)
        self.scalars = scalars
    }

    struct Mismatch: Error {
        /// `.title.eq`
        let path: String
        let expected: String
    }

    private mutating func count(_ path: String, _ depth: Int) throws(Mismatch) {
        nodes += 1
        guard nodes <= GeneratedInputs.nodesMax, depth <= GeneratedInputs.depthMax else {
            throw Mismatch(
                path: path,
                expected: "at most \(GeneratedInputs.nodesMax) conditions, \(GeneratedInputs.depthMax) levels deep")
        }
    }

    private func object(_ value: JSONValue, _ typeName: String, _ path: String) throws(Mismatch) -> JSONObject {
        guard let object = value.objectValue else {
            throw Mismatch(path: path, expected: "an object of type \(typeName)")
        }
        return object
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
                var filters: [JSONValue] = []
                for (index, inner) in (entry.value.arrayValue ?? [entry.value]).enumerated() {
                    try count(path, depth)
                    filters.append(try filter(inner, table, "\(path)[\(index)]", depth: depth + 1))
                }
                coerced[entry.key] = .array(filters)
            case "_not": coerced[entry.key] = try filter(entry.value, table, path, depth: depth + 1)
            default: coerced[entry.key] = try field(entry.key, entry.value, table, path, depth)
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
            throw Mismatch(path: path, expected: "a field of \(table.typeName)_Filter, there is no such")
        }
        if value.isNull { return .null }
        var coerced = JSONObject()
        for entry in try object(value, "\(rows.table.typeName)_ListFilter", path) {
            let path = "\(path).\(entry.key)"
            try count(path, depth)
            switch entry.key {
            case "exist": coerced["exist"] = try filter(entry.value, rows.table, path, depth: depth + 1)
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
        let typeName = "\(type.scalar.typeName)_\(type.isList ? "List" : "")Filter"
        // Expressions and relative times are the developer's, not the client's.
        let names = FilterOperators.names(of: type).filter {
            !$0.hasSuffix("_expr") && !$0.hasSuffix("_date") && !$0.hasSuffix("_time")
        }
        var coerced = JSONObject()
        for entry in try object(value, typeName, path) {
            let path = "\(path).\(entry.key)"
            try count(path, depth)
            guard names.contains(entry.key) else {
                throw Mismatch(path: path, expected: "an operator that \(typeName) has in variables")
            }
            coerced[entry.key] = try operand(entry.key, entry.value, type, path)
        }
        return .object(coerced)
    }

    private func operand(
        _ name: String, _ value: JSONValue, _ type: ColumnType, _ path: String
    ) throws(Mismatch) -> JSONValue {
        switch name {
        case "isNull": return try scalar(value, ColumnType(.boolean), path)
        case "in", "nin", "includesAll", "excludesAll":
            if let elements = value.arrayValue, elements.count > CoercionPlan.listCountMax {
                throw Mismatch(path: path, expected: "at most \(CoercionPlan.listCountMax) elements")
            }
            if let elements = value.arrayValue, elements.contains(where: \.isNull) {
                throw Mismatch(path: path, expected: "a list without null")
            }
            return try scalar(value, ColumnType(type.scalar, isList: true), path)
        case "pattern":
            if value.isNull { return .null }
            return try pattern(try object(value, "String_Pattern", path), path)
        default: return try scalar(value, ColumnType(type.scalar), path)
        }
    }

    private func pattern(_ object: JSONObject, _ path: String) throws(Mismatch) -> JSONValue {
        var coerced = JSONObject()
        for entry in object {
            switch entry.key {
            case "like", "regex": coerced[entry.key] = try scalar(entry.value, ColumnType(.string), path)
            case "ignoreCase", "invert": coerced[entry.key] = try scalar(entry.value, ColumnType(.boolean), path)
            default: throw Mismatch(path: "\(path).\(entry.key)", expected: "like, regex, ignoreCase or invert")
            }
        }
        let given = ["like", "regex"].filter { !(coerced[$0]?.isNull ?? true) }
        guard given.count == 1 else { throw Mismatch(path: path, expected: "either like or regex") }
        return .object(coerced)
    }

    private func scalar(_ value: JSONValue, _ type: ColumnType, _ path: String) throws(Mismatch) -> JSONValue {
        do throws(ScalarCoercion.Mismatch) {
            return try scalars.coerce(value, to: type)
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
                throw Mismatch(path: path, expected: "a field that \(table.typeName)_Order has in variables")
            }
        }
        return .object(coerced)
    }
}
