import JSON
package import LiveModel
package import Operations
package import SchemaModel

/// The plan of a query, rendered except for its shape.
package struct QueryPlan: Sendable {
    let template: Template
    package let lookups: [LookupKey]
    let cache = ShapeCache<ShapeKey, QueryStatement>()
    /// Set if variables contain filters; `template` is then unused.
    let dynamic: DynamicPlans<QueryPlan>?

    /// A root field that looks up one row by its primary key.
    package struct LookupKey: Sendable {
        package let table: String
        let inclusion: Inclusion
        package let operands: [Operand]
        let masks: KeyMasks
    }

    package init(
        _ fields: [RootField], schema: Schema, dynamicVariables: [DynamicVariable] = [], bindings: Variables? = nil
    ) {
        dynamic =
            dynamicVariables.isEmpty
            ? nil
            : DynamicPlans(dynamicVariables) { QueryPlan(fields, schema: schema, bindings: $0) }
        var builder = TemplateBuilder(schema: schema, bindings: bindings)
        let pieces = builder.root(fields)
        template = builder.finish(pieces)
        lookups = fields.compactMap { field in
            guard case .lookup(let lookup) = field.kind, case .key(let operands) = lookup.target else { return nil }
            return LookupKey(
                table: lookup.table.name, inclusion: field.inclusion, operands: operands, masks: KeyMasks(lookup.table))
        }
    }

    func statement(of shape: ShapeKey) -> QueryStatement {
        cache.statement(for: shape) { QueryStatement(template: template, shape: shape) }
    }

    package func call(_ invocation: Invocation) throws(RequestError) -> QueryCall {
        if let dynamic { return try dynamic.plan(for: invocation.variables).call(invocation) }
        let statement = statement(of: template.shape(of: invocation.variables))
        var parameters: [SQLParameter] = []
        parameters.reserveCapacity(statement.operands.count)
        for index in statement.operands {
            parameters.append(try template.operands[index].text(in: invocation))
        }
        return QueryCall(statement: statement, parameters: parameters)
    }

    /// Groups the invocations by shape; invocations whose values fail are returned as failures.
    package func batches(
        count: Int, _ invocation: (Int) -> Invocation
    ) -> (batches: [QueryBatch], failures: [(index: Int, error: RequestError)]) {
        if let dynamic { return Self.batches(dynamic, count: count, invocation) }
        var batches: [QueryBatch] = []
        var failures: [(index: Int, error: RequestError)] = []
        var batchOfShape: [ShapeKey: Int] = [:]
        // Invocations mostly have the same shape as the one before: skips the lookup.
        var last: (shape: ShapeKey, batch: Int)?
        var values: [SQLParameter] = []
        for index in 0..<count {
            let invocation = invocation(index)
            let shape = template.shape(of: invocation.variables)
            let batch: Int
            if let last, last.shape == shape {
                batch = last.batch
            } else if let known = batchOfShape[shape] {
                batch = known
            } else {
                batch = batches.count
                batches.append(QueryBatch(statement(of: shape), capacity: batches.isEmpty ? count : 0))
                batchOfShape[shape] = batch
            }
            last = (shape, batch)
            values.removeAll(keepingCapacity: true)
            do throws(RequestError) {
                for operand in batches[batch].statement.operands {
                    values.append(try template.operands[operand].text(in: invocation))
                }
            } catch {
                failures.append((index, error))
                continue
            }
            batches[batch].members.append(index)
            for position in values.indices { batches[batch].columns[position].append(values[position]) }
        }
        return (batches.filter { !$0.members.isEmpty }, failures)
    }

    /// Groups the invocations by the form of their dynamic variables, then by shape.
    private static func batches(
        _ dynamic: DynamicPlans<QueryPlan>, count: Int, _ invocation: (Int) -> Invocation
    ) -> (batches: [QueryBatch], failures: [(index: Int, error: RequestError)]) {
        var members: [String: [Int]] = [:]
        var forms: [String] = []
        for index in 0..<count {
            let form = dynamic.form(of: invocation(index).variables)
            if members[form] == nil { forms.append(form) }
            members[form, default: []].append(index)
        }
        var batches: [QueryBatch] = []
        var failures: [(index: Int, error: RequestError)] = []
        for form in forms {
            guard let group = members[form], let first = group.first else { continue }
            let found = dynamic.plan(for: invocation(first).variables).batches(count: group.count) {
                invocation(group[$0])
            }
            for var batch in found.batches {
                batch.members = batch.members.map { group[$0] }
                batches.append(batch)
            }
            failures += found.failures.map { (group[$0.index], $0.error) }
        }
        return (batches, failures)
    }

    package func lookupKeys(_ invocation: Invocation) -> [EntityKey] {
        var keys: [EntityKey] = []
        for lookup in lookups where lookup.inclusion.isAlways || invocation.variables.satisfies(lookup.inclusion) {
            var values: [JSONValue] = []
            for operand in lookup.operands {
                guard let value = try? operand.value(in: invocation), !value.isNull else { break }
                values.append(value)
            }
            guard values.count == lookup.operands.count else { continue }
            let key = EntityKey(table: lookup.table, values: lookup.masks.masked(values))
            if !keys.contains(key) { keys.append(key) }
        }
        return keys
    }
}
