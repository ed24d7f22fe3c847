import SchemaModel

extension MutationField.Kind {
    /// Adds the fields to which the mutation gives values that depend on its variables, by SQL table name.
    package func addGivenFields(to given: inout [String: Set<String>]) {
        switch self {
        case .insert(let insert): Self.add(insert.row, insert.table, &given)
        case .insertMany(let insert):
            switch insert.rows {
            case .literal(let rows): for row in rows { Self.add(row, insert.table, &given) }
            case .variable(_, let row): Self.add(row, insert.table, &given)
            }
        case .insertTrees(let insert): for row in insert.rows { Self.add(row, insert.table, &given) }
        case .dynamic(let dynamic): dynamic.widest.addGivenFields(to: &given)
        case .update(let table, _, let assignments, _), .updateMany(let table, _, let assignments, _):
            given[table.name, default: []].formUnion(
                assignments.filter(\.readsVariables).map(\.column.field))
        case .delete, .deleteMany, .native, .read, .remote, .typeName: break
        }
    }

    private static func add(_ row: RowData, _ table: Table, _ given: inout [String: Set<String>]) {
        given[table.name, default: []].formUnion(row.given.filter(\.value.readsVariables).keys)
        for children in row.children {
            for child in children.rows { add(child, children.relation.child, &given) }
        }
    }
}

extension Assignment {
    /// Whether the value depends on variables of the request.
    fileprivate var readsVariables: Bool {
        switch value {
        case .set(let operand), .change(_, let operand): operand.source.readsVariables
        case .shift(_, let shifts): shifts.contains { $0.count.source.readsVariables }
        case .dynamic: true
        }
    }
}

extension Operand.Source {
    fileprivate var readsVariables: Bool {
        switch self {
        case .variable, .firstGiven, .relativeVariable: true
        case .constant, .freshUUID: false
        case .expression(let program): !program.variablesRead.isEmpty
        case .relative(let time):
            time.base?.readsVariables == true || (time.add + time.subtract).contains { $0.count.readsVariables }
        case .list(let items): items.contains(where: \.readsVariables)
        case .object(let members): members.contains { $0.value.readsVariables }
        case .embedding(let source): source.text.readsVariables
        }
    }
}
