import JSON
package import LiveModel
package import SchemaModel

// What a run read decides which changes concern its result. `movies(limit: 20) { reviews_on_movie { text } }` shows
// these movies, up to the last one's place in the order, and the reviews of these movies. To know that, each object
// carries the primary key of its row, the fields that bind rows below it, and those by which its list is ordered; what
// the operation does not select, as extra members: `{"~0":"4e0f…","title":"Alpha"}`. Response keys are names, so no
// other member begins with "~". `RowsTree.separate` removes them before anything else reads the result.

extension ReadSite {
    /// A field of the site whose values are those of a column of the objects at a path of the result.
    package struct Binding: Sendable, Hashable {
        /// The field of the site's table.
        package let field: String
        /// The response keys from the root to the objects; lists are traversed.
        let path: [String]
        /// The field of the objects' table.
        let source: String

        /// The source in the words of explanations: `lots.id`.
        package var sourceText: String { (path + [source]).joined(separator: ".") }
    }

    /// The fields that objects of the result carry for the site.
    fileprivate var carried: [CarriedField] {
        let bound = binding.map { [CarriedField(path: $0.path, field: $0.source)] } ?? []
        guard let shown else { return bound }
        let order = shown.window?.order.map(\.column.field) ?? []
        return bound + (shown.key + order).map { CarriedField(path: shown.path, field: $0) }
    }
}

/// A field of the objects at a path of the result.
private struct CarriedField: Hashable {
    let path: [String]
    let field: String
}

extension [CarriedField] {
    /// The fields below a response key, with their paths from there.
    fileprivate func below(_ key: String) -> [CarriedField] {
        compactMap { carried in
            guard carried.path.first == key else { return nil }
            return CarriedField(path: Array<String>(carried.path.dropFirst()), field: carried.field)
        }
    }

    /// The fields of the objects at the end of the path, sorted.
    fileprivate var own: [String] { Set(filter(\.path.isEmpty).map(\.field)).sorted() }
}

extension [RootField] {
    /// The fields with the members that the sites need.
    package func carrying(_ sites: [ReadSite]) -> [RootField] {
        let carried = Array<CarriedField>(Set(sites.flatMap(\.carried)))
        if carried.isEmpty { return self }
        return map { field in
            let below = carried.below(field.responseKey)
            let kind: RootField.Kind =
                switch field.kind {
                case .lookup(let lookup):
                    .lookup(Lookup(table: lookup.table, target: lookup.target, object: lookup.object.carrying(below)))
                case .list(let list): .list(list.carrying(below))
                case .native, .remote, .typeName: field.kind
                }
            return RootField(
                responseKey: field.responseKey, inclusion: field.inclusion, kind: kind, policy: field.policy)
        }
    }
}

extension ObjectSelection {
    fileprivate func carrying(_ carried: [CarriedField]) -> ObjectSelection {
        if carried.isEmpty { return self }
        let fields = fields.map { field in
            let below = carried.below(field.responseKey)
            let kind: ObjectField.Kind =
                switch field.kind {
                case .reference(let reference, let object): .reference(reference, object.carrying(below))
                case .single(let relation, let object): .single(relation, object.carrying(below))
                case .list(let list): .list(list.carrying(below))
                case .column, .typeName, .globalID, .metadata: field.kind
                }
            return ObjectField(
                responseKey: field.responseKey, inclusion: field.inclusion, kind: kind, policy: field.policy)
        }
        var object = ObjectSelection(table: table, fields: fields, hasEntityID: hasEntityID)
        object.carriedColumns = carried.own.filter { selectedKey(of: $0) == nil }.compactMap(table.column)
        return object
    }

    /// Returns the response key under which each object has the field; nil if it may lack it.
    private func selectedKey(of field: String) -> String? {
        fields.first { selected in
            guard selected.inclusion.isAlways, case .column(let column) = selected.kind else { return false }
            return column.field == field
        }?.responseKey
    }

    /// Returns the name of the member that holds a carried field.
    fileprivate func memberName(of field: String) -> String? {
        selectedKey(of: field)
            ?? carriedColumns.firstIndex { $0.field == field }.map(RowsTree.memberName)
    }
}

extension RowList {
    fileprivate func carrying(_ carried: [CarriedField]) -> RowList {
        guard case .rows(let object) = content else { return self }
        return RowList(source: source, arguments: arguments, content: .rows(object.carrying(carried)))
    }
}

