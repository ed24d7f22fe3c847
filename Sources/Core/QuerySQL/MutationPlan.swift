import JSON
package import LiveModel
package import Operations
package import SchemaModel

/// A mutation ready to run.
package struct MutationCall: Sendable {
    /// All steps in one transaction, all or nothing.
    package let isTransaction: Bool
    /// In the order of the operation. Fields left out by `@skip` or `@include` have no step.
    package let steps: [MutationStep]

    package init(isTransaction: Bool, steps: [MutationStep]) {
        self.isTransaction = isTransaction
        self.steps = steps
    }

    /// Rows that the whole call writes by their primary key.
    package var keysWritten: [EntityKey] { steps.flatMap(\.keysWritten) }
}

package struct MutationStep: Sendable {
    package enum Kind: Sendable, Hashable {
        case write
        /// `query { … }`
        case read
    }

    package enum ResultKind: Sendable, Hashable {
        /// One row with one column, the JSON text of the field; no row or NULL means null.
        case json
        /// The number of rows that the command reports is the field's value.
        case affectedCount
    }

    package let responseKey: String
    package let statement: MutationStatement
    /// `$1…$n` in text form, nil for NULL.
    package let parameters: [String?]
    /// As far as they are known before it runs.
    package let keysWritten: [EntityKey]
    /// Its result has a second column, for `keysWritten(returned:)`.
    var returnedKey: ReturnedKey?
    package var returnsKey: Bool { returnedKey != nil }
    package let resultKind: ResultKind
    package let kind: Kind

    package var sql: String { statement.sql }

    /// All keys that it wrote.
    /// - Parameter returned: the second column of its row, nil where there is none.
    package func keysWritten(returned: [UInt8]?) -> [EntityKey] {
        guard let key = returned.flatMap({ returnedKey?.key(of: $0) }), !keysWritten.contains(key) else {
            return keysWritten
        }
        return keysWritten + [key]
    }
}

/// The key of a row whose key a change made: the sums are Postgres' own.
struct ReturnedKey: Sendable {
    let table: Table
    let scalars: ScalarCoercion

    /// Nil when a value is none of the language, such as a day before the first year.
    /// - Parameter text: a JSON array of the key's values as they travel.
    func key(of text: [UInt8]) -> EntityKey? {
        guard let found = (try? JSONParser.parse(text))?.arrayValue, found.count == table.keyColumns.count else {
            return nil
        }
        let values = zip(table.keyColumns, found).compactMap { try? scalars.coerce($1, to: $0.type) }
        return values.count == found.count ? EntityKey(table: table.name, values: values) : nil
    }
}

/// The text of a step. One object for each shape of an operation, so that whoever derives something from the text needs
/// to do so once.
package final class MutationStatement: Sendable {
    package let sql: String
    /// Made for one request: none other will come with the same object.
    package let isUnique: Bool

    init(_ sql: String, isUnique: Bool = false) {
        self.sql = sql
        self.isUnique = isUnique
    }
}

