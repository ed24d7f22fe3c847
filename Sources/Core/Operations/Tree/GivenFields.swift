import SchemaModel

extension MutationField.Kind {
    /// Adds the fields to which the mutation itself gives values, or may give those of a variable, by SQL table name.
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
            given[table.name, default: []].formUnion(assignments.map(\.column.field))
        case .delete, .deleteMany, .native, .read, .remote, .typeName: break
        }
    }

    private static func add(_ row: RowData, _ table: Table, _ given: inout [String: Set<String>]) {
        given[table.name, default: []].formUnion(row.given.keys)
        for children in row.children {
            for child in children.rows { add(child, children.relation.child, &given) }
        }
    }
}
