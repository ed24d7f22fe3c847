/// A hash key with CEL's equality: two values have equal keys exactly when `Value.equals` holds for them.
///
/// Numbers are normalised (an integral value becomes an integer, whatever its type), so `1`, `1u` and `1.0` share a
/// key. Lists, maps and NaN, which equals nothing, have no key. Used for hash indexes and for the keys of CEL maps.
package struct EqualityKey: Hashable, Sendable {
    private enum Form: Hashable, Sendable {
        case null
        case bool(Bool)
        /// An integral number in the range of `Int64`.
        case integer(Int64)
        /// An integral number above `Int64.max`, up to `UInt64.max`.
        case largeInteger(UInt64)
        /// A number that is not integral, or outside both integer ranges.
        case real(Double)
        case string(StringKey)
        case bytes([UInt8])
        case duration(DurationValue)
        case timestamp(TimestampValue)
        case type(TypeValue)
    }

    private let form: Form

    /// Returns nil for lists, maps, optional values and NaN.
    package init?(_ value: Value) {
        switch value {
        case .null: form = .null
        case .bool(let value): form = .bool(value)
        case .int(let value): form = .integer(value)
        case .uint(let value): form = Int64(exactly: value).map(Form.integer) ?? .largeInteger(value)
        case .double(let value):
            if value.isNaN { return nil }
            if let integer = Int64(exactly: value) {
                form = .integer(integer)
            } else if let integer = UInt64(exactly: value) {
                form = .largeInteger(integer)
            } else {
                form = .real(value)
            }
        case .string(let value): form = .string(StringKey(value))
        case .bytes(let value): form = .bytes(value)
        case .duration(let value): form = .duration(value)
        case .timestamp(let value): form = .timestamp(value)
        case .type(let value): form = .type(value)
        case .list, .map, .optional: return nil
        }
    }
}
