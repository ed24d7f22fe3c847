/// The order of two values (langdef "Ordering"), which must be of one type or both numeric. An integer is compared with
/// a double as the nearest double, as in the reference implementation; equality (`Equality.swift`) is exact.
enum Order {
    case ascending
    case same
    case descending
    /// At least one is NaN: every comparison is false.
    case unordered

    fileprivate init<T: Comparable>(_ left: T, _ right: T) {
        self = left < right ? .ascending : left == right ? .same : .descending
    }

    fileprivate init(_ left: Double, _ right: Double) {
        self = left < right ? .ascending : left == right ? .same : left > right ? .descending : .unordered
    }
}

extension Value {
    /// Returns nil if the two types have no common order.
    func order(relativeTo other: Value) -> Order? {
        switch (self, other) {
        case (.int(let left), .int(let right)): Order(left, right)
        case (.uint(let left), .uint(let right)): Order(left, right)
        case (.double(let left), .double(let right)): Order(left, right)
        case (.string(let left), .string(let right)): orderByCodePoint(left, right)
        case (.bool(let left), .bool(let right)): Order(left ? 1 : 0, right ? 1 : 0)
        case (.bytes(let left), .bytes(let right)):
            left == right ? .same : left.lexicographicallyPrecedes(right) ? .ascending : .descending
        case (.timestamp(let left), .timestamp(let right)): Order(left, right)
        case (.duration(let left), .duration(let right)): Order(left, right)
        case (.int(let left), .uint(let right)): left < 0 ? .ascending : Order(UInt64(left), right)
        case (.uint(let left), .int(let right)): right < 0 ? .descending : Order(left, UInt64(right))
        case (.int(let left), .double(let right)): Order(Double(left), right)
        case (.double(let left), .int(let right)): Order(left, Double(right))
        case (.uint(let left), .double(let right)): Order(Double(left), right)
        case (.double(let left), .uint(let right)): Order(left, Double(right))
        default: nil
        }
    }
}

/// Compares by code point, which is also the order of UTF-8 bytes.
func precedesByCodePoint(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
}

private func orderByCodePoint(_ left: String, _ right: String) -> Order {
    if sameCodePoints(left, right) { return .same }
    return precedesByCodePoint(left, right) ? .ascending : .descending
}
