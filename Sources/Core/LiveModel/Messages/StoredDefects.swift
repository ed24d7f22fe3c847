/// Values read from Redis that no node writes: they were clamped to their range or left out when they were decoded.
package struct StoredDefects: Sendable, Hashable {
    package private(set) var count = 0
    /// A description of the first one; empty if there is none.
    package private(set) var first = ""

    /// The maximum length of the description; the value may be anything.
    private static let textMax = 120

    package init() {}

    package var isEmpty: Bool { count == 0 }

    package mutating func add(_ what: @autoclosure () -> String) {
        if count == 0 { first = String(what().prefix(Self.textMax)) }
        count += 1
    }

    package mutating func add(_ other: StoredDefects) {
        if count == 0 { first = other.first }
        count += other.count
    }

    /// Returns the value in its range, and counts a value that was outside.
    mutating func clamped<Value: BinaryInteger>(_ number: Int64, to value: Value, _ name: String) -> Value {
        if Int64(value) != number { add("\(name): \(number)") }
        return value
    }
}
