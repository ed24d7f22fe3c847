import SchemaModel

/// Walks the tree of an operation and collects what it reads and writes.
struct ReadWriteSetBuilder {
    let schema: Schema
    /// The tables that native SQL and views read.
    var sqlReads = SQLReads.none
    /// Variables that always have a value.
    let requiredVariables: Set<String>
    var result = ReadWriteSet()
    var siteDrafts: [SiteDraft] = []
    /// The fields that filters and orders from variables may name, by table. They are not among `fieldsRead`.
    var fieldsGiven: [String: Set<String>] = [:]
    /// The fields that are used for more than filters, by table.
    var fieldsShown: [String: Set<String>] = [:]
    /// The tables of lists whose rows come in the order in which they are stored.
    var storedOrderTables: Set<String> = []

    /// The only value of a field in some rows.
    struct FixedValue {
        let operand: Operand
        /// Its name in a refresh condition; nil if it has none, or if the value may be missing.
        let name: String?
    }

    init(schema: Schema, requiredVariables: Set<String>, sqlReads: SQLReads = .none) {
        self.schema = schema
        self.sqlReads = sqlReads
        self.requiredVariables = requiredVariables
    }

    mutating func add(_ fields: [RootField]) {
        for field in fields {
            switch field.kind {
            case .lookup(let lookup):
                result.rootTables.insert(lookup.table.name)
                add(lookup, at: [field.responseKey])
            case .list(let list):
                result.rootTables.insert(list.source.table.name)
                add(list, enclosing: [:], at: [field.responseKey])
            case .native(let native): readSQL(native.textWithNulls, comesInOrder: false)
            case .remote: result.isPartial = true
            case .typeName: continue
            }
        }
        noteSites()
    }

    private mutating func add(_ lookup: Lookup, at path: [String]) {
        var equal: [String: FixedValue] = [:]
        note(lookup.table.key, of: lookup.table)
        switch lookup.target {
        case .key(let operands):
            // A key with a missing value matches no row, so its variables may be optional.
            for (column, operand) in zip(lookup.table.keyColumns, operands) where column.isIdentifiedByText {
                equal[column.field] = FixedValue(operand: operand, name: source(operand, isOptional: true))
            }
            read(lookup.table, equal, [], .lookup)
        case .first(let filter, let order):
            equal = self.equal(filter)
            let window = window(order, limit: .constant(1), filter: filter, of: lookup.table)
            read(
                lookup.table, equal, searched(filter), .single, members: members(filter),
                filter: RowFilter(filter, isGuarded: true), fieldsTold: RowFilter.fieldsTold(filter),
                shown: shown(lookup.table, deciding(filter, order, of: lookup.table), window, at: path))
            add(filter, of: lookup.table)
            add(order, of: lookup.table)
        case .variable(let name):
            let filter = FilterVariable(name: name, subject: .rows(lookup.table), path: ["where"])
            read(
                lookup.table, [:], [], .single, filter: .variable(filter, lookup.table),
                shown: shown(
                    lookup.table,
                    Deciding(all: Set(lookup.table.columns.map(\.field)), fixed: Set(lookup.table.key)), nil, at: path))
            add(.filter(filter, lookup.table), of: lookup.table)
            add(.order(variable: name, path: ["orderBy"], lookup.table), of: lookup.table)
        }
        add(lookup.object, known: equal, at: path)
    }

