import LiveModel
import SchemaModel

// The normalised caches of SQL Connect clients store each row once, under its entity id, and assemble queries from
// them. Source: docs/reference/sql-connect.md §4.
//
// If a connector's `connector.yaml` has a `clientCache`, its queries are compiled so that each row of a table includes
// its key as an extra member, `{"#":"0a…","title":"Alpha"}`, or an array of the key's values. Response keys are names,
// so no other member is called "#". Before a result is returned, `EntityTree.separate` removes the keys, which leaves
// the `data` that every protocol sends, and makes a list of ids with their paths for the protocols that support it.
//
// An id is the same in every query and unique across tables. It is a digest, because a query may return a row without
// revealing its key: the first half of the SHA-256 of `Novel["0a…"]`, the type and the key as Postgres prints it, in
// hexadecimal. The node makes it, because digests took Postgres a quarter of a list's time.

extension [RootField] {
    /// The fields with entity ids for every row that can have one.
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

    /// Whether the rows have entity ids. Rows of a view have no key. Clients merge fields of an entity by response key,
    /// so an alias that is the name of another field would corrupt the cache.
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
    /// The list with entity ids, unless its rows are distinct, which an id would change, or are groups.
    fileprivate var withEntityIDs: RowList {
        guard case .rows(let object) = content, case .constant(false) = arguments.isDistinct else { return self }
        return RowList(source: source, arguments: arguments, content: .rows(object.withEntityIDs))
    }
}

/// The positions of entity ids in a result; lists are traversed transparently.
package struct EntityTree: Sendable {
    /// The name of the member that holds a row's key, the first of its object.
    package static let memberName = "#"

    /// The text of an id before and after its row's key: `Novel[` and `]`, or of keys with several values, which are
    /// arrays, only the type; nil if the rows have no ids.
    private var frame: (head: [UInt8], tail: [UInt8])?
    /// The subtrees by response key as written in a result: names need no escapes. There are few, so scanning is faster
    /// than hashing.
    private var below: [(key: [UInt8], tree: EntityTree)] = []

    var hasID: Bool { frame != nil }
    var hasBelow: Bool { !below.isEmpty }
    var isEmpty: Bool { !hasID && !hasBelow }

    /// Returns whether a member of a result is the row's key.
    /// - Parameter key: the key including its quotes.
    static func isMember(_ key: UnsafeBufferPointer<UInt8>) -> Bool {
        key.count == 3 && key[1] == UInt8(ascii: "#")
    }

    /// Appends the id of a row, with quotes.
    /// - Parameter key: its key, one value or an array of them, as JSON.
    func appendID(of key: UnsafeBufferPointer<UInt8>, to ids: inout [UInt8]) {
        guard let frame else { return }
        var text = frame.head
        text.reserveCapacity(frame.head.count + key.count + frame.tail.count)
        text.append(contentsOf: key)
        text.append(contentsOf: frame.tail)
        ids.append(UInt8(ascii: "\""))
        Digest(of: text).appendHex(to: &ids, digits: 32)
        ids.append(UInt8(ascii: "\""))
    }

    /// - Parameter key: the key including its quotes.
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
        if object.hasEntityID {
            let isSingle = object.table.keyColumns.count == 1
            frame = (Array("\(object.table.typeName)\(isSingle ? "[" : "")".utf8), isSingle ? Array("]".utf8) : [])
        }
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