/// The members of a result's objects that tell which rows a run read; lists are traversed transparently.
package struct RowsTree: Sendable {
    /// A member by its key as written in a result, with quotes. There are few, so scanning is faster than hashing.
    struct Member: Sendable {
        let key: [UInt8]
        /// Whether the operation did not select it.
        let isExtra: Bool
    }

    /// The part of a site's rows that the objects show, by the indices of members.
    enum Use: Sendable {
        case bound(Int)
        case shown(key: [Int], order: [Int])
        /// The object encloses one list of the rows. `bound` is the member with the value that binds them; nil for a
        /// site without a binding.
        case encloses(bound: Int?)
    }

    private(set) var members: [Member] = []
    private(set) var uses: [(site: Int, use: Use)] = []
    private(set) var below: [(key: [UInt8], tree: RowsTree)] = []

    package init() {}

    /// - Parameters:
    ///   - fields: those with the members for the sites.
    ///   - sites: those that read rows.
    package init(_ fields: [RootField], _ sites: [ReadSite]) {
        let numbered = Array(sites.enumerated().map { NumberedSite(number: $0.offset, site: $0.element, depth: 0) })
        for field in fields {
            switch field.kind {
            case .lookup(let lookup): add(lookup.object, field.responseKey, numbered)
            case .list(let list): add(list, field.responseKey, numbered)
            case .native, .remote, .typeName: break
            }
        }
    }

    package var isEmpty: Bool { uses.isEmpty && below.isEmpty }

    /// The name of the member with a number.
    package static func memberName(_ number: Int) -> String { "~\(number)" }

    func below(key: UnsafeBufferPointer<UInt8>) -> RowsTree? {
        for (name, tree) in below where name.count == key.count && key.elementsEqual(name) { return tree }
        return nil
    }

    func member(key: UnsafeBufferPointer<UInt8>) -> Int? {
        members.firstIndex { $0.key.count == key.count && key.elementsEqual($0.key) }
    }

    // MARK: Building

    /// A site of which objects at this depth, or below it, may tell.
    private struct NumberedSite {
        let number: Int
        let site: ReadSite
        let depth: Int

        var binding: ReadSite.Binding? { site.binding.flatMap { $0.path.count >= depth ? $0 : nil } }
        var shown: ReadSite.Shown? { site.shown.flatMap { $0.path.count >= depth ? $0 : nil } }

        /// Returns the site if objects below the key tell of it.
        func below(_ key: String) -> NumberedSite? {
            let binding = site.binding.flatMap { leads($0.path, to: key) ? $0 : nil }
            let shown = site.shown.flatMap { leads($0.path, to: key) ? $0 : nil }
            if binding == nil, shown == nil { return nil }
            let site = ReadSite(
                table: site.table, guards: [], filter: nil, binding: binding, shown: shown, fields: nil,
                fixedFields: nil, fieldsFiltered: [], isOfSQL: false, namedBy: nil)
            return NumberedSite(number: number, site: site, depth: depth + 1)
        }

        private func leads(_ path: [String], to key: String) -> Bool { path.count > depth && path[depth] == key }
    }

    private init(_ object: ObjectSelection, _ sites: [NumberedSite]) {
        for site in sites {
            if let binding = site.binding, binding.path.count == site.depth,
                let member = add(binding.source, of: object)
            {
                uses.append((site.number, .bound(member)))
            }
            if let shown = site.shown, shown.window != nil, shown.path.count == site.depth + 1 {
                uses.append((site.number, .encloses(bound: site.binding.flatMap { add($0.source, of: object) })))
            }
            if let shown = site.shown, shown.path.count == site.depth {
                let key = shown.key.compactMap { add($0, of: object) }
                let order = (shown.window?.order ?? []).compactMap { add($0.column.field, of: object) }
                uses.append((site.number, .shown(key: key, order: order)))
            }
        }
        for field in object.fields {
            switch field.kind {
            case .reference(_, let object), .single(_, let object): add(object, field.responseKey, sites)
            case .list(let list): add(list, field.responseKey, sites)
            case .column, .typeName, .globalID, .metadata: break
            }
        }
    }

    private mutating func add(_ list: RowList, _ key: String, _ sites: [NumberedSite]) {
        if case .rows(let object) = list.content { add(object, key, sites) }
    }

    private mutating func add(_ object: ObjectSelection, _ key: String, _ sites: [NumberedSite]) {
        let tree = RowsTree(object, sites.compactMap { $0.below(key) })
        if !tree.isEmpty { below.append((Array("\"\(key)\"".utf8), tree)) }
    }

    /// - Returns: the index of the member.
    private mutating func add(_ field: String, of object: ObjectSelection) -> Int? {
        guard let name = object.memberName(of: field) else { return nil }
        let key = Array("\"\(name)\"".utf8)
        if let known = members.firstIndex(where: { $0.key == key }) { return known }
        members.append(Member(key: key, isExtra: name.hasPrefix("~")))
        return members.count - 1
    }
}
