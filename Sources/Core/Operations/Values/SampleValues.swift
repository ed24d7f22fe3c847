package import JSON
package import SchemaModel

// MARK: Sample values that produce every part of a statement, for display

extension CoercionPlan {
    /// Returns a value of this form, in canonical form.
    package func sample(_ schema: Schema) -> JSONValue {
        switch self {
        case .scalar(let scalar): scalar.sample(schema)
        case .word(let words): .string(words.first ?? "")
        case .list(let element, _): .array([element.sample(schema)])
        case .object(_, let members):
            .object(JSONObject(members.map { ($0.name, $0.plan.sample(schema)) }))
        case .generated(.change(let type)): .object(JSONObject([type.sampleChange(schema)]))
        case .generated(.pattern): .object(JSONObject([("like", .string("text"))]))
        case .generated: .object(JSONObject())
        case .relative(let isDate): .object(JSONObject([(isDate ? "today" : "now", .bool(true))]))
        case .change(let type): .array([.object(JSONObject([type.sampleChange(schema)]))])
        case .nonNull(let inner): inner.sample(schema)
        }
    }
}

extension ColumnType {
    /// Returns the first update that the type supports.
    fileprivate func sampleChange(_ schema: Schema) -> (String, JSONValue) {
        let value = scalar.sample(schema)
        let isTime = !isList && [.date, .timestamp].contains(scalar)
        let amount: JSONValue = isTime ? .object(JSONObject([("days", .int(1))])) : isList ? .array([value]) : value
        return (changes.first?.name ?? "", amount)
    }
}

extension ScalarType {
    fileprivate func sample(_ schema: Schema) -> JSONValue {
        switch self {
        case .uuid: .string("00000000000040008000000000000000")
        case .string: .string("text")
        case .int: .int(1)
        case .int64: .int(1)
        case .float: .double(1.5)
        case .boolean: .bool(true)
        case .date: .string("2026-01-31")
        case .timestamp: .string("2026-01-31T12:00:00Z")
        case .any: .object(JSONObject())
        case .vector: .array([.double(1)])
        case .enumeration(let name): .string(schema.enums[name]?.values.first ?? "")
        }
    }
}
