import JSON
package import LiveModel
package import Operations
import SchemaModel

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
        let changes: [ChangeSource]
        let returnedKey: ReturnedKey?
        let resultKind: MutationStep.ResultKind
        let kind: MutationStep.Kind
        /// Whether any rows of any table may be written: native SQL.
        let writesAnything: Bool
        /// The field's name, for messages.
        let field: String
        /// Whether the statement stores images of rows, which `changes` then leave out.
        var storesImages = false
        /// The plan for recorded fields of the table that the request does not determine; nil if it determines all.
        var recording: RecordingPlans?
        let cache = ShapeCache<ShapeKey, RenderedTemplate>()

        /// Returns the statement for the shape of the variables.
        func statement(_ variables: Variables) -> RenderedTemplate {
            let shape = template.shape(of: variables)
            return cache.statement(for: shape) { template.render(shape) { "$\($0 + 1)::\($1.text)" } }
        }
    }

    /// The plans of a field that store images of rows, by the recorded fields of its table. These change with
    /// deployments, so that few are in use.
    struct RecordingPlans: Sendable {
        let table: String
        let make: @Sendable (RecordedFields) -> TemplatePlan
        private let cache = ShapeCache<RecordedFields, TemplatePlan>(countMax: 4)

        init(_ table: String, make: @escaping @Sendable (RecordedFields) -> TemplatePlan) {
            self.table = table
            self.make = make
        }

        /// - Returns: nil if nothing of the table is recorded.
        func plan(for fields: [String: RecordedFields]?) -> TemplatePlan? {
            guard let recorded = fields?[table] else { return nil }
            return cache.statement(for: recorded) { make(recorded) }
        }
    }

    /// The sources of a written key, in the order of the table's key.
    struct KeySource: Sendable {
        let table: String
        let parts: [Part]
        let masks: KeyMasks

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
        case .template(let plan):
            return try step(plan.recording?.plan(for: invocation.recordedFields) ?? plan, invocation)
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
                responseKey: responseKey,
                statement: MutationStatement(
                    outcome.sql.text, resultOffset: outcome.sql.resultOffset, isUnique: true),
                parameters: outcome.parameters,
                keysWritten: outcome.keys, rows: outcome.rows, storesImages: outcome.storesImages,
                resultKind: .json, kind: .write)
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
        func value(_ part: KeySource.Part) throws(RequestError) -> JSONValue? {
            var operand = part.fallback
            if let given = part.given, given.required.allSatisfy(invocation.variables.satisfies) {
                operand = given.operand
            }
            return try operand.map { operand throws(RequestError) in try value(operand) }
        }
        var keys: [EntityKey] = []
        for source in plan.keys {
            var parts: [JSONValue] = []
            for part in source.parts {
                guard let value = try value(part), !value.isNull else { break }
                parts.append(value)
            }
            guard parts.count == source.parts.count else { continue }
            let key = EntityKey(table: source.table, values: source.masks.masked(parts))
            if !keys.contains(key) { keys.append(key) }
        }
        func image(_ parts: [ChangeSource.Field]?) throws(RequestError) -> JSONObject? {
            guard let parts else { return nil }
            var image = JSONObject()
            for part in parts {
                if let value = try value(part.value), RowChange.tells(value) { image[part.field] = value }
            }
            return image
        }
        var rows = invocation.recordsRows && !plan.writesAnything ? RowChanges() : nil
        for change in rows == nil ? [] : plan.changes
        where change.required.allSatisfy(invocation.variables.satisfies) {
            let changed = change.changed?.filter { $0.required.allSatisfy(invocation.variables.satisfies) }
            rows?.append(
                RowChange(
                    table: change.table, before: try image(change.before), after: try image(change.after),
                    changed: changed?.map(\.field).sorted(), isOfFollowers: change.isOfFollowers))
        }
        return MutationStep(
            responseKey: responseKey, statement: statement.mutation, parameters: parameters, keysWritten: keys,
            rows: rows, storesImages: plan.storesImages, returnedKey: plan.returnedKey, resultKind: plan.resultKind,
            kind: plan.kind)
    }
}
