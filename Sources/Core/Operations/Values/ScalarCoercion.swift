import CEL
package import JSON
package import SchemaModel

/// Converts a JSON value to the canonical form of its scalar type.
///
/// Canonical forms: a UUID has 32 lower-case hexadecimal digits, an Int64 is a JSON integer (so that CEL sees an int),
/// a Float is a double even if written `3`, a Date is `YYYY-MM-DD`, and a Timestamp is RFC 3339 in UTC with six
/// decimals (Postgres stores microseconds). Source: docs/reference/sql-connect.md §5.3 and
/// §5.7.
package struct ScalarCoercion: Sendable {
    /// The deepest nesting of lists and objects in a value of type `Any`.
    static let depthMax = 64

    package let enums: [String: EnumType]

    package init(enums: [String: EnumType]) {
        self.enums = enums
    }

    package struct Mismatch: Error, Sendable {
        /// Completes "expected …", for example `a UUID`.
        let expected: String
    }

    /// Coerces a value to a column's type; null stays null.
    package func coerce(_ value: JSONValue, to type: ColumnType) throws(Mismatch) -> JSONValue {
        if value.isNull { return .null }
        guard type.isList else { return try coerce(value, to: type.scalar) }
        guard let elements = value.arrayValue else { throw Mismatch(expected: "a list") }
        var values: [JSONValue] = []
        values.reserveCapacity(elements.count)
        for element in elements { values.append(element.isNull ? .null : try coerce(element, to: type.scalar)) }
        return .array(values)
    }

    func coerce(_ value: JSONValue, to scalar: ScalarType) throws(Mismatch) -> JSONValue {
        switch scalar {
        case .uuid:
            guard let text = value.stringValue, let uuid = ScalarText.canonicalUUID(text) else {
                throw Mismatch(expected: "a UUID")
            }
            return .string(uuid)
        case .string:
            guard let text = value.stringValue else { throw Mismatch(expected: "a string") }
            return .string(try Self.storable(text))
        case .int:
            guard let number = value.intValue, let int = Int32(exactly: number) else {
                throw Mismatch(expected: "a 32-bit integer")
            }
            return .int(Int64(int))
        case .int64:
            return .int(try Self.int64(value))
        case .float:
            guard let number = value.doubleValue, number.isFinite else { throw Mismatch(expected: "a finite number") }
            return .double(number)
        case .boolean:
            guard let flag = value.boolValue else { throw Mismatch(expected: "true or false") }
            return .bool(flag)
        case .date:
            guard let text = value.stringValue, let date = Self.date(text) else {
                throw Mismatch(expected: "a date, YYYY-MM-DD")
            }
            return .string(date)
        case .timestamp:
            guard let text = value.stringValue, let time = Self.timestamp(text) else {
                throw Mismatch(expected: "a time, RFC 3339 with offset")
            }
            return .string(time)
        case .any:
            try Self.checkAny(value, depth: 0)
            return value
        case .vector: return try Self.vector(value)
        case .enumeration(let name):
            let values = enums[name]?.values ?? []
            guard let text = value.stringValue, values.contains(text) else {
                throw Mismatch(expected: "a value of \(name)")
            }
            return .string(text)
        }
    }

    /// Coerces a vector, whose elements pgvector stores in single precision.
    private static func vector(_ value: JSONValue) throws(Mismatch) -> JSONValue {
        guard let elements = value.arrayValue, !elements.isEmpty,
            elements.count <= Int(ColumnDataType.vectorSizeMax)
        else { throw Mismatch(expected: "a list of numbers") }
        var numbers: [JSONValue] = []
        numbers.reserveCapacity(elements.count)
        for element in elements {
            guard let number = element.doubleValue, Float(number).isFinite else {
                throw Mismatch(expected: "a list of finite numbers")
            }
            numbers.append(.double(number))
        }
        return .array(numbers)
    }

    /// Rejects U+0000, which Postgres cannot store in text.
    private static func storable(_ text: String) throws(Mismatch) -> String {
        guard !text.utf8.contains(0) else { throw Mismatch(expected: "a string without the character U+0000") }
        return text
    }

    private static func int64(_ value: JSONValue) throws(Mismatch) -> Int64 {
        if let text = value.stringValue {
            // `Int64("+1")` would succeed.
            guard let number = Int64(text), !text.hasPrefix("+") else {
                throw Mismatch(expected: "a 64-bit integer, as a number or a decimal string")
            }
            return number
        }
        guard let number = value.intValue else {
            throw Mismatch(expected: "a 64-bit integer, as a number or a decimal string")
        }
        return number
    }

    private static func date(_ text: String) -> String? {
        let day = text.prefix { $0 != "T" && $0 != "t" }
        guard ScalarText.isDate(day), day >= "0001" else { return nil }
        return String(day)
    }

    /// 1583-01-01T00:00:00Z, the start of the supported range.
    static let firstSecond: Int64 = -12_212_553_600

    private static func timestamp(_ text: String) -> String? {
        var bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.count <= 35 else { return nil }
        // RFC 3339 §5.6 allows lower-case letters, and a space instead of the T.
        if bytes[10] == UInt8(ascii: " ") || bytes[10] == UInt8(ascii: "t") { bytes[10] = UInt8(ascii: "T") }
        if bytes[bytes.count - 1] == UInt8(ascii: "z") { bytes[bytes.count - 1] = UInt8(ascii: "Z") }
        guard let time = TimestampValue(String(decoding: bytes, as: UTF8.self)), time.seconds >= firstSecond else {
            return nil
        }
        return TimeText.text(of: time)
    }

    /// Checks that numbers are finite and texts do not contain U+0000, which jsonb rejects too.
    private static func checkAny(_ value: JSONValue, depth: Int) throws(Mismatch) {
        switch value {
        case .null, .bool, .int: return
        case .double(let number):
            guard number.isFinite else { throw Mismatch(expected: "finite numbers") }
        case .string(let text): _ = try storable(text)
        case .array(let elements):
            try checkDepth(depth)
            for element in elements { try checkAny(element, depth: depth + 1) }
        case .object(let object):
            try checkDepth(depth)
            for entry in object {
                _ = try storable(entry.key)
                try checkAny(entry.value, depth: depth + 1)
            }
        }
    }

    private static func checkDepth(_ depth: Int) throws(Mismatch) {
        guard depth < depthMax else { throw Mismatch(expected: "at most \(depthMax) levels of lists and objects") }
    }
}

/// Formats timestamps in the canonical form of variables, parameters and keys.
enum TimeText {
    /// Formats a timestamp as `2026-01-31T12:00:00.500000Z`; digits beyond microseconds are truncated.
    static func text(of time: TimestampValue) -> String {
        // The seconds of CEL's text end at byte 19; its fraction has a variable length.
        var bytes = Array(time.text.utf8.prefix(19))
        bytes.append(UInt8(ascii: "."))
        var unit: Int32 = 100_000_000
        while unit >= 1_000 {
            bytes.append(UInt8(ascii: "0") + UInt8(time.nanoseconds / unit % 10))
            unit /= 10
        }
        bytes.append(UInt8(ascii: "Z"))
        return String(decoding: bytes, as: UTF8.self)
    }

    static func time(ofMs milliseconds: Int64) -> TimestampValue? {
        let seconds = milliseconds >= 0 ? milliseconds / 1_000 : (milliseconds - 999) / 1_000
        return TimestampValue(seconds: seconds, nanoseconds: Int32(milliseconds - seconds * 1_000) * 1_000_000)
    }
}
