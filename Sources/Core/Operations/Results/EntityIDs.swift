import SchemaModel

// The normalised caches of SQL Connect clients keep each row once, under its entity id, and put queries together from
// them. Source: docs/reference/sql-connect.md §4.
//
// A connector whose `connector.yaml` names a `clientCache` has its queries compiled so that each row of a table brings
// its id as a member of its own, `{"#":"4e0f…","title":"Alpha"}`. Response keys are names, so nothing else is called
// "#". Before a result is handed on, the ids are taken out of it (`EntityTree.separate`), which leaves the `data` that
// every protocol shows, and the list of ids with their paths for the protocols that send it.

extension [RootField] {
    /// With ids for every row that may have one.
    var withEntityIDs: [RootField] {
        map { field in
            let kind: RootField.Kind =
                switch field.kind {
                case .lookup(let lookup):
                    .lookup(Lookup(table: lookup.table, target: lookup.target, object: lookup.object.withEntityIDs))
                case .list(let list): .list(list.withEntityIDs)
                case .native, .remote, .typeName: field.kind
                }
            return RootField(
                responseKey: field.responseKey, inclusion: field.inclusion, kind: kind, policy: field.policy)
        }
    }
}

extension ObjectSelection {
    fileprivate var withEntityIDs: ObjectSelection {
        let marked = fields.map { field in
            let kind: ObjectField.Kind =
                switch field.kind {
                case .reference(let reference, let object): .reference(reference, object.withEntityIDs)
                case .single(let relation, let object): .single(relation, object.withEntityIDs)
                case .list(let list): .list(list.withEntityIDs)
                case .column, .typeName, .globalID, .metadata: field.kind
                }
            return ObjectField(
                responseKey: field.responseKey, inclusion: field.inclusion, kind: kind, policy: field.policy)
        }
        return ObjectSelection(table: table, fields: marked, hasEntityID: isEntity)
    }

    /// Rows of a view have no key. Fields are merged under an id by their response keys: an alias that is the name of
    /// another field would put a wrong value into the cache.
    private var isEntity: Bool {
        guard table.view == nil, !table.keyColumns.isEmpty else { return false }
        return fields.allSatisfy { field in
            let name: String? =
                switch field.kind {
                case .column(let column): column.field
                case .reference(let reference, _): reference.field
                case .single(let relation, _): relation.name
                case .typeName: "__typename"
                case .globalID: "_id"
                case .list, .metadata: nil
                }
            if field.responseKey == name { return true }
            return table.column(ofField: field.responseKey) == nil
                && !table.references.contains { $0.field == field.responseKey }
                && !["_id", "__typename"].contains(field.responseKey)
        }
    }
}

extension RowList {
    /// Rows that are told apart by their text must not get another one; a group is no row.
    fileprivate var withEntityIDs: RowList {
        guard case .rows(let object) = content, case .constant(false) = arguments.isDistinct else { return self }
        return RowList(source: source, arguments: arguments, content: .rows(object.withEntityIDs))
    }
}

/// Where in a result ids stand. Lists are looked through.
package struct EntityTree: Sendable {
    /// Of the member that holds a row's id, the first of its object.
    package static let memberName = "#"

    private(set) var hasID = false
    /// By response key as it stands in a result: names need no escapes. Few, so a walk finds one faster than a hash.
    private var below: [(key: [UInt8], tree: EntityTree)] = []

    var hasBelow: Bool { !below.isEmpty }
    var isEmpty: Bool { !hasID && !hasBelow }

    /// Whether a member of a result is that of the id.
    /// - Parameter key: with its quotes.
    static func isMember(_ key: UnsafeBufferPointer<UInt8>) -> Bool {
        key.count == 3 && key[1] == UInt8(ascii: "#")
    }

    /// - Parameter key: with its quotes.
    func below(key: UnsafeBufferPointer<UInt8>) -> EntityTree? {
        for (name, tree) in below where name.count == key.count && key.elementsEqual(name) { return tree }
        return nil
    }

    init() {}

    init(_ fields: [RootField]) {
        for field in fields {
            switch field.kind {
            case .lookup(let lookup): add(EntityTree(lookup.object), field.responseKey)
            case .list(let list): add(EntityTree(list), field.responseKey)
            case .native, .remote, .typeName: break
            }
        }
    }

    private init(_ object: ObjectSelection) {
        hasID = object.hasEntityID
        for field in object.fields {
            switch field.kind {
            case .reference(_, let object), .single(_, let object): add(EntityTree(object), field.responseKey)
            case .list(let list): add(EntityTree(list), field.responseKey)
            case .column, .typeName, .globalID, .metadata: break
            }
        }
    }

    private init(_ list: RowList) {
        if case .rows(let object) = list.content { self.init(object) } else { self.init() }
    }

    private mutating func add(_ tree: EntityTree, _ key: String) {
        if !tree.isEmpty { below.append((Array("\"\(key)\"".utf8), tree)) }
    }
}
