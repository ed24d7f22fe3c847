package import SchemaModel

/// A filter or an order that a variable supplies. What it reads is known with the request.
package enum GivenInput: Sendable {
    /// A filter of a table's rows.
    case filter(FilterVariable, Table)
    /// - Parameter path: the path of the order within the variable.
    case order(variable: String, path: [String], Table)

    /// The variable in the words of explanations: `$filter`, `$first.where`.
    package var name: String {
        switch self {
        case .filter(let variable, _): Self.name(of: variable)
        case .order(let variable, let path, _): "$" + ([variable] + path).joined(separator: ".")
        }
    }

    static func name(of variable: FilterVariable) -> String {
        "$" + ([variable.name] + variable.path).joined(separator: ".")
    }

    /// The reads of one value of the variable.
    package struct Reads: Sendable {
        /// The SQL names of the tables and views of which it reads rows beside those that it filters or orders.
        package var tables: Set<String> = []
        /// The fields that it names or joins by, by table.
        package var fields: [String: Set<String>] = [:]

        package init() {}

        package mutating func formUnion(_ other: Reads) {
            tables.formUnion(other.tables)
            fields.merge(other.fields) { $0.union($1) }
        }
    }

    package func reads(_ variables: Variables, schema: Schema) -> Reads {
        let inputs = InputInterpreter(schema: schema)
        var builder = ReadWriteSetBuilder(schema: schema, requiredVariables: [])
        switch self {
        case .filter(let variable, let table):
            guard let value = variables.value(variable.name, path: variable.path) else { return Reads() }
            builder.add(inputs.filter(variable, value), of: table)
        case .order(let variable, let path, let table):
            guard let value = variables.value(variable, path: path) else { return Reads() }
            builder.add(inputs.order(value, table), of: table)
        }
        var reads = Reads()
        reads.tables = builder.result.tablesRead
        reads.fields = builder.result.fieldsRead
        return reads
    }
}

/// The reads of filters and orders that variables supply.
extension ReadWriteSetBuilder {
    /// Records a filter or an order of a table's rows that a variable supplies: all columns, and, if the value names
    /// them, the rows of all tables that relations lead to.
    mutating func add(_ input: GivenInput, of table: Table) {
        result.isPartial = true
        result.sites.inputs.append(input)
        fieldsGiven[table.name, default: []].formUnion(table.columns.map(\.field))
        var found: [String: Table] = [:]
        var next = reached(from: table, by: input)
        if case .filter(let variable, _) = input, case .related(let rows) = variable.subject {
            next.append(rows.table)
        }
        while let target = next.popLast() {
            guard found.updateValue(target, forKey: target.name) == nil else { continue }
            next += reached(from: target, by: input)
        }
        for (name, target) in found.sorted(by: { $0.key < $1.key }) {
            result.reads.append(ReadWriteSet.Read(table: name, equal: [:], searchedBy: [], kind: .filter))
            if let text = target.viewText { readSQL(text, comesInOrder: true, namedBy: .init(input, target)) }
            siteDrafts.append(
                SiteDraft(
                    table: target, guards: [], binding: nil, shown: nil, namedBy: .init(input, target),
                    fields: .only(Set(target.columns.map(\.field)))))
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