    /// - Parameters:
    ///   - enclosing: fields of the list's rows that the enclosing row determines.
    ///   - path: the list's place in the result; nil if it is not known.
    private mutating func add(
        _ list: RowList, enclosing: [String: FixedValue], _ binding: ReadSite.Binding? = nil, at path: [String]?
    ) {
        let filter = list.arguments.filter
        let equal = self.equal(filter).merging(enclosing) { _, given in given }
        let members = members(filter)
        let told = RowFilter(filter, isGuarded: true)
        let fieldsTold = RowFilter.fieldsTold(filter)
        var searched = searched(filter)
        var known: [String: FixedValue] = [:]
        /// The rows that the list shows one by one.
        func shown(_ others: [String] = [], _ window: ReadSite.Window? = nil) -> ReadSite.Shown? {
            let deciding = deciding(filter, list.arguments.order, of: list.source.table, others)
            return self.shown(
                list.source.table, deciding, window, offset: list.arguments.offset, at: list.carriesMembers ? path : nil
            )
        }
        switch list.source {
        case .table(let table):
            read(
                table, equal, searched, .list, members: members, filter: told, fieldsTold: fieldsTold,
                shown: shown([], window(of: list, at: path)))
            known = equal
        case .inverse(let relation):
            searched = relation.reference.localFields
            read(
                relation.child, equal, searched, .list, binding, members: members, filter: told,
                fieldsTold: fieldsTold, shown: shown(searched, window(of: list, at: path)))
            known = equal
        case .manyToMany(let relation):
            read(
                relation.join, equal, relation.near.localFields, .list, binding, members: members, filter: told,
                fieldsTold: fieldsTold)
            // The arguments are those of the join table.
            let far = Deciding(relation.far.targetFields + relation.target.key)
            read(
                relation.target, [:], [], .single,
                shown: self.shown(
                    relation.target, far, nil, offset: list.arguments.offset, at: list.carriesMembers ? path : nil))
            note(relation.far, of: relation.join, to: relation.target)
        case .search(let table, let search):
            noteTime(search.query)
            let searched = table.columns.filter { $0.searchLanguage != nil }.map(\.field)
            note(searched, of: table)
            read(table, equal, [], .list, members: members, filter: told, shown: shown(searched))
            known = equal
        case .similarity(let table, let similarity):
            noteTime(similarity.vector)
            note([similarity.column.field], of: table)
            read(
                table, equal, [], .list, members: members, filter: told, shown: shown([similarity.column.field]))
            known = equal
        }
        let table = list.source.argumentTable
        // Pages come by key unless the list says otherwise.
        note(table.key, of: table)
        if list.mayComeInStoredOrder { storedOrderTables.insert(table.name) }
        add(filter, of: table)
        add(list.arguments.having, of: table)
        add(list.arguments.order, of: table)
        switch list.content {
        case .rows(let object): add(object, known: known, at: list.carriesMembers ? path : nil)
        case .groups(let fields):
            for field in fields {
                switch field.kind {
                case .plain(let kind): add(kind, in: list.source.table, known, field.responseKey, at: nil)
                case .aggregate(let aggregate): note(aggregate, of: list.source.table)
                }
            }
        }
    }

    private mutating func add(_ object: ObjectSelection, known: [String: FixedValue], at path: [String]?) {
        // Entity ids show it, whatever is selected.
        note(object.table.key, of: object.table)
        for field in object.fields { add(field.kind, in: object.table, known, field.responseKey, at: path) }
    }

    /// - Parameter path: the place of the objects with this field; nil if it is not known.
    private mutating func add(
        _ kind: ObjectField.Kind, in table: Table, _ known: [String: FixedValue], _ key: String, at path: [String]?
    ) {
        let inner = path.map { $0 + [key] }
        /// The first pair of fields whose values can be compared, and that is not known already, binds the rows; others
        /// only make them fewer.
        func binding(
            _ child: Table, _ fields: [String], to sources: [String], besides known: [String: FixedValue]
        ) -> ReadSite.Binding? {
            guard let path, child.view == nil, table.view == nil else { return nil }
            let pairs = zip(fields, sources).filter {
                child.column(ofField: $0)?.isComparable == true && table.column(ofField: $1)?.isComparable == true
            }
            let pair = pairs.first { known[$0.0] == nil } ?? pairs.first
            return pair.map { ReadSite.Binding(field: $0, path: path, source: $1) }
        }
        switch kind {
        case .column(let column): note([column.field], of: table)
        case .globalID: note(table.key, of: table)
        // What a search or comparison reads is known from its list.
        case .typeName, .metadata: break
        case .reference(let reference, let object):
            note(reference, of: table, to: object.table)
            let equal = Self.carried(known, from: reference.localFields, to: reference.targetFields)
            let bound = binding(object.table, reference.targetFields, to: reference.localFields, besides: equal)
            read(object.table, equal, [], .single, bound)
            add(object, known: equal, at: inner)
        case .single(let relation, let object):
            let reference = relation.reference
            note(reference, of: relation.child, to: table)
            let equal = Self.carried(known, from: reference.targetFields, to: reference.localFields)
            let bound = binding(relation.child, reference.localFields, to: reference.targetFields, besides: equal)
            let deciding = Deciding(reference.localFields + relation.child.key)
            read(relation.child, equal, [], .single, bound, shown: shown(relation.child, deciding, nil, at: inner))
            add(object, known: equal, at: inner)
        case .list(let list):
            let reference: Reference? =
                switch list.source {
                case .inverse(let relation): relation.reference
                case .manyToMany(let relation): relation.near
                case .table, .search, .similarity: nil
                }
            if let reference { note(reference, of: list.source.argumentTable, to: table) }
            let enclosing = reference.map { Self.carried(known, from: $0.targetFields, to: $0.localFields) } ?? [:]
            let bound = reference.flatMap {
                binding(list.source.argumentTable, $0.localFields, to: $0.targetFields, besides: enclosing)
            }
            add(list, enclosing: enclosing, bound, at: inner)
        }
    }

