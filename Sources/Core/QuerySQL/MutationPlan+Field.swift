import JSON
import LiveModel
package import Operations
package import SchemaModel

extension MutationPlan {
    /// Plans a field of a mutation.
    /// - Parameter bindings: the variables of the request if the SQL text depends on their values.
    package init(
        _ field: MutationField, schema: Schema, dynamicVariables: [DynamicVariable] = [], bindings: Variables? = nil
    ) {
        let body =
            !dynamicVariables.isEmpty && field.dependsOnVariables
            ? Self.dynamicBody(field, schema, dynamicVariables, bindings) : Self.body(field, schema, bindings)
        self.init(responseKey: field.responseKey, inclusion: field.inclusion, body: body)
    }

    private static func dynamicBody(
        _ field: MutationField, _ schema: Schema, _ variables: [DynamicVariable], _ bindings: Variables?
    ) -> Body {
        var tables: [String] = []
        if case .dynamic(let dynamic) = field.kind {
            tables = MutationPlan(field.with(dynamic.widest), schema: schema, bindings: bindings).tablesWrittenByKey
        }
        let plans = DynamicPlans(variables) { MutationPlan(field, schema: schema, bindings: $0) }
        return .dynamic(plans, tablesWrittenByKey: tables)
    }

    private static func body(_ field: MutationField, _ schema: Schema, _ bindings: Variables?) -> Body {
        switch field.kind {
        case .insertMany(let insert): return .insertMany(InsertManyPlan(insert, schema))
        case .dynamic(let dynamic):
            return body(dynamic.make(bindings ?? Variables(JSONObject())), field, schema, bindings)
        case .remote(let remote): return .remote(remote)
        case .insert, .insertTrees, .update, .updateMany, .delete, .deleteMany, .native, .read, .typeName: break
        }
        var plan = template(field, schema, bindings, recorded: RecordedFields())
        if let table = field.imageTable {
            plan.recording = RecordingPlans(table.name) { template(field, schema, bindings, recorded: $0) }
        }
        return .template(plan)
    }

    /// - Parameter recorded: the fields of the table whose values events tell.
    private static func template(
        _ field: MutationField, _ schema: Schema, _ bindings: Variables?, recorded: RecordedFields
    ) -> TemplatePlan {
        var builder = TemplateBuilder(
            schema: schema, bindings: bindings, nullOperands: field.isRead ? .ignored : .compared)
        var keys: [KeySource] = []
        var changes: [ChangeSource] = []
        var writesAnything = false
        var returnedKey: ReturnedKey?
        var resultKind = MutationStep.ResultKind.json
        let images = field.imageTable.flatMap { RowImages($0, recorded: recorded, schema) }
            .flatMap { field.determines($0) ? nil : $0 }
        let pieces: [Piece]
        switch field.kind {
        case .insert(let insert):
            pieces = builder.insert(insert, images)
            if let key = key(of: insert.row, insert.table, [:], &builder) { keys = [key] }
            changes = ChangeSource.inserted(insert.row, insert.table, isUpsert: insert.isUpsert, schema, &builder)
        case .insertTrees(let insert):
            pieces = builder.insert(insert)
            for row in insert.rows {
                keys += Self.keys(of: row, insert.table, [:], &builder)
                changes += ChangeSource.inserted(row, insert.table, isUpsert: insert.isUpsert, schema, &builder)
            }
        case .update(let table, let target, let assignments, let returned):
            if changesKey(of: table, target, assignments) {
                returnedKey = ReturnedKey(table, ScalarCoercion(enums: schema.enums))
            }
            pieces = builder.update(table, target, assignments, returned, withKey: returnedKey != nil, images)
            keys = Self.keys(of: table, target, returnedKey == nil ? assignments : [], &builder)
            changes = ChangeSource.updated(table, target, assignments, schema, &builder)
        case .delete(let table, let target, let returned):
            pieces = builder.delete(table, target, returned, images)
            keys = Self.keys(of: table, target, [], &builder)
            changes = ChangeSource.deleted(table, target, schema, &builder)
        case .updateMany(let table, let filter, let assignments, let requirement):
            changes = ChangeSource.updated(table, nil, assignments, schema, &builder)
            pieces = builder.updateMany(table, filter, assignments, requirement, images)
        case .deleteMany(let table, let filter, let requirement):
            changes = ChangeSource.deleted(table, nil, schema, &builder)
            pieces = builder.deleteMany(table, filter, requirement, images)
        case .native(let native):
            pieces = builder.execute(native)
            changes = native.writes.map { ChangeSource.written($0, schema) } ?? []
            writesAnything = native.writes == nil
            if case .affectedCount = native.result { resultKind = .affectedCount }
        case .read(let fields):
            pieces = builder.read(fields)
            // A function of native SQL may write.
            writesAnything = fields.hasNativeSQL
        case .typeName(let name): pieces = .text("SELECT to_json(\(SQLName.literal(name))::text)::text")
        case .insertMany, .dynamic, .remote: preconditionFailure("\(field.responseKey) has a body of its own")
        }
        // The first changes are those that the statement stores: of the field's own rows and of those that follow them.
        if let images { changes.removeFirst(field.storesFollowers ? 1 + images.followerCount : 1) }
        return TemplatePlan(
            template: builder.finish(pieces), keys: keys, changes: changes, returnedKey: returnedKey,
            resultKind: resultKind, kind: field.stepKind, writesAnything: writesAnything,
            field: field.responseKey, storesImages: images != nil)
    }

