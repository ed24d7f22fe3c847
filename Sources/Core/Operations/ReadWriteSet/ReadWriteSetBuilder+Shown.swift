import SchemaModel

/// Rows that the result shows one by one.
extension ReadWriteSetBuilder {
    /// - Parameter path: the place of the rows in the result; nil if it is not known.
    func shown(
        _ table: Table, _ deciding: Set<String>, _ window: ReadSite.Window?, offset: Bound = .constant(0),
        at path: [String]?
    ) -> ReadSite.Shown? {
        guard let path, table.view == nil, !table.key.isEmpty, table.keyColumns.allSatisfy(\.isComparable) else {
            return nil
        }
        return ReadSite.Shown(path: path, key: table.key, deciding: deciding, window: window, offset: offset)
    }

    /// Returns the fields by which a list selects and orders its rows.
    func deciding(_ filter: Filter, _ order: [OrderTerm], of table: Table) -> Set<String> {
        var builder = ReadWriteSetBuilder(schema: schema, requiredVariables: [])
        builder.add(filter, of: table)
        builder.add(order, of: table)
        return (builder.result.fieldsRead[table.name] ?? []).union(table.key)
    }

    /// Returns the window of a list at the root. One without order and limits comes in the order of storage.
    func window(of list: RowList, at path: [String]?) -> ReadSite.Window? {
        let arguments = list.arguments
        guard path?.count == 1, !arguments.order.isEmpty || arguments.isPaged else { return nil }
        return window(arguments.order, limit: arguments.limit, of: list.source.table)
    }

    func window(_ order: [OrderTerm], limit: Bound, of table: Table) -> ReadSite.Window? {
        var terms: [ReadSite.Window.Term] = []
        func finish() -> ReadSite.Window? { terms.isEmpty ? nil : ReadSite.Window(order: terms, limit: limit) }
        for term in order {
            guard case .key(.column(let column), let direction) = term, column.isSortable else { return finish() }
            terms.append(ReadSite.Window.Term(column: column, direction: direction))
        }
        // Rows that are equal so far come by key.
        for column in table.keyColumns where !terms.contains(where: { $0.column.field == column.field }) {
            guard column.isSortable else { break }
            terms.append(ReadSite.Window.Term(column: column, direction: .constant(.ascending)))
        }
        return finish()
    }
}
