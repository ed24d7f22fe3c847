/// The members of a JSON object, ordered by the first appearance of their keys; the last value of a duplicate key wins.
///
/// Lookups scan up to `linearMax` members; larger objects keep a dictionary of positions. Keys are compared by their
/// UTF-8 bytes.
package struct JSONObject: Sendable {
    package struct Entry: Sendable {
        package let key: String
        package fileprivate(set) var value: JSONValue
    }

    static let linearMax = 12

    private var storage: [Entry]
    /// The position of each key in `storage`; nil up to `linearMax` members.
    private var positions: [ByteKey: Int]?

    package init() {
        storage = []
    }

    package init(_ members: some Sequence<(String, JSONValue)>) {
        self.init()
        for (key, value) in members { set(key, value) }
    }

    package var count: Int { storage.count }
    package var isEmpty: Bool { storage.isEmpty }
    package var keys: some Sequence<String> { storage.lazy.map(\.key) }
    package var entries: [Entry] { storage }

    /// The value for a key. Setting nil removes the member, in linear time.
    package subscript(key: String) -> JSONValue? {
        get {
            position(of: key).map { storage[$0].value }
        }
        set {
            if let newValue { set(key, newValue) } else { remove(key) }
        }
    }

    package func contains(_ key: String) -> Bool {
        position(of: key) != nil
    }

    mutating func reserveCapacity(_ count: Int) {
        storage.reserveCapacity(count)
    }

    /// The same object without room for further members, to be kept for long.
    package var compacted: JSONObject {
        guard storage.capacity > storage.count else { return self }
        var copy = self
        copy.storage = storage.map { $0 }
        return copy
    }

    mutating func set(_ key: String, _ value: JSONValue) {
        if let position = position(of: key) {
            storage[position].value = value
            return
        }
        storage.append(Entry(key: key, value: value))
        if positions != nil {
            positions?[ByteKey(key)] = storage.count - 1
        } else if storage.count > Self.linearMax {
            index()
        }
    }

    private mutating func remove(_ key: String) {
        guard let position = position(of: key) else { return }
        storage.remove(at: position)
        positions = nil
        if storage.count > Self.linearMax { index() }
    }

    private mutating func index() {
        var positions: [ByteKey: Int] = [:]
        positions.reserveCapacity(storage.count * 2)
        for (position, entry) in storage.enumerated() { positions[ByteKey(entry.key)] = position }
        self.positions = positions
    }

    private func position(of key: String) -> Int? {
        if let positions { return positions[ByteKey(key)] }
        for position in storage.indices where storage[position].key.sameBytes(as: key) {
            return position
        }
        return nil
    }
}

extension JSONObject: Hashable {
    package static func == (left: JSONObject, right: JSONObject) -> Bool {
        guard left.count == right.count else { return false }
        return left.storage.allSatisfy { entry in right[entry.key] == entry.value }
    }

    package func hash(into hasher: inout Hasher) {
        // Order does not matter for equality, so the members' hashes are added up.
        var sum = 0
        for entry in storage {
            var member = Hasher()
            ByteKey(entry.key).hash(into: &member)
            entry.value.hash(into: &member)
            sum &+= member.finalize()
        }
        hasher.combine(storage.count)
        hasher.combine(sum)
    }
}

extension JSONObject: Sequence {
    package func makeIterator() -> IndexingIterator<[Entry]> {
        storage.makeIterator()
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements)
    }
}
