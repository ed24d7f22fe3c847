import SchemaModel

extension ReadWriteSetBuilder {
    /// Returns the fields that a filter fixes to one value, whatever else it tests.
    func equal(_ filter: Filter) -> [String: FixedValue] {
        switch filter {
        case .all(let filters): filters.reduce(into: [:]) { $0.merge(equal($1)) { first, _ in first } }
        case .column(let column, _) where !column.isIdentifiedByText: [:]
        case .column(let column, .compare(.equal, let operand)) where operand.pattern == nil:
            [column.field: FixedValue(operand: operand, name: source(operand))]
        case .referenced(let reference, _, let inner):
            Self.carried(equal(inner), from: reference.targetFields, to: reference.localFields)
        case .column, .any, .not, .exists, .count, .aggregate, .variable: [:]
        }
    }

    /// Returns the fields that a filter fixes to one of several values.
    func members(_ filter: Filter) -> [ReadSite.Guard] {
        switch filter {
        case .all(let filters): filters.flatMap(members)
        case .column(let column, .member(let operand, isNegated: false)) where column.isComparable:
            operand.isFixedByRequest ? [ReadSite.Guard(field: column.field, operand: operand, isMember: true)] : []
        case .column, .referenced, .any, .not, .exists, .count, .aggregate, .variable: []
        }
    }

    /// Returns the fields by which a B-tree index could find the rows.
    func searched(_ filter: Filter) -> [String] {
        switch filter {
        case .all(let filters): filters.flatMap(searched)
        case .column(let column, let test): isSearch(test) ? [column.field] : []
        case .referenced(let reference, _, let inner):
            searched(inner).compactMap { field in
                reference.targetFields.firstIndex(of: field).map { reference.localFields[$0] }
            }
        case .any, .not, .exists, .count, .aggregate, .variable: []
        }
    }

    private func isSearch(_ test: ColumnTest) -> Bool {
        switch test {
        case .compare(let comparison, _): comparison != .notEqual
        case .member(_, let isNegated): !isNegated
        case .isNull, .match, .list, .null, .variable: false
        }
    }

    /// Records the tables and fields that a filter reads, and whether it depends on the time. Related rows count only
    /// if they satisfy the filter on them, except within `_not`, where a null may count as well.
    mutating func add(_ filter: Filter, of table: Table, isNegated: Bool = false) {
        func fixed(_ inner: Filter) -> [String: FixedValue] { isNegated ? [:] : equal(inner) }
        func told(_ inner: Filter) -> RowFilter? { isNegated ? nil : RowFilter(inner, isGuarded: true) }
        switch filter {
        case .all(let filters), .any(let filters): for inner in filters { add(inner, of: table, isNegated: isNegated) }
        case .not(let inner): add(inner, of: table, isNegated: true)
        case .column(let column, let test):
            note([column.field], of: table, isFilter: true)
            noteTime(test)
        case .aggregate(let aggregate, let test):
            note(aggregate, of: table)
            noteTime(test)
        case .referenced(let reference, let target, let inner):
            read(
                target, [:], [], .filter, guardedBy: fixed(inner), members: isNegated ? [] : members(inner),
                filter: told(inner))
            note(reference, of: table, to: target)
            add(inner, of: target, isNegated: isNegated)
        case .exists(let rows, let inner):
            readFiltered(rows, fixed(inner), isNegated ? [] : members(inner), told(inner), of: table)
            add(inner, of: rows.table, isNegated: isNegated)
        case .count(let rows, let inner, let tests):
            readFiltered(rows, fixed(inner), isNegated ? [] : members(inner), told(inner), of: table)
            add(inner, of: rows.table, isNegated: isNegated)
            tests.forEach { noteTime($0) }
        case .variable(let variable): add(.filter(variable, table), of: table)
        }
    }

    private mutating func readFiltered(
        _ rows: RelatedRows, _ equal: [String: FixedValue], _ members: [ReadSite.Guard], _ filter: RowFilter?,
        of table: Table
    ) {
        switch rows {
        case .inverse(let relation):
            read(
                relation.child, [:], relation.reference.localFields, .filter, guardedBy: equal, members: members,
                filter: filter)
            note(relation.reference, of: relation.child, to: table)
        case .manyToMany(let relation):
            read(relation.join, [:], relation.near.localFields, .filter)
            read(relation.target, [:], [], .filter, guardedBy: equal, members: members, filter: filter)
            note(relation.near, of: relation.join, to: table)
            note(relation.far, of: relation.join, to: relation.target)
        }
    }

    mutating func add(_ order: [OrderTerm], of table: Table) {
        for term in order {
            switch term {
            case .key(let key, _): add(key, of: table)
            case .variable(let name): add(.order(variable: name, path: [], table), of: table)
            }
        }
    }

    private mutating func add(_ key: OrderKey, of table: Table) {
        switch key {
        case .column(let column): note([column.field], of: table)
        case .aggregate(let aggregate): note(aggregate, of: table)
        case .referenced(let reference, let target, let inner):
            read(target, [:], [], .single)
            note(reference, of: table, to: target)
            add(inner, of: target)
        case .single(let relation, let inner):
            read(relation.child, [:], [], .single)
            note(relation.reference, of: relation.child, to: table)
            add(inner, of: relation.child)
        }
    }

    private mutating func noteTime(_ test: ColumnTest) {
        switch test {
        case .isNull, .null: break
        case .compare(_, let operand), .member(let operand, _), .match(_, let operand, _), .list(_, let operand, _):
            noteTime(operand)
        case .variable: result.isPartial = true
        }
    }

    mutating func noteTime(_ operand: Operand) {
        if case .relative(let time) = operand.source, time.base == nil { result.readsTime = true }
        if case .relativeVariable = operand.source { result.readsTime = true }
        if operand.source.programs.contains(where: \.readsRequestTime) { result.readsTime = true }
    }

    // MARK: Sources

    /// Returns the value's name in a refresh condition; nil if it has none, or if the value may be missing.
    func source(_ operand: Operand, isOptional: Bool = false) -> String? {
        guard operand.pattern == nil else { return nil }
        switch operand.source {
        case .variable(let name, let path):
            return isOptional || requiredVariables.contains(name)
                ? (["variables", name] + path).joined(separator: ".") : nil
        case .expression(let program):
            let text = program.text.filter { !$0.isWhitespace }
            return text == "auth.uid" || text == "request.auth.uid" ? "auth.uid" : nil
        case .constant, .firstGiven, .freshUUID, .relative, .relativeVariable, .list, .object, .embedding: return nil
        }
    }
}
