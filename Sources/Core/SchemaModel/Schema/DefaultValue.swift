import GraphQLLanguage
import JSON

/// Reads `@default`, which takes exactly one of `value`, `expr` and `sql`. A constant must have the column's type.
enum DefaultValue {
    static func read(
        _ use: DirectiveUse, for type: ColumnType, isNullable: Bool, enums: [String: EnumType],
        sink: inout DiagnosticSink
    ) -> ColumnDefault? {
        func refuse(_ rule: Diagnostic.Rule, at range: FileRange, _ message: String, help: String? = nil)
            -> ColumnDefault?
        {
            sink.report(.error, rule: rule, at: range, message, help: help)
            return nil
        }
        let given = ["value", "expr", "sql"].filter { use.value($0) != nil }
        guard given.count == 1 else {
            return refuse(
                .defaultArguments, at: use.range, "@default takes exactly one of \"value\", \"expr\" and \"sql\"")
        }
        if let expression = use.string("expr") {
            guard let problem = DefaultExpression.problem(of: expression, for: type) else {
                return .expression(expression)
            }
            return refuse(.defaultExpression, at: use.range(of: "expr"), "invalid CEL expression: \(problem)")
        }
        if let sql = use.string("sql") {
            // Otherwise it could end the statement and begin another.
            if sql.contains(";") || sql.contains("--") || sql.contains("/*") {
                return refuse(
                    .defaultSQL, at: use.range(of: "sql"),
                    "a default in SQL must be one expression without \";\" and comments")
            }
            return .sql(sql)
        }
        guard let value = use.value("value") else { return nil }
        if value.isNull {
            return isNullable
                ? nil
                : refuse(.defaultType, at: use.range(of: "value"), "the default of a required column cannot be null")
        }
        guard let constant = constant(value, as: type, enums: enums) else {
            var help: String?
            if case .enumeration(let name) = type.scalar, let values = enums[name]?.values {
                let typed = value.enumValue ?? value.stringValue ?? ""
                help = DidYouMean.help(typed, among: values)
            }
            let expected = type.isList ? "[\(type.scalar.typeName)]" : type.scalar.typeName
            return refuse(
                .defaultType, at: use.range(of: "value"), "the default is not a value of type \(expected)", help: help
            )
        }
        return .constant(json: String(decoding: JSONWriter.canonical(constant), as: UTF8.self))
    }

    /// Converts a constant to JSON; returns nil if it does not have the type. A single value is coerced to a list, as
    /// in GraphQL.
    static func constant(_ value: Value, as type: ColumnType, enums: [String: EnumType]) -> JSONValue? {
        guard type.isList else { return scalar(value, as: type.scalar, enums: enums) }
        var items: [JSONValue] = []
        for item in value.listValue ?? [value] {
            guard let json = scalar(item, as: type.scalar, enums: enums) else { return nil }
            items.append(json)
        }
        return .array(items)
    }

    private static func scalar(_ value: Value, as type: ScalarType, enums: [String: EnumType]) -> JSONValue? {
        switch type {
        case .uuid: return value.stringValue.flatMap(ScalarText.canonicalUUID).map(JSONValue.string)
        case .string: return value.stringValue.map(JSONValue.string)
        case .int: return value.intValue.flatMap { Int32(exactly: $0) == nil ? nil : .int($0) }
        case .int64: return (value.intValue ?? value.stringValue.flatMap { Int64($0) }).map(JSONValue.int)
        case .float: return value.doubleValue.map(JSONValue.double)
        case .boolean: return value.boolValue.map(JSONValue.bool)
        case .date: return value.stringValue.flatMap { ScalarText.isDate($0) ? .string($0) : nil }
        case .timestamp: return value.stringValue.flatMap { ScalarText.isTimestamp($0) ? .string($0) : nil }
        case .any: return json(value)
        case .vector:
            guard let items = value.listValue else { return nil }
            let numbers = items.compactMap { $0.doubleValue.map(JSONValue.double) }
            return numbers.count == items.count ? .array(numbers) : nil
        case .enumeration(let name):
            guard let text = value.enumValue ?? value.stringValue, enums[name]?.values.contains(text) == true else {
                return nil
            }
            return .string(text)
        }
    }

    /// Converts a constant to JSON; returns nil if it contains a variable.
    private static func json(_ value: Value) -> JSONValue? {
        switch value.kind {
        case .null: return .null
        case .boolean(let flag): return .bool(flag)
        case .string(let text, _): return .string(text)
        case .enum(let name): return .string(name)
        case .int: return value.intValue.map(JSONValue.int) ?? value.doubleValue.map(JSONValue.double)
        case .float: return value.doubleValue.map(JSONValue.double)
        case .variable: return nil
        case .list(let values):
            let items = values.compactMap(json)
            return items.count == values.count ? .array(items) : nil
        case .object(let fields):
            var object = JSONObject()
            for field in fields {
                guard let member = json(field.value) else { return nil }
                object[field.name.value] = member
            }
            return .object(object)
        }
    }
}
