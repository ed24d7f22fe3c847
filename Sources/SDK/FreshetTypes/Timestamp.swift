import JSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An instant with nanoseconds: the scalar `Timestamp`. Reads and writes RFC 3339.
public struct Timestamp: Sendable, Hashable, Comparable, CustomStringConvertible, LosslessStringConvertible {
    /// Since 1970-01-01T00:00:00Z.
    public let seconds: Int64
    /// The fraction, from 0 to 999,999,999.
    public let nanoseconds: Int32

    /// Nil unless the instant is in the years 1 to 9999.
    public init?(seconds: Int64, nanoseconds: Int32 = 0) {
        guard (-62_135_596_800...253_402_300_799).contains(seconds), (0..<1_000_000_000).contains(nanoseconds) else {
            return nil
        }
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// The nearest microsecond of a date; nil outside of the years 1 to 9999.
    public init?(_ date: Date) {
        let microseconds = (date.timeIntervalSince1970 * 1_000_000).rounded()
        guard microseconds.magnitude < 9e17 else { return nil }
        let (seconds, rest) = Int64(microseconds).quotientFloor(1_000_000)
        self.init(seconds: seconds, nanoseconds: Int32(rest) * 1_000)
    }

    /// Milliseconds since 1970; what is beyond the years 1 to 9999 is their nearest second.
    package init(ms: Int64) {
        let (seconds, rest) = ms.quotientFloor(1_000)
        self.seconds = min(max(seconds, -62_135_596_800), 253_402_300_799)
        nanoseconds = Int32(rest) * 1_000_000
    }

    public var date: Date { Date(timeIntervalSince1970: Double(seconds) + Double(nanoseconds) / 1e9) }

    /// Reads `YYYY-MM-DDThh:mm:ss[.fraction](Z|±hh:mm)`; digits beyond nanoseconds are cut off.
    public init?(_ text: String) {
        var reader = DigitReader(text)
        guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"),
            let day = reader.number(2), LocalDate(year: year, month: month, day: day) != nil,
            reader.take("T") || reader.take("t") || reader.take(" "), let hour = reader.number(2), hour < 24,
            reader.take(":"), let minute = reader.number(2), minute < 60, reader.take(":"),
            let second = reader.number(2), second < 60
        else { return nil }
        var nanoseconds: Int32 = 0
        if reader.take(".") {
            guard let fraction = reader.fraction() else { return nil }
            nanoseconds = fraction
        }
        var offset = 0
        if !(reader.take("Z") || reader.take("z")) {
            let isBehind = reader.take("-")
            guard isBehind || reader.take("+"), let hours = reader.number(2), hours < 24, reader.take(":"),
                let minutes = reader.number(2), minutes < 60
            else { return nil }
            offset = (hours * 60 + minutes) * (isBehind ? -60 : 60)
        }
        guard reader.isAtEnd else { return nil }
        let days = CivilDays.days(year, month, day)
        self.init(
            seconds: days * 86_400 + Int64(hour * 3_600 + minute * 60 + second - offset), nanoseconds: nanoseconds)
    }

    /// The text in UTC, with three, six or nine decimals as needed, or none.
    public var description: String {
        let (days, rest) = seconds.quotientFloor(86_400)
        let civil = CivilDays.civil(days)
        func two(_ number: Int64) -> String { CivilDays.padded(Int(number), 2) }
        var text = CivilDays.padded(civil.year, 4) + "-" + two(Int64(civil.month)) + "-" + two(Int64(civil.day))
        text += "T" + two(rest / 3_600) + ":" + two(rest / 60 % 60) + ":" + two(rest % 60)
        if nanoseconds != 0 {
            let digits = CivilDays.padded(Int(nanoseconds), 9)
            let width = digits.hasSuffix("000000") ? 3 : digits.hasSuffix("000") ? 6 : 9
            text += "." + digits.prefix(width)
        }
        return text + "Z"
    }

    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.seconds == right.seconds ? left.nanoseconds < right.nanoseconds : left.seconds < right.seconds
    }
}

extension Timestamp: ResultValue, VariableValue {
    public init(result value: AnyValue) throws(ResultError) {
        guard let timestamp = value.stringValue.flatMap(Timestamp.init) else {
            throw ResultError(expected: "a time of RFC 3339", value)
        }
        self = timestamp
    }

    public var variableValue: AnyValue { description.variableValue }
}

/// 32 hexadecimal digits on the wire, with or without dashes.
extension UUID: ResultValue, VariableValue {
    public init(result value: AnyValue) throws(ResultError) {
        guard let uuid = value.stringValue.flatMap(UUID.init(hex:)) else {
            throw ResultError(expected: "a UUID", value)
        }
        self = uuid
    }

    /// Reads 32 hexadecimal digits, dashes aside.
    package init?(hex text: String) {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in text.utf8 where digit != UInt8(ascii: "-") {
            let nibble: UInt8
            switch digit {
            case 48...57: nibble = digit - 48
            case 97...102: nibble = digit - 87
            case 65...70: nibble = digit - 55
            default: return nil
            }
            if let first = high {
                bytes.append(first << 4 | nibble)
                high = nil
            } else {
                high = nibble
            }
        }
        guard bytes.count == 16, high == nil else { return nil }
        self = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    public var variableValue: AnyValue {
        AnyValue(json: .string(uuidString.filter { $0 != "-" }.lowercased()))
    }
}

/// Reads digits and single characters of ASCII text.
private struct DigitReader {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = text[...].utf8 }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    mutating func number(_ width: Int) -> Int? {
        let digits = rest.prefix(width)
        guard digits.count == width, digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
        rest = rest.dropFirst(width)
        return digits.reduce(0) { $0 * 10 + Int($1) - 48 }
    }

    /// Nanoseconds from the digits after the point.
    mutating func fraction() -> Int32? {
        let digits = rest.prefix { (48...57).contains($0) }
        guard !digits.isEmpty else { return nil }
        rest = rest.dropFirst(digits.count)
        var value: Int32 = 0
        var width = 0
        for digit in digits.prefix(9) {
            value = value * 10 + Int32(digit) - 48
            width += 1
        }
        while width < 9 {
            value *= 10
            width += 1
        }
        return value
    }
}

extension Int64 {
    /// Division that rounds down, and its remainder, which is never negative.
    fileprivate func quotientFloor(_ divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let rest = self % divisor
        return rest < 0 ? (self / divisor - 1, rest + divisor) : (self / divisor, rest)
    }
}
