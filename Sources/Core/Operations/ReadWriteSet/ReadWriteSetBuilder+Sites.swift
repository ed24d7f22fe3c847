import SchemaModel

/// The sites of a query.
extension ReadWriteSetBuilder {
    struct SiteDraft {
        let table: Table
        let guards: [ReadSite.Guard]
        var filter: RowFilter?
        /// The fields of which the filter tests no more than guards and `filter` tell.
        var fieldsTold: Set<String> = []
        let binding: ReadSite.Binding?
        let shown: ReadSite.Shown?
        var isOfSQL = false
        /// Nil if the rows are read in any case.
        var namedBy: ReadSite.Naming?
        var fields = Fields.used

        /// The fields that count.
        enum Fields {
            /// All that the query reads of the table.
            case used
            case only(Set<String>)
            case all

            /// Whether at least the fields of the other count.
            func cover(_ other: Fields) -> Bool {
                switch (self, other) {
                case (.all, _), (.used, .used): true
                case (.only(let own), .only(let others)): others.isSubset(of: own)
                // The fields that the query itself uses may be fewer than a value names.
                case (.used, .only), (.used, .all), (.only, .used), (.only, .all): false
                }
            }
        }

        /// The conditions that make a row one of the site's.
        var conditions: Set<String> {
            let bound = binding.map { "\($0.field)~\($0.path.joined(separator: "."))~\($0.source)" }
            let guarded = guards.map { "\($0.field)\($0.isMember ? "∈" : "=")\($0.operand.identity)" }
            let named = namedBy.map { "\($0.input.name)~\($0.table)" }
            return Set(guarded + (filter?.identities ?? []) + [bound, named].compactMap { $0 })
        }
    }

    /// Makes the sites of the reads. One that selects no other rows than another is left out, unless the other heeds
    /// only rows that are shown.
    mutating func noteSites() {
        var kept: [(draft: SiteDraft, conditions: Set<String>)] = []
        for draft in siteDrafts where draft.table.view == nil {
            let conditions = draft.conditions
            typealias Candidate = (draft: SiteDraft, conditions: Set<String>)
            func covers(_ wide: Candidate, _ narrow: Candidate) -> Bool {
                wide.draft.table.name == narrow.draft.table.name && wide.draft.shown == nil
                    && wide.conditions.isSubset(of: narrow.conditions) && wide.draft.fields.cover(narrow.draft.fields)
            }
            var candidate = (draft: draft, conditions: conditions)
            /// Lets the wide one count what matters to the narrow one, from which rows may go that stay in the former.
            func take(_ narrow: Candidate, _ wide: inout Candidate) {
                if narrow.conditions == wide.conditions {
                    wide.draft.fieldsTold.formIntersection(narrow.draft.fieldsTold)
                } else {
                    wide.draft.fieldsTold = []
                }
            }
            if let wide = kept.firstIndex(where: { covers($0, candidate) }) {
                take(candidate, &kept[wide])
                continue
            }
            for narrow in kept where covers(candidate, narrow) { take(narrow, &candidate) }
            kept.removeAll { covers(candidate, $0) }
            kept.append(candidate)
        }
        let fieldsFixed = result.fieldsRead
        result.fieldsRead.merge(fieldsGiven) { $0.union($1) }
        result.sites.all = kept.map { draft, _ in
            let table = draft.table.name
            var (fields, fixed): (Set<String>?, Set<String>?)
            switch draft.fields {
            case .used:
                fields = result.fieldsRead[table] ?? []
                fixed = fieldsGiven[table] == nil ? nil : fieldsFixed[table] ?? []
            case .only(let only): (fields, fixed) = (only, draft.isOfSQL ? nil : [])
            case .all: (fields, fixed) = (nil, nil)
            }
            if storedOrderTables.contains(table) { (fields, fixed) = (nil, nil) }
            let filtered =
                fields == nil
                ? [] : draft.fieldsTold.subtracting(fieldsShown[table] ?? []).subtracting(fieldsGiven[table] ?? [])
            return ReadSite(
                table: table, guards: draft.guards, filter: draft.filter, binding: draft.binding, shown: draft.shown,
                fields: fields, fixedFields: fixed, fieldsFiltered: filtered, isOfSQL: draft.isOfSQL,
                namedBy: draft.namedBy)
        }
    }

