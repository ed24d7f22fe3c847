import SchemaModel

/// The sites of a query.
extension ReadWriteSetBuilder {
    struct SiteDraft {
        let table: Table
        let guards: [ReadSite.Guard]
        var filter: RowFilter?
        let binding: ReadSite.Binding?
        let shown: ReadSite.Shown?
        var isOfSQL = false
        /// The value that names the rows; nil if they are read in any case.
        var input: GivenInput?
        /// The fields that count; nil for those that the query reads of the table.
        var fields: Set<String>?

        /// The conditions that make a row one of the site's.
        var conditions: Set<String> {
            let bound = binding.map { "\($0.field)~\($0.path.joined(separator: "."))~\($0.source)" }
            let guarded = guards.map { "\($0.field)\($0.isMember ? "∈" : "=")\($0.operand.identity)" }
            return Set(guarded + (filter?.identities ?? []) + [bound, input?.name].compactMap { $0 })
        }
    }

    /// Makes the sites of the reads. One that selects no other rows than another is left out, unless the other heeds
    /// only rows that are shown.
    mutating func noteSites() {
        var kept: [(draft: SiteDraft, conditions: Set<String>)] = []
        for draft in siteDrafts where draft.table.view == nil {
            let conditions = draft.conditions
            func covers(_ wide: (draft: SiteDraft, conditions: Set<String>), _ narrow: Set<String>) -> Bool {
                wide.draft.table.name == draft.table.name && wide.draft.shown == nil
                    && wide.conditions.isSubset(of: narrow)
            }
            if kept.contains(where: { covers($0, conditions) }) { continue }
            kept.removeAll { $0.draft.table.name == draft.table.name && covers((draft, conditions), $0.conditions) }
            kept.append((draft, conditions))
        }
        result.sites.all = kept.map { draft, _ in
            let table = draft.table.name
            return ReadSite(
                table: table, guards: draft.guards, filter: draft.filter, binding: draft.binding, shown: draft.shown,
                fields: storedOrderTables.contains(table) ? nil : draft.fields ?? result.fieldsRead[table] ?? [],
                isOfSQL: draft.isOfSQL, input: draft.input)
        }
    }

    // MARK: Native SQL and views

    /// Records what an SQL text reads: any table unless it is known.
    /// - Parameter comesInOrder: whether its rows come in an order of their values.
    mutating func readSQL(_ text: String, comesInOrder: Bool) {
        result.sqlTexts.insert(text)
        guard let found = sqlReads[text] else { return mayReadAnything() }
        let tables = found.tables.compactMap { read in
            schema.tables.first { $0.name == read.name }.map { (table: $0, columns: read.columns) }
        }
        guard tables.count == found.tables.count else { return mayReadAnything() }
        result.sqlReads.add(found, of: text)
        if found.readsTime { result.readsTime = true }
        let countsOrder =
            switch found.storedOrder {
            case .none: false
            case .order: !comesInOrder
            case .rows: true
            }
        for (table, columns) in tables {
            let known = Dictionary(table.columns.map { ($0.name, $0.field) }, uniquingKeysWith: { first, _ in first })
            let fields = columns?.map { known[$0] }
            if !countsOrder, let fields, !fields.contains(nil) {
                note(fields.compactMap { $0 }, of: table)
            } else {
                note(table.columns.map(\.field), of: table)
                storedOrderTables.insert(table.name)
            }
            result.reads.append(ReadWriteSet.Read(table: table.name, equal: [:], searchedBy: [], kind: .filter))
            siteDrafts.append(SiteDraft(table: table, guards: [], binding: nil, shown: nil, isOfSQL: true))
        }
    }

    // MARK: Rows shown

    /// - Parameter path: the place of the rows in the result; nil if it is not known.
    func shown(
        _ table: Table, _ deciding: Set<String>, _ window: ReadSite.Window?, offset: Bound = .constant(0),
        at path: [String]?
    ) -> ReadSite.Shown? {
        guard let path, table.view == nil, !table.key.isEmpty, table.keyColumns.allSatisfy(\.isComparable) else {
            return nil
        }
        return ReadSite.Shown(
            path: path, key: table.key, deciding: deciding, window: window, offset: offset)
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
