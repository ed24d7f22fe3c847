import SchemaModel

/// Walks the tree of an operation and collects what it reads and writes.
struct ReadWriteSetBuilder {
    let schema: Schema
    /// Variables that always have a value.
    let requiredVariables: Set<String>
    var result = ReadWriteSet()

    mutating func add(_ fields: [RootField]) {
        for field in fields {
            switch field.kind {
            case .lookup(let lookup): add(lookup)
            case .list(let list): add(list, enclosing: [:])
            case .native, .remote: result.isPartial = true
            case .typeName: continue
            }
        }
    }

    private mutating func add(_ lookup: Lookup) {
        var equal: [String: String] = [:]
        switch lookup.target {
        case .key(let operands):
            // A key with a missing value matches no row, so its variables may be optional.
            for (column, operand) in zip(lookup.table.keyColumns, operands) where column.isIdentifiedByText {
                equal[column.field] = source(operand, isOptional: true)
            }
            read(lookup.table, equal, [], .lookup)
        case .first(let filter, let order):
            equal = self.equal(filter)
            read(lookup.table, equal, searched(filter), .single)
            add(filter)
            add(order)
        case .variable:
            read(lookup.table, [:], [], .single)
            result.isPartial = true
        }
        add(lookup.object, known: equal)
    }

    /// - Parameter enclosing: fields of the list's rows that the enclosing row determines.
    private mutating func add(_ list: RowList, enclosing: [String: String]) {
        let filter = list.arguments.filter
        let equal = self.equal(filter).merging(enclosing) { _, given in given }
        var searched = searched(filter)
        var known: [String: String] = [:]
        switch list.source {
        case .table(let table):
            read(table, equal, searched, .list)
            known = equal
        case .inverse(let relation):
            searched = relation.reference.localFields
            read(relation.child, equal, searched, .list)
            known = equal
        case .manyToMany(let relation):
            read(relation.join, equal, relation.near.localFields, .list)
            read(relation.target, [:], [], .single)
        case .search(let table, let search):
            noteTime(search.query)
            read(table, equal, [], .list)
            known = equal
        case .similarity(let table, let similarity):
            noteTime(similarity.vector)
            read(table, equal, [], .list)
            known = equal
        }
        add(filter)
        add(list.arguments.having)
        add(list.arguments.order)
        switch list.content {
        case .rows(let object): add(object, known: known)
        case .groups(let fields):
            for field in fields { if case .plain(let kind) = field.kind { add(kind, in: list.source.table, known) } }
        }
    }

    private mutating func add(_ object: ObjectSelection, known: [String: String]) {
        for field in object.fields { add(field.kind, in: object.table, known) }
    }

    private mutating func add(_ kind: ObjectField.Kind, in table: Table, _ known: [String: String]) {
        switch kind {
        case .column, .typeName, .globalID, .metadata: break
        case .reference(let reference, let object):
            let equal = Self.carried(known, from: reference.localFields, to: reference.targetFields)
            read(object.table, equal, [], .single)
            add(object, known: equal)
        case .single(let relation, let object):
            let reference = relation.reference
            let equal = Self.carried(known, from: reference.targetFields, to: reference.localFields)
            read(relation.child, equal, [], .single)
            add(object, known: equal)
        case .list(let list):
            let reference: Reference? =
                switch list.source {
                case .inverse(let relation): relation.reference
                case .manyToMany(let relation): relation.near
                case .table, .search, .similarity: nil
                }
            let enclosing = reference.map { Self.carried(known, from: $0.targetFields, to: $0.localFields) } ?? [:]
            add(list, enclosing: enclosing)
        }
    }

    private static func carried(_ known: [String: String], from: [String], to: [String]) -> [String: String] {
        var carried: [String: String] = [:]
        for (source, target) in zip(from, to) { carried[target] = known[source] }
        return carried
    }

    private mutating func read(
        _ table: Table, _ equal: [String: String], _ searchedBy: [String], _ kind: ReadWriteSet.Read.Kind
    ) {
        if table.view != nil { result.isPartial = true }
        result.reads.append(
            ReadWriteSet.Read(table: table.name, equal: equal, searchedBy: searchedBy, kind: kind))
    }

    // MARK: Filters

    /// Returns the fields that a filter fixes to one value, whatever else it tests.
    func equal(_ filter: Filter) -> [String: String] {
        switch filter {
        case .all(let filters): filters.reduce(into: [:]) { $0.merge(equal($1)) { first, _ in first } }
        case .column(let column, _) where !column.isIdentifiedByText: [:]
        case .column(let column, let test): equal(test).map { [column.field: $0] } ?? [:]
        case .referenced(let reference, _, let inner):
            Self.carried(equal(inner), from: reference.targetFields, to: reference.localFields)
        case .any, .not, .exists, .count, .aggregate, .variable: [:]
        }
    }

    /// Returns the only value that passes a test; nil if there may be others, or if it has no name.
    private func equal(_ test: ColumnTest) -> String? {
        switch test {
        case .compare(.equal, let operand): source(operand)
        case .compare, .isNull, .member, .match, .list, .null, .variable: nil
        }
    }

    /// Returns the fields by which a B-tree index could find the rows.
    private func searched(_ filter: Filter) -> [String] {
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

    /// Records the tables that a filter reads, and whether it depends on the time.
    mutating func add(_ filter: Filter) {
        switch filter {
        case .all(let filters), .any(let filters): for inner in filters { add(inner) }
        case .not(let inner): add(inner)
        case .column(_, let test), .aggregate(_, let test): noteTime(test)
        case .referenced(_, let table, let inner):
            read(table, [:], [], .filter)
            add(inner)
        case .exists(let rows, let inner):
            readFiltered(rows)
            add(inner)
        case .count(let rows, let inner, let tests):
            readFiltered(rows)
            add(inner)
            tests.forEach { noteTime($0) }
        // The content of a variable is unknown until the request.
        case .variable: result.isPartial = true
        }
    }

    private mutating func readFiltered(_ rows: RelatedRows) {
        switch rows {
        case .inverse(let relation): read(relation.child, [:], relation.reference.localFields, .filter)
        case .manyToMany(let relation):
            read(relation.join, [:], relation.near.localFields, .filter)
            read(relation.target, [:], [], .filter)
        }
    }

    private mutating func add(_ order: [OrderTerm]) {
        for term in order { if case .key(let key, _) = term { add(key) } }
    }

    private mutating func add(_ key: OrderKey) {
        switch key {
        case .column, .aggregate: break
        case .referenced(_, let table, let inner):
            read(table, [:], [], .single)
            add(inner)
        case .single(let relation, let inner):
            read(relation.child, [:], [], .single)
            add(inner)
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

    private mutating func noteTime(_ operand: Operand) {
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
