import JSON
package import LiveModel
package import Operations
package import SchemaModel

/// A mutation that is ready to run.
package struct MutationCall: Sendable {
    /// Whether all steps run in one transaction.
    package let isTransaction: Bool
    /// In order of the operation. Fields excluded by `@skip` or `@include` have no step.
    package let steps: [MutationStep]

    package init(isTransaction: Bool, steps: [MutationStep]) {
        self.isTransaction = isTransaction
        self.steps = steps
    }

    /// The primary keys of the rows that the whole call writes.
    package var keysWritten: [EntityKey] { steps.flatMap(\.keysWritten) }
}

/// One statement of a mutation.
package struct MutationStep: Sendable {
    package enum Kind: Sendable, Hashable {
        case write
        /// `query { … }`
        case read
    }

    package enum ResultKind: Sendable, Hashable {
        /// One row with one column, the JSON text of the field; no row or NULL means null.
        case json
        /// The field's value is the number of affected rows that Postgres reports.
        case affectedCount
    }

    package let responseKey: String
    package let statement: MutationStatement
    /// `$1…$n` in text form; nil for NULL.
    package let parameters: [String?]
    /// The keys that are known before the step runs.
    package let keysWritten: [EntityKey]
    /// Set if the result has a second column for `keysWritten(returned:)`.
    var returnedKey: ReturnedKey?
    package var returnsKey: Bool { returnedKey != nil }
    package let resultKind: ResultKind
    package let kind: Kind

    package var sql: String { statement.sql }

    /// Returns all keys that the step wrote.
    /// - Parameter returned: the second column of the result row; nil if there is none.
    package func keysWritten(returned: [UInt8]?) -> [EntityKey] {
        guard let key = returned.flatMap({ returnedKey?.key(of: $0) }), !keysWritten.contains(key) else {
            return keysWritten
        }
        return keysWritten + [key]
    }
}

/// Decodes the key of a row that Postgres computed in an update.
struct ReturnedKey: Sendable {
    let table: Table
    let scalars: ScalarCoercion

    /// Returns nil if a value is out of the language's range, such as a date before the first supported year.
    /// - Parameter text: a JSON array of the key's values in wire form.
    func key(of text: [UInt8]) -> EntityKey? {
        guard let found = (try? JSONParser.parse(text))?.arrayValue, found.count == table.keyColumns.count else {
            return nil
        }
        let values = zip(table.keyColumns, found).compactMap { try? scalars.coerce($1, to: $0.type) }
        return values.count == found.count ? EntityKey(table: table.name, values: values) : nil
    }
}

/// The SQL text of a step. There is one object per shape of an operation, so that what callers derive from the text can
/// be cached by identity.
package final class MutationStatement: Sendable {
    package let sql: String
    /// Whether the statement was created for a single request and will not occur again.
    package let isUnique: Bool

    init(_ sql: String, isUnique: Bool = false) {
        self.sql = sql
        self.isUnique = isUnique
    }
}