    // MARK: Native SQL and views

    /// Records what an SQL text reads: any table unless it is known.
    /// - Parameters:
    ///   - comesInOrder: whether its rows come in an order of their values.
    ///   - naming: the value that names the view; nil if the text is read in any case.
    mutating func readSQL(_ text: String, comesInOrder: Bool, namedBy naming: ReadSite.Naming? = nil) {
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
            let told: Set<String>? =
                !countsOrder && fields?.contains(nil) == false ? Set(fields?.compactMap { $0 } ?? []) : nil
            result.reads.append(ReadWriteSet.Read(table: table.name, equal: [:], searchedBy: [], kind: .filter))
            var draft = SiteDraft(table: table, guards: [], binding: nil, shown: nil, isOfSQL: true, namedBy: naming)
            if naming == nil {
                note(Array(told ?? Set(table.columns.map(\.field))), of: table)
                if told == nil { storedOrderTables.insert(table.name) }
            } else {
                draft.fields = told.map(SiteDraft.Fields.only) ?? .all
            }
            siteDrafts.append(draft)
        }
    }

    // MARK: Rows shown

    /// - Parameter path: the place of the rows in the result; nil if it is not known.
    func shown(
        _ table: Table, _ deciding: Deciding, _ window: ReadSite.Window?, offset: Bound = .constant(0),
        at path: [String]?
    ) -> ReadSite.Shown? {
        guard let path, table.view == nil, !table.key.isEmpty, table.keyColumns.allSatisfy(\.isComparable) else {
            return nil
        }
        return ReadSite.Shown(
            path: path, key: table.key, deciding: deciding.all, fixedDeciding: deciding.fixed, window: window,
            offset: offset)
    }

    /// The fields that decide whether a row is shown.
    struct Deciding {
        let all: Set<String>
        /// The fields without those that a variable may name; nil if they are all.
        var fixed: Set<String>?

        init(all: Set<String>, fixed: Set<String>?) { (self.all, self.fixed) = (all, fixed) }

        init(_ fields: [String]) { self.init(all: Set(fields), fixed: nil) }
    }

    /// Returns the fields by which a list selects and orders its rows, with the key and others.
    func deciding(_ filter: Filter, _ order: [OrderTerm], of table: Table, _ others: [String] = []) -> Deciding {
        var builder = ReadWriteSetBuilder(schema: schema, requiredVariables: [])
        builder.add(filter, of: table)
        builder.add(order, of: table)
        let fixed = (builder.result.fieldsRead[table.name] ?? []).union(table.key).union(others)
        guard let given = builder.fieldsGiven[table.name] else { return Deciding(all: fixed, fixed: nil) }
        return Deciding(all: fixed.union(given), fixed: fixed)
    }

    /// Returns the window of a list. One without order and limits comes in the order of storage. Nested ones without
    /// limits are seldom full, and would carry the values of their order in vain.
    func window(of list: RowList, at path: [String]?) -> ReadSite.Window? {
        let arguments = list.arguments
        guard arguments.isPaged || !arguments.order.isEmpty && path?.count == 1 else { return nil }
        return window(arguments.order, limit: arguments.limit, filter: arguments.filter, of: list.source.table)
    }

    func window(_ order: [OrderTerm], limit: Bound, filter: Filter, of table: Table) -> ReadSite.Window? {
        // Rows that the filter excludes as time passes leave the list, and others come up.
        var reads = ReadWriteSetBuilder(schema: schema, requiredVariables: [])
        reads.add(filter, of: table)
        if reads.result.readsTime || reads.result.isPartial { return nil }
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
