/// A dictionary that forgets its oldest keys beyond a bound.
struct BoundedTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    let countMax: Int
    private var values: [Key: Value] = [:]
    /// The keys in the order in which they came; a key that was removed stays until its turn.
    private var order: [Key] = []
    private var first = 0

    init(countMax: Int) {
        self.countMax = countMax
    }

    var count: Int { values.count }

    subscript(key: Key) -> Value? { values[key] }

    mutating func set(_ key: Key, _ value: Value) {
        guard values.updateValue(value, forKey: key) == nil else { return }
        order.append(key)
        while order.count - first > countMax {
            values[order[first]] = nil
            first += 1
        }
        if first > countMax {
            order.removeFirst(first)
            first = 0
        }
    }

    mutating func remove(_ key: Key) -> Value? { values.removeValue(forKey: key) }
}
