/// A CEL map: immutable, in insertion order, shared by reference when copied.
///
/// Lookups in maps with string keys only (JSON objects) build no key value; small ones scan, which is faster than
/// hashing up to about eight entries. Other maps use `EqualityKey`, so that `{1: 'a'}[1.0]` finds its entry.
package struct MapValue: Sendable {
    /// Either `strings` or `mixed` holds the keys. `positions` and `mixedPositions` are empty if the map is scanned.
    private final class Storage: Sendable {
        let values: [Value]
        let strings: [String]
        let positions: [StringKey: Int]
        let mixed: [Value]
        let mixedPositions: [EqualityKey: Int]

        init(strings: [String], positions: [StringKey: Int] = [:], values: [Value]) {
            self.strings = strings
            self.positions = positions
            self.values = values
            mixed = []
            mixedPositions = [:]
        }

        init(mixed: [Value], positions: [EqualityKey: Int], values: [Value]) {
            self.mixed = mixed
            self.values = values
            mixedPositions = positions
            strings = []
            self.positions = [:]
        }
    }

    private static let scanCountMax = 8

    private let storage: Storage

    package static let empty = MapValue([(String, Value)]())

    private init(_ storage: Storage) {
        self.storage = storage
    }

    /// Creates a map with string keys; the last entry with a key wins.
    package init(_ entries: [(String, Value)]) {
        var keys: [String] = []
        var values: [Value] = []
        keys.reserveCapacity(entries.count)
        values.reserveCapacity(entries.count)
        if entries.count <= Self.scanCountMax {
            for (key, value) in entries {
                if let position = keys.firstIndex(where: { sameCodePoints($0, key) }) {
                    values[position] = value
                } else {
                    keys.append(key)
                    values.append(value)
                }
            }
            storage = Storage(strings: keys, values: values)
            return
        }
        var positions: [StringKey: Int] = [:]
        positions.reserveCapacity(entries.count)
        for (key, value) in entries {
            if let position = positions[StringKey(key)] {
                values[position] = value
            } else {
                positions[StringKey(key)] = keys.count
                keys.append(key)
                values.append(value)
            }
        }
        storage = Storage(strings: keys, positions: positions, values: values)
    }

    /// Creates a map from a dictionary, sorted by key.
    package init(_ entries: [String: Value]) {
        self.init(entries.sorted { precedesByCodePoint($0.key, $1.key) }.map { ($0.key, $0.value) })
    }

    /// The reason why entries do not form a map.
    package enum EntryProblem: Error {
        case unsupportedKeyType
        case repeatedKey
    }

    /// Creates a map with keys of any allowed type (bool, int, uint, string).
    package init(entries: [(key: Value, value: Value)]) throws(EntryProblem) {
        var strings: [(String, Value)] = []
        strings.reserveCapacity(entries.count)
        for case (.string(let key), let value) in entries { strings.append((key, value)) }
        if strings.count == entries.count {
            self = MapValue(strings)
            if count != entries.count { throw .repeatedKey }
            return
        }
        var positions: [EqualityKey: Int] = [:]
        positions.reserveCapacity(entries.count)
        for (position, entry) in entries.enumerated() {
            switch entry.key {
            case .bool, .int, .uint, .string: break
            default: throw .unsupportedKeyType
            }
            guard let key = EqualityKey(entry.key) else { throw .unsupportedKeyType }
            if positions.updateValue(position, forKey: key) != nil { throw .repeatedKey }
        }
        self = MapValue(Storage(mixed: entries.map(\.key), positions: positions, values: entries.map(\.value)))
    }

    package var count: Int { storage.values.count }

    /// Returns the value for a string key.
    package subscript(key: String) -> Value? {
        let storage = self.storage
        if storage.strings.count <= Self.scanCountMax {
            for position in 0..<storage.strings.count where sameCodePoints(storage.strings[position], key) {
                return storage.values[position]
            }
            return storage.mixed.isEmpty ? nil : mixedValue(forKey: .string(key))
        }
        return storage.positions[StringKey(key)].map { storage.values[$0] }
    }

    private func mixedValue(forKey key: Value) -> Value? {
        EqualityKey(key).flatMap { storage.mixedPositions[$0] }.map { storage.values[$0] }
    }

    /// Returns the value for a key that equals `key` by CEL's equality.
    package func value(forKey key: Value) -> Value? {
        if case .string(let text) = key { return self[text] }
        return storage.mixed.isEmpty ? nil : mixedValue(forKey: key)
    }

    /// Returns the key at `position` in insertion order; `position` must be in `0..<count`.
    package func key(at position: Int) -> Value {
        storage.mixed.isEmpty ? .string(storage.strings[position]) : storage.mixed[position]
    }

    /// Returns the value at `position` in insertion order; `position` must be in `0..<count`.
    package func value(at position: Int) -> Value {
        storage.values[position]
    }

    /// All entries in insertion order.
    package var entries: [(key: Value, value: Value)] {
        (0..<count).map { (key(at: $0), value(at: $0)) }
    }
}
