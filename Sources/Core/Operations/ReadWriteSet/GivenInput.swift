package import SchemaModel

/// A filter or an order that a variable supplies. Which rows beside the table's own it reads is known with the request.
package enum GivenInput: Sendable {
    case filter(FilterVariable)
    /// - Parameter path: the path of the order within the variable.
    case order(variable: String, path: [String], Table)

    /// The variable in the words of explanations: `$filter`, `$first.where`.
    package var name: String {
        switch self {
        case .filter(let variable): "$" + ([variable.name] + variable.path).joined(separator: ".")
        case .order(let variable, let path, _): "$" + ([variable] + path).joined(separator: ".")
        }
    }

    /// Returns the SQL names of the tables of which a value reads rows beside those that it filters or orders.
    package func relatedTables(_ variables: Variables, schema: Schema) -> Set<String> {
        let inputs = InputInterpreter(schema: schema)
        var tables: Set<String> = []
        switch self {
        case .filter(let variable):
            guard let value = variables.value(variable.name, path: variable.path) else { return [] }
            inputs.filter(variable, value).addRelatedTables(to: &tables)
            // A filter of related rows is about these.
            if case .related(let rows) = variable.subject { rows.addTables(to: &tables) }
        case .order(let variable, let path, let table):
            guard let value = variables.value(variable, path: path) else { return [] }
            for case .key(let key, _) in inputs.order(value, table) { key.addRelatedTables(to: &tables) }
        }
        return tables
    }
}

extension Filter {
    fileprivate func addRelatedTables(to tables: inout Set<String>) {
        switch self {
        case .all(let filters), .any(let filters): for filter in filters { filter.addRelatedTables(to: &tables) }
        case .not(let filter): filter.addRelatedTables(to: &tables)
        case .referenced(_, let target, let inner):
            tables.insert(target.name)
            inner.addRelatedTables(to: &tables)
        case .exists(let rows, let inner), .count(let rows, let inner, _):
            rows.addTables(to: &tables)
            inner.addRelatedTables(to: &tables)
        // A value of a variable refers to no other one.
        case .column, .aggregate, .variable: break
        }
    }
}

extension RelatedRows {
    fileprivate func addTables(to tables: inout Set<String>) {
        tables.insert(table.name)
        if case .manyToMany(let relation) = self { tables.insert(relation.join.name) }
    }
}

extension OrderKey {
    fileprivate func addRelatedTables(to tables: inout Set<String>) {
        switch self {
        case .column, .aggregate: break
        case .referenced(_, let target, let inner):
            tables.insert(target.name)
            inner.addRelatedTables(to: &tables)
        case .single(let relation, let inner):
            tables.insert(relation.child.name)
            inner.addRelatedTables(to: &tables)
        }
    }
}

/// The reads of filters and orders that variables supply.
extension ReadWriteSetBuilder {
    /// Records a filter or an order of a table's rows that a variable supplies: all columns, and, if the value names
    /// them, the rows of all tables that relations lead to.
    mutating func add(_ input: GivenInput, of table: Table) {
        result.isPartial = true
        note(table.columns.map(\.field), of: table)
        var found: [String: Table] = [:]
        var next = reached(from: table, by: input)
        if case .filter(let variable) = input, case .related(let rows) = variable.subject { next.append(rows.table) }
        while let target = next.popLast() {
            guard found.updateValue(target, forKey: target.name) == nil else { continue }
            next += reached(from: target, by: input)
        }
        for (name, target) in found.sorted(by: { $0.key < $1.key }) {
            result.reads.append(ReadWriteSet.Read(table: name, equal: [:], searchedBy: [], kind: .filter))
            if let text = target.viewText { readSQL(text, comesInOrder: true) }
            siteDrafts.append(
                SiteDraft(
                    table: target, guards: [], binding: nil, shown: nil, input: input,
                    fields: Set(target.columns.map(\.field))))
        }
    }

    /// Returns the tables one relation away. Orders go to single rows only.
    private func reached(from table: Table, by input: GivenInput) -> [Table] {
        let referenced = table.references.compactMap { schema.table(ofType: $0.targetType) }
        let inverse = schema.inverseRelations(ofType: table.typeName)
        switch input {
        case .order: return referenced + inverse.filter(\.isSingle).map(\.child)
        case .filter:
            let joined = schema.manyToManyRelations(ofType: table.typeName)
            return referenced + inverse.map(\.child) + joined.flatMap { [$0.join, $0.target] }
        }
    }
}