/// The plan of one mutation field, rendered except for its shape.
package struct MutationPlan: Sendable {
    package let responseKey: String
    let inclusion: Inclusion
    let body: Body

    enum Body: Sendable {
        case template(TemplatePlan)
        case insertMany(InsertManyPlan)
        /// Variables determine the filters or rows.
        case dynamic(DynamicPlans<MutationPlan>, tablesWrittenByKey: [String])
        case remote(RemoteField)
        /// The variables contain more rows than one statement may write.
        case tooManyRows
    }

    struct TemplatePlan: Sendable {
        let template: Template
        let keys: [KeySource]
        let returnedKey: ReturnedKey?
        let resultKind: MutationStep.ResultKind
        let kind: MutationStep.Kind
        /// The field's name, for messages.
        let field: String
        let cache = ShapeCache<ShapeKey, RenderedTemplate>()

        /// Returns the statement for the shape of the variables.
        func statement(_ variables: Variables) -> RenderedTemplate {
            let shape = template.shape(of: variables)
            return cache.statement(for: shape) { template.render(shape) { "$\($0 + 1)::\($1.text)" } }
        }
    }

    /// The sources of a written key, in the order of the table's key.
    struct KeySource: Sendable {
        let table: String
        let parts: [Part]

        struct Part: Sendable {
            /// The operand if all conditions hold, otherwise the fallback; without either there is no key.
            let given: (operand: Int, required: [Condition])?
            let fallback: Int?
        }
    }

    /// The tables whose rows the field writes by key.
    package var tablesWrittenByKey: [String] {
        switch body {
        case .template(let plan): plan.keys.map(\.table)
        case .insertMany(let plan): [plan.insert.table.name]
        case .dynamic(_, let tables): tables
        case .remote, .tooManyRows: []
        }
    }

    /// Returns the step for a request; nil if the field is excluded.
    package func step(_ invocation: Invocation) throws(RequestError) -> MutationStep? {
        guard inclusion.isAlways || invocation.variables.satisfies(inclusion) else { return nil }
        switch body {
        case .template(let plan): return try step(plan, invocation)
        case .dynamic(let plans, _): return try plans.plan(for: invocation.variables).step(invocation)
        case .remote: throw RequestError(.internalError, "the field of a custom resolver has no statement")
        case .tooManyRows:
            throw RequestError(
                .invalidVariable,
                "\"\(responseKey)\" may write at most \(InsertTrees.rowsMax) rows,"
                    + " including nested rows of all variables"
            )
        case .insertMany(let plan):
            let outcome = try plan.run(invocation)
            return MutationStep(
                responseKey: responseKey, statement: MutationStatement(outcome.sql, isUnique: true),
                parameters: outcome.parameters,
                keysWritten: outcome.keys, resultKind: .json, kind: .write)
        }
    }

    private func step(_ plan: TemplatePlan, _ invocation: Invocation) throws(RequestError) -> MutationStep {
        let template = plan.template
        let statement = plan.statement(invocation.variables)
        guard !statement.isRefused else {
            throw RequestError(
                .invalidVariable,
                "no variable in the filter of \"\(plan.field)\" has a value, so it would match every row")
        }
        // Each value is computed once, so that a generated key is the same in the parameters and in the keys written.
        var values: [JSONValue?] = Array(repeating: nil, count: template.operands.count)
        func value(_ index: Int) throws(RequestError) -> JSONValue {
            if let known = values[index] { return known }
            let value = try template.operands[index].value(in: invocation)
            values[index] = value
            return value
        }
        var parameters: [String?] = []
        parameters.reserveCapacity(statement.operands.count)
        for index in statement.operands {
            parameters.append(template.operands[index].text(of: try value(index)))
        }
        var keys: [EntityKey] = []
        for source in plan.keys {
            var parts: [JSONValue] = []
            for part in source.parts {
                var operand = part.fallback
                if let given = part.given, given.required.allSatisfy(invocation.variables.satisfies) {
                    operand = given.operand
                }
                guard let operand else { break }
                let value = try value(operand)
                if value.isNull { break }
                parts.append(value)
            }
            guard parts.count == source.parts.count else { continue }
            let key = EntityKey(table: source.table, values: parts)
            if !keys.contains(key) { keys.append(key) }
        }
        return MutationStep(
            responseKey: responseKey, statement: statement.mutation, parameters: parameters, keysWritten: keys,
            returnedKey: plan.returnedKey, resultKind: plan.resultKind, kind: plan.kind)
    }
}

extension MutationPlan {
    package init(
        _ field: MutationField, schema: Schema, dynamicVariables: [DynamicVariable] = [], bindings: Variables? = nil
    ) {
        if !dynamicVariables.isEmpty, field.dependsOnVariables {
            var tables: [String] = []
            if case .dynamic(let dynamic) = field.kind {
                tables = MutationPlan(field.with(dynamic.widest), schema: schema, bindings: bindings).tablesWrittenByKey
            }
            let plans = DynamicPlans(dynamicVariables) { MutationPlan(field, schema: schema, bindings: $0) }
            self.init(
                responseKey: field.responseKey, inclusion: field.inclusion,
                body: .dynamic(plans, tablesWrittenByKey: tables))
            return
        }
        var builder = TemplateBuilder(
            schema: schema, bindings: bindings, nullOperands: field.isRead ? .ignored : .compared)
        var keys: [KeySource] = []
        var returnedKey: ReturnedKey?
        var resultKind = MutationStep.ResultKind.json
        var kind = MutationStep.Kind.write
        let pieces: [Piece]
        switch field.kind {
        case .insertMany(let insert):
            self.init(
                responseKey: field.responseKey, inclusion: field.inclusion,
                body: .insertMany(InsertManyPlan(insert: insert, schema: schema)))
            return
        case .insert(let insert):
            pieces = builder.insert(insert)
            if let key = Self.key(of: insert.row, insert.table, [:], &builder) { keys = [key] }
        case .insertTrees(let insert):
            pieces = builder.insert(insert)
            for row in insert.rows { keys += Self.keys(of: row, insert.table, [:], &builder) }
        case .dynamic(let dynamic):
            let kind = dynamic.make(bindings ?? Variables(JSONObject()))
            if case .insertTrees(let insert) = kind,
                insert.rows.reduce(0, { $0 + $1.count }) > InsertTrees.rowsMax
            {
                self.init(responseKey: field.responseKey, inclusion: field.inclusion, body: .tooManyRows)
                return
            }
            self.init(field.with(kind), schema: schema, bindings: bindings)
            return
        case .update(let table, let target, let assignments, let returned):
            if Self.changesKey(of: table, target, assignments) {
                returnedKey = ReturnedKey(table: table, scalars: ScalarCoercion(enums: schema.enums))
            }
            pieces = builder.update(table, target, assignments, returned, withKey: returnedKey != nil)
            keys = Self.keys(of: table, target, returnedKey == nil ? assignments : [], &builder)
        case .delete(let table, let target, let returned):
            pieces = builder.delete(table, target, returned)
            keys = Self.keys(of: table, target, [], &builder)
        case .updateMany(let table, let filter, let assignments, let requirement):
            pieces = builder.updateMany(table, filter, assignments, requirement)
        case .deleteMany(let table, let filter, let requirement):
            pieces = builder.deleteMany(table, filter, requirement)
        case .native(let native):
            pieces = builder.execute(native)
            if case .affectedCount = native.result { resultKind = .affectedCount }
        case .remote(let remote):
            self.init(responseKey: remote.responseKey, inclusion: field.inclusion, body: .remote(remote))
            return
        case .read(let fields):
            pieces = builder.read(fields)
            kind = .read
        case .typeName(let name):
            pieces = .text("SELECT to_json(\(SQLName.literal(name))::text)::text")
            kind = .read
        }
        let plan = TemplatePlan(
            template: builder.finish(pieces), keys: keys, returnedKey: returnedKey, resultKind: resultKind, kind: kind,
            field: field.responseKey)
        self.init(responseKey: field.responseKey, inclusion: field.inclusion, body: .template(plan))
    }