    static func carried(_ known: [String: FixedValue], from: [String], to: [String]) -> [String: FixedValue] {
        var carried: [String: FixedValue] = [:]
        for (source, target) in zip(from, to) { carried[target] = known[source] }
        return carried
    }

    mutating func read(
        _ table: Table, _ equal: [String: FixedValue], _ searchedBy: [String], _ kind: ReadWriteSet.Read.Kind,
        _ binding: ReadSite.Binding? = nil, guardedBy fixed: [String: FixedValue]? = nil,
        members: [ReadSite.Guard] = [], filter: RowFilter? = nil, fieldsTold: Set<String> = [],
        shown: ReadSite.Shown? = nil
    ) {
        if let text = table.viewText {
            // Lists of a view come in the order of the columns that have one.
            readSQL(text, comesInOrder: !table.columns.contains { [.any, .vector].contains($0.type.scalar) })
        }
        result.reads.append(
            ReadWriteSet.Read(
                table: table.name, equal: equal.compactMapValues(\.name), searchedBy: searchedBy, kind: kind))
        var guards: [String: ReadSite.Guard] = [:]
        for member in members { guards[member.field] = member }
        for (field, value) in fixed ?? equal
        where table.column(ofField: field)?.isComparable == true && value.operand.isFixedByRequest {
            guards[field] = ReadSite.Guard(field: field, operand: value.operand, isMember: false)
        }
        siteDrafts.append(
            SiteDraft(
                table: table, guards: guards.values.sorted { $0.field < $1.field }, filter: filter,
                fieldsTold: fieldsTold,
                // A guard is as exact, and known before the first run.
                binding: binding.flatMap { guards[$0.field] == nil ? $0 : nil }, shown: shown))
    }

    mutating func mayReadAnything() {
        result.isPartial = true
        result.sites.mayReadAnything = true
    }

    // MARK: Fields

    mutating func note(_ fields: [String], of table: Table, isFilter: Bool = false) {
        result.fieldsRead[table.name, default: []].formUnion(fields)
        if !isFilter { fieldsShown[table.name, default: []].formUnion(fields) }
    }

    /// Records the columns that join two tables.
    mutating func note(_ reference: Reference, of table: Table, to target: Table) {
        note(reference.localFields, of: table)
        note(reference.targetFields, of: target)
    }

    mutating func note(_ aggregate: Aggregate, of table: Table) {
        if case .function(_, let column, _) = aggregate { note([column.field], of: table) }
    }
}

extension RowList {
    /// Whether the rows may come in the order in which they are stored (`ListRenderer`).
    fileprivate var mayComeInStoredOrder: Bool {
        guard arguments.order.isEmpty, !arguments.isPaged, case .rows = content else { return false }
        if case .constant(true) = arguments.isDistinct { return false }
        return switch source {
        case .table, .inverse, .manyToMany: true
        case .search, .similarity: false
        }
    }

    /// Whether its objects can have members that the operation does not select: they would change what is distinct, and
    /// groups have no rows.
    fileprivate var carriesMembers: Bool {
        guard case .constant(false) = arguments.isDistinct, case .rows = content else { return false }
        return source.table.view == nil
    }
}
