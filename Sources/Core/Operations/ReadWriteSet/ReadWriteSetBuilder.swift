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
            case .lookup(let lookup):
                result.rootTables.insert(lookup.table.name)
                add(lookup)
            case .list(let list):
                result.rootTables.insert(list.source.table.name)
                add(list, enclosing: [:])
            case .native, .remote: result.isPartial = true
            case .typeName: continue
            }
        }
    }

    private mutating func add(_ lookup: Lookup) {
        var equal: [String: String] = [:]
        note(lookup.table.key, of: lookup.table)
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
            add(filter, of: lookup.table)
            add(order, of: lookup.table)
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
            note(relation.far, of: relation.join, to: relation.target)
        case .search(let table, let search):
            noteTime(search.query)
            note(table.columns.filter { $0.searchLanguage != nil }.map(\.field), of: table)
            read(table, equal, [], .list)
            known = equal
        case .similarity(let table, let similarity):
            noteTime(similarity.vector)
            note([similarity.column.field], of: table)
            read(table, equal, [], .list)
            known = equal
        }
        let table = list.source.argumentTable
        // Pages and nested lists come by key unless the list says otherwise.
        note(table.key, of: table)
        add(filter, of: table)
        add(list.arguments.having, of: table)
        add(list.arguments.order, of: table)
        switch list.content {
        case .rows(let object): add(object, known: known)
        case .groups(let fields):
            for field in fields {
                switch field.kind {
                case .plain(let kind): add(kind, in: list.source.table, known)
                case .aggregate(let aggregate): note(aggregate, of: list.source.table)
                }
            }
        }
    }

    private mutating func add(_ object: ObjectSelection, known: [String: String]) {
        for field in object.fields { add(field.kind, in: object.table, known) }
    }

    private mutating func add(_ kind: ObjectField.Kind, in table: Table, _ known: [String: String]) {
        switch kind {
        case .column(let column): note([column.field], of: table)
        case .globalID: note(table.key, of: table)
        // What a search or comparison reads is known from its list.
        case .typeName, .metadata: break
        case .reference(let reference, let object):
            note(reference, of: table, to: object.table)
            let equal = Self.carried(known, from: reference.localFields, to: reference.targetFields)
            read(object.table, equal, [], .single)
            add(object, known: equal)
        case .single(let relation, let object):
            let reference = relation.reference
            note(reference, of: relation.child, to: table)
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
            if let reference { note(reference, of: list.source.argumentTable, to: table) }
            let enclosing = reference.map { Self.carried(known, from: $0.targetFields, to: $0.localFields) } ?? [:]
            add(list, enclosing: enclosing)
        }
    }

    static func carried(_ known: [String: String], from: [String], to: [String]) -> [String: String] {
        var carried: [String: String] = [:]
        for (source, target) in zip(from, to) { carried[target] = known[source] }
        return carried
    }

    mutating func read(
        _ table: Table, _ equal: [String: String], _ searchedBy: [String], _ kind: ReadWriteSet.Read.Kind
    ) {
        if table.view != nil { result.isPartial = true }
        result.reads.append(
            ReadWriteSet.Read(table: table.name, equal: equal, searchedBy: searchedBy, kind: kind))
    }

    // MARK: Fields

    mutating func note(_ fields: [String], of table: Table) {
        result.fieldsRead[table.name, default: []].formUnion(fields)
    }

    /// Records the columns that join two tables.
    mutating func note(_ reference: Reference, of table: Table, to target: Table) {
        note(reference.localFields, of: table)
        note(reference.targetFields, of: target)
    }

    mutating func note(_ aggregate: Aggregate, of table: Table) {
        if case .function(_, let column, _) = aggregate { note([column.field], of: table) }
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