    /// - Parameter enclosing: columns that the enclosing row supplies, with their values where known.
    private static func key(
        of row: RowData, _ table: Table, _ enclosing: [String: KeySource.Part], _ builder: inout TemplateBuilder
    ) -> KeySource? {
        var parts: [KeySource.Part] = []
        for field in table.key {
            // A key that Postgres generates is new, so no live query can depend on it.
            guard let part = enclosing[field] ?? Self.part(field, of: row, &builder) else { return nil }
            parts.append(part)
        }
        return KeySource(table: table.name, parts: parts)
    }

    private static func part(
        _ field: String, of row: RowData, _ builder: inout TemplateBuilder
    ) -> KeySource.Part? {
        var given: (operand: Int, required: [Condition])?
        if let assignment = row.given[field], case .set(let operand) = assignment.value {
            given = (builder.index(of: operand), assignment.required)
        }
        let fallback = row.defaults[field].map { builder.index(of: $0) }
        return given == nil && fallback == nil ? nil : KeySource.Part(given: given, fallback: fallback)
    }

    /// Returns the keys of a row and of all rows nested in it.
    private static func keys(
        of row: RowData, _ table: Table, _ enclosing: [String: KeySource.Part], _ builder: inout TemplateBuilder
    ) -> [KeySource] {
        var keys = key(of: row, table, enclosing, &builder).map { [$0] } ?? []
        for children in row.children {
            let reference = children.relation.reference
            var filled: [String: KeySource.Part] = [:]
            for (local, target) in zip(reference.localFields, reference.targetFields) {
                filled[local] = enclosing[target] ?? part(target, of: row, &builder)
            }
            for child in children.rows { keys += Self.keys(of: child, children.relation.child, filled, &builder) }
        }
        return keys
    }

    /// Returns whether an update changes the selected row's key to a value that the request does not contain.
    private static func changesKey(of table: Table, _ target: RowTarget, _ assignments: [Assignment]) -> Bool {
        guard case .key = target else { return false }
        return assignments.contains { assignment in
            guard table.key.contains(assignment.column.field) else { return false }
            return switch assignment.value {
            case .set: false
            case .change, .shift, .dynamic: true
            }
        }
    }

    /// Returns the key of the selected row and, if the update sets another key, the new one.
    private static func keys(
        of table: Table, _ target: RowTarget, _ assignments: [Assignment], _ builder: inout TemplateBuilder
    ) -> [KeySource] {
        guard case .key(let operands) = target else { return [] }
        let addressed = operands.map { KeySource.Part(given: nil, fallback: builder.index(of: $0)) }
        var parts = addressed
        var setsKey = false
        for (index, field) in table.key.enumerated() {
            guard let assignment = assignments.first(where: { $0.column.field == field }),
                case .set(let operand) = assignment.value
            else { continue }
            setsKey = true
            parts[index] = KeySource.Part(
                given: (builder.index(of: operand), assignment.required), fallback: addressed[index].fallback)
        }
        let keys = [KeySource(table: table.name, parts: addressed)]
        return setsKey ? keys + [KeySource(table: table.name, parts: parts)] : keys
    }
}

extension MutationField {
    fileprivate func with(_ kind: Kind) -> MutationField {
        MutationField(responseKey: responseKey, inclusion: inclusion, kind: kind, policy: policy)
    }

    /// Whether the field is `query { … }`, which follows the rules of queries.
    fileprivate var isRead: Bool {
        if case .read = kind { true } else { false }
    }

    /// Whether the SQL text may depend on the values of variables.
    fileprivate var dependsOnVariables: Bool {
        switch kind {
        case .dynamic, .update(_, .first, _, _), .update(_, .variable, _, _), .delete(_, .first, _),
            .delete(_, .variable, _), .updateMany, .deleteMany, .read:
            true
        case .insert, .insertMany, .insertTrees, .update, .delete, .native, .remote, .typeName: false
        }
    }
}
