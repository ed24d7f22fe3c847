package import FreshetTypes
package import JSON

/// A result whose rows are references into the store.
package indirect enum ResultTree: Hashable, Sendable {
    /// A part without rows in it.
    case value(JSONValue)
    case list([ResultTree])
    /// An object that is no row.
    case object([Member])
    /// A row: its scalar fields are those of the record with these names, its other members are here.
    case row(EntityID, fields: [String], members: [Member])

    package struct Member: Hashable, Sendable {
        package let name: String
        package let tree: ResultTree

        package init(name: String, tree: ResultTree) {
            self.name = name
            self.tree = tree
        }
    }
}

/// A result split into a tree and records.
package struct NormalizedResult: Sendable {
    package private(set) var tree = ResultTree.value(.null)
    package private(set) var records: [EntityID: EntityRecord] = [:]

    package init(_ document: JSONValue, _ shape: EntityShape) {
        tree = normalize(document, shape)
    }

    private mutating func normalize(_ value: JSONValue, _ shape: EntityShape) -> ResultTree {
        if shape.type == nil, shape.members.isEmpty { return .value(value) }
        switch value {
        case .array(let elements): return .list(elements.map { normalize($0, shape) })
        case .object(let object):
            guard let type = shape.type, let key = Self.key(object, shape.key) else {
                return .object(object.entries.map { member($0, shape) })
            }
            return row(EntityID(type: type, key: key), type, key, object, shape)
        case .null, .bool, .int, .double, .string: return .value(value)
        }
    }

    private mutating func member(_ entry: JSONObject.Entry, _ shape: EntityShape) -> ResultTree.Member {
        ResultTree.Member(name: entry.key, tree: normalize(entry.value, shape.members[entry.key] ?? .none))
    }

    /// Scalars and lists of scalars are shared between results. Other members depend on what a query selects below
    /// them, so they stay in its tree.
    private mutating func row(
        _ id: EntityID, _ type: String, _ key: [JSONValue], _ object: JSONObject, _ shape: EntityShape
    ) -> ResultTree {
        var fields = JSONObject()
        var names: [String] = []
        var members: [ResultTree.Member] = []
        for entry in object {
            if shape.members[entry.key] == nil, Self.isShared(entry.value) {
                fields[entry.key] = entry.value
                names.append(entry.key)
            } else {
                members.append(member(entry, shape))
            }
        }
        records[id] = records[id]?.merging(fields) ?? EntityRecord(type: type, key: key, fields: fields)
        return .row(id, fields: names, members: members)
    }

    private static func isShared(_ value: JSONValue) -> Bool {
        switch value {
        case .null, .bool, .int, .double, .string: true
        case .array(let elements): elements.allSatisfy(isShared)
        case .object: false
        }
    }

    /// Nil if a part of the key is missing or null.
    private static func key(_ object: JSONObject, _ paths: [String]) -> [JSONValue]? {
        var key: [JSONValue] = []
        for path in paths {
            var value = JSONValue.object(object)
            for name in path.split(separator: ".") {
                guard let member = value[String(name)] else { return nil }
                value = member
            }
            if value.isNull { return nil }
            key.append(value)
        }
        return key.isEmpty ? nil : key
    }
}

extension ResultTree {
    /// The ids of the rows in it.
    package var rows: Set<EntityID> {
        var found: Set<EntityID> = []
        collect(&found)
        return found
    }

    private func collect(_ found: inout Set<EntityID>) {
        switch self {
        case .value: break
        case .list(let elements): for element in elements { element.collect(&found) }
        case .object(let members): for member in members { member.tree.collect(&found) }
        case .row(let id, _, let members):
            found.insert(id)
            for member in members { member.tree.collect(&found) }
        }
    }

    /// The document, its rows read from records. A row without a record is gone: it is left out of lists and null
    /// elsewhere.
    package func document(_ fields: (EntityID) -> JSONObject?) -> JSONValue { resolved(fields) ?? .null }

    private func resolved(_ record: (EntityID) -> JSONObject?) -> JSONValue? {
        switch self {
        case .value(let value): return value
        case .list(let elements): return .array(elements.compactMap { $0.resolved(record) })
        case .object(let members):
            var object = JSONObject()
            for member in members { object[member.name] = member.tree.document(record) }
            return .object(object)
        case .row(let id, let names, let members):
            guard let fields = record(id) else { return nil }
            var object = JSONObject()
            for name in names { object[name] = fields[name] ?? .null }
            for member in members { object[member.name] = member.tree.document(record) }
            return .object(object)
        }
    }

    /// An estimate of the memory that it takes.
    package var bytes: Int {
        switch self {
        case .value(let value): StoreSize.of(value)
        case .list(let elements): elements.reduce(48) { $0 + $1.bytes }
        case .object(let members): members.reduce(48) { $0 + 32 + $1.tree.bytes }
        case .row(_, let fields, let members): members.reduce(96 + 16 * fields.count) { $0 + 32 + $1.tree.bytes }
        }
    }
}

// MARK: The stored form

extension ResultTree {
    /// `["v",value]`, `["l",tree…]`, `["o",{name: tree}]`, `["r",id,[field…],{name: tree}]`.
    package var stored: JSONValue {
        switch self {
        case .value(let value): ["v", value]
        case .list(let elements): .array(["l"] + elements.map(\.stored))
        case .object(let members): ["o", Self.stored(members)]
        case .row(let id, let fields, let members):
            ["r", .string(id.description), .array(fields.map(JSONValue.string)), Self.stored(members)]
        }
    }

    private static func stored(_ members: [Member]) -> JSONValue {
        .object(JSONObject(members.map { ($0.name, $0.tree.stored) }))
    }

    /// Nil for anything else than `stored` makes.
    package init?(stored value: JSONValue) {
        switch value[0]?.stringValue {
        case "v":
            guard let value = value[1] else { return nil }
            self = .value(value)
        case "l":
            var elements: [ResultTree] = []
            for element in value.arrayValue?.dropFirst() ?? [] {
                guard let tree = ResultTree(stored: element) else { return nil }
                elements.append(tree)
            }
            self = .list(elements)
        case "o":
            guard let members = Self.members(value[1]) else { return nil }
            self = .object(members)
        case "r":
            guard let id = value[1]?.stringValue, let names = value[2]?.arrayValue, let members = Self.members(value[3])
            else { return nil }
            self = .row(EntityID(id), fields: names.compactMap(\.stringValue), members: members)
        default: return nil
        }
    }

    private static func members(_ value: JSONValue?) -> [Member]? {
        guard let object = value?.objectValue else { return nil }
        var members: [Member] = []
        for entry in object {
            guard let tree = ResultTree(stored: entry.value) else { return nil }
            members.append(Member(name: entry.key, tree: tree))
        }
        return members
    }
}

extension ResultTree {
    /// Whether it shows one of these fields of a row.
    func shows(_ id: EntityID, _ names: [String]) -> Bool {
        switch self {
        case .value: false
        case .list(let elements): elements.contains { $0.shows(id, names) }
        case .object(let members): members.contains { $0.tree.shows(id, names) }
        case .row(let row, let fields, let members):
            row == id && names.contains(where: fields.contains) || members.contains { $0.tree.shows(id, names) }
        }
    }
}
