internal import JSON
internal import LiveModel

/// A query rendered but for its shape.
struct QueryPlan: Sendable {
    let template: Template
    let lookups: [LookupKey]
    let cache = StatementCache<ShapeKey, QueryStatement>()

    /// A top-level field that looks up one row by its primary key.
    struct LookupKey: Sendable {
        let table: String
        let inclusion: Inclusion
        let operands: [Operand]
    }

    init(_ fields: [RootField], schema: Schema) {
        var builder = TemplateBuilder(schema: schema)
        let pieces = builder.root(fields)
        template = builder.finish(pieces)
        lookups = fields.compactMap { field in
            guard case .lookup(let lookup) = field.kind, case .key(let operands) = lookup.target else { return nil }
            return LookupKey(table: lookup.table.name, inclusion: field.inclusion, operands: operands)
        }
    }

    func call(_ invocation: Invocation) throws(RequestError) -> QueryCall {
        let shape = template.shape(of: invocation.variables)
        let statement = cache.statement(for: shape) { QueryStatement(template: template, shape: shape) }
        var parameters: [SQLParameter] = []
        parameters.reserveCapacity(statement.operands.count)
        for index in statement.operands {
            parameters.append(try template.operands[index].text(in: invocation))
        }
        return QueryCall(statement: statement, parameters: parameters)
    }

    func lookupKeys(_ invocation: Invocation) -> [EntityKey] {
        var keys: [EntityKey] = []
        for lookup in lookups where lookup.inclusion.isAlways || invocation.variables.satisfies(lookup.inclusion) {
            var values: [JSONValue] = []
            for operand in lookup.operands {
                guard let value = try? operand.value(in: invocation), !value.isNull else { break }
                values.append(value)
            }
            guard values.count == lookup.operands.count else { continue }
            let key = EntityKey(table: lookup.table, values: values)
            if !keys.contains(key) { keys.append(key) }
        }
        return keys
    }
}