/// One field of a mutation, rendered but for its shape.
package struct MutationPlan: Sendable {
    package let responseKey: String
    let inclusion: Inclusion
    let body: Body

    enum Body: Sendable {
        case template(TemplatePlan)
        case insertMany(InsertManyPlan)
        /// Variables hold filters, or rows.
        case dynamic(DynamicPlans<MutationPlan>, tablesWrittenByKey: [String])
        case remote(RemoteField)
        /// What the variables bring together is more than one statement may write.
        case tooManyRows
    }

    struct TemplatePlan: Sendable {
        let template: Template
        let keys: [KeySource]
        let returnedKey: ReturnedKey?
        let resultKind: MutationStep.ResultKind
        let kind: MutationStep.Kind
        /// The name of the field, for messages.
        let field: String
        let cache = ShapeCache<ShapeKey, RenderedTemplate>()

        /// Of the shape that the variables have.
        func statement(_ variables: Variables) -> RenderedTemplate {
            let shape = template.shape(of: variables)
            return cache.statement(for: shape) { template.render(shape) { "$\($0 + 1)::\($1.text)" } }
        }
    }

    /// Where the parts of a key that is written come from, in the order of the table's key.
    struct KeySource: Sendable {
        let table: String
        let parts: [Part]

        struct Part: Sendable {
            /// The operand when all conditions hold, else the fallback; no key without either.
            let given: (operand: Int, required: [Condition])?
            let fallback: Int?
        }
    }

    /// The tables whose rows it writes by key.
    package var tablesWrittenByKey: [String] {
        switch body {
        case .template(let plan): plan.keys.map(\.table)
        case .insertMany(let plan): [plan.insert.table.name]
        case .dynamic(_, let tables): tables
        case .remote, .tooManyRows: []
        }
    }

    /// Nil when the field does not take part.
    package func step(_ invocation: Invocation) throws(RequestError) -> MutationStep? {
        guard inclusion.isAlways || invocation.variables.satisfies(inclusion) else { return nil }
        switch body {
        case .template(let plan): return try step(plan, invocation)
        case .dynamic(let plans, _): return try plans.plan(for: invocation.variables).step(invocation)
        case .remote: throw RequestError(.internalError, "the field is no statement")
        case .tooManyRows:
            throw RequestError(
                .invalidVariable,
                "\"\(responseKey)\" writes at most \(InsertTrees.rowsMax) rows, nested ones of all variables included"
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
                "none of the variables of the filter of \"\(plan.field)\" has a value; it would touch every row")
        }
        // Every value is computed once: a generated key is the same in the parameters and in the key written.
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
            schema: schema, bindings: bindings, nullOperands: field.isRead ? .leftOut : .compared)
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
        case .updateMany(let table, let filter, let assignments, let demand):
            pieces = builder.updateMany(table, filter, assignments, demand)
        case .deleteMany(let table, let filter, let demand):
            pieces = builder.deleteMany(table, filter, demand)
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

    /// - Parameter around: columns that come from the row around, with their values where these are known.
    private static func key(
        of row: RowData, _ table: Table, _ around: [String: KeySource.Part], _ builder: inout TemplateBuilder
    ) -> KeySource? {
        var parts: [KeySource.Part] = []
        for field in table.key {
            // A key that Postgres makes is new, and nobody can be waiting for it.
            guard let part = around[field] ?? Self.part(field, of: row, &builder) else { return nil }
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

    /// Of a row and all rows below it.
    private static func keys(
        of row: RowData, _ table: Table, _ around: [String: KeySource.Part], _ builder: inout TemplateBuilder
    ) -> [KeySource] {
        var keys = key(of: row, table, around, &builder).map { [$0] } ?? []
        for children in row.children {
            let reference = children.relation.reference
            var filled: [String: KeySource.Part] = [:]
            for (local, target) in zip(reference.localFields, reference.targetFields) {
                filled[local] = around[target] ?? part(target, of: row, &builder)
            }
            for child in children.rows { keys += Self.keys(of: child, children.relation.child, filled, &builder) }
        }
        return keys
    }

    /// Whether the row that an update makes of the one addressed has a key that no value of the request says.
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

    /// The row addressed; and when the update gives it another key, the row that it becomes.
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

extension MutationPlan {
    package var evictionCount: Int {
        switch body {
        case .template(let plan): plan.cache.evictionCount
        case .insertMany(let plan): plan.cache.evictionCount
        case .dynamic(let plans, _): plans.evictionCount
        case .remote, .tooManyRows: 0
        }
    }
}

extension MutationField {
    fileprivate func with(_ kind: Kind) -> MutationField {
        MutationField(responseKey: responseKey, inclusion: inclusion, kind: kind, policy: policy)
    }

    /// `query { … }`, by the rules of queries.
    fileprivate var isRead: Bool {
        if case .read = kind { true } else { false }
    }

    /// Whether its text may depend on what a variable holds.
    fileprivate var dependsOnVariables: Bool {
        switch kind {
        case .dynamic, .update(_, .first, _, _), .update(_, .variable, _, _), .delete(_, .first, _),
            .delete(_, .variable, _), .updateMany, .deleteMany, .read:
            true
        case .insert, .insertMany, .insertTrees, .update, .delete, .native, .remote, .typeName: false
        }
    }
}
