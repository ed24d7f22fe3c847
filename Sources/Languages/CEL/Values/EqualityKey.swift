/// A hash key with the equality of CEL: two values have equal keys exactly when `celEquals` holds between them.
///
/// Numbers are brought to one form (an integral value to an integer, whatever its type), so `1`, `1u` and `1.0` share a
/// key. Lists, maps and NaN (which equals nothing) have none. Serves hash indexes and the keys of CEL maps.
package struct EqualityKey: Hashable, Sendable {
    private enum Form: Hashable, Sendable {
        case null
        case bool(Bool)
        /// Any integral number in the range of `Int64`.
        case integer(Int64)
        /// An integral number above `Int64.max`, at most `UInt64.max`.
        case largeInteger(UInt64)
        /// A number that is not integral or outside both integer ranges.
        case real(Double)
        case string(StringKey)
        case bytes([UInt8])
        case duration(DurationValue)
        case timestamp(TimestampValue)
        case type(TypeValue)
    }

    private let form: Form

    /// Nil for lists, maps, optional values and NaN.
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