    /// Returns the body of a field whose rows or updates the request has determined.
    private static func body(
        _ kind: MutationField.Kind, _ field: MutationField, _ schema: Schema, _ bindings: Variables?
    ) -> Body {
        if case .insertTrees(let insert) = kind, insert.rows.reduce(0, { $0 + $1.count }) > InsertTrees.rowsMax {
            return .tooManyRows
        }
        return body(field.with(kind), schema, bindings)
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

    /// The table of whose rows the field can store images; nil if it cannot.
    fileprivate var imageTable: Table? {
        switch kind {
        case .insert(let insert): insert.table
        case .update(let table, _, _, _), .updateMany(let table, _, _, _), .delete(let table, _, _),
            .deleteMany(let table, _, _):
            table
        case .insertTrees, .insertMany, .dynamic, .native, .read, .typeName, .remote: nil
        }
    }

    /// Whether the statement also stores the changes of rows that Postgres deletes or changes with deleted ones.
    fileprivate var storesFollowers: Bool {
        switch kind {
        case .delete(_, .key, _): false
        case .delete, .deleteMany: true
        default: false
        }
    }

    /// Whether the request determines these images.
    fileprivate func determines(_ images: RowImages) -> Bool {
        switch kind {
        case .insert(let insert):
            func isGiven(_ field: String, always: Bool) -> Bool {
                if insert.row.defaults[field] != nil { return true }
                guard let given = insert.row.given[field], case .set = given.value else { return false }
                return !always || given.required.isEmpty
            }
            guard insert.isUpsert else {
                let fields = images.table.columns.filter(\.isRecordable).map(\.field).filter {
                    isGiven($0, always: true)
                }
                return !images.hasFields(outside: Set(fields))
            }
            // Without its key, the row before cannot be looked up.
            let key = images.table.key
            return !key.allSatisfy { isGiven($0, always: false) } || !images.hasFields(outside: Set(key))
        case .update(let table, .key, let assignments, _):
            return !images.hasFields(outside: Set(table.key).subtracting(assignments.map(\.column.field)))
        case .delete(let table, .key, _): return !images.hasFields(outside: Set(table.key))
        default: return false
        }
    }

    fileprivate var stepKind: MutationStep.Kind {
        switch kind {
        case .read, .typeName: .read
        case .insert, .insertTrees, .insertMany, .dynamic, .update, .updateMany, .delete, .deleteMany, .native, .remote:
            .write
        }
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
