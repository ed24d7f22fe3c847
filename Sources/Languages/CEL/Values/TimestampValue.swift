/// A point in time between 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999999Z.
package struct TimestampValue: Sendable, Hashable, Comparable {
    /// Seconds since 1970-01-01T00:00:00Z, rounded down.
    package let seconds: Int64
    /// 0..<1_000_000_000
    package let nanoseconds: Int32

    static let secondsRange: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

    /// Returns nil if out of range.
    package init?(seconds: Int64, nanoseconds: Int32 = 0) {
        guard Self.secondsRange.contains(seconds), (0..<1_000_000_000).contains(nanoseconds) else { return nil }
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    package static func < (left: TimestampValue, right: TimestampValue) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }

    /// Returns nil if the result is out of range.
    func adding(nanoseconds delta: Int64) -> TimestampValue? {
        var (wholeSeconds, rest) = delta.quotientAndRemainder(dividingBy: DurationValue.perSecond)
        rest += Int64(nanoseconds)
        if rest < 0 {
            rest += DurationValue.perSecond
            wholeSeconds -= 1
        } else if rest >= DurationValue.perSecond {
            rest -= DurationValue.perSecond
            wholeSeconds += 1
        }
        return TimestampValue(seconds: seconds + wholeSeconds, nanoseconds: Int32(rest))
    }

    /// Returns the time from `other` to this one; nil if a duration cannot hold it.
    func since(_ other: TimestampValue) -> DurationValue? {
        DurationValue(seconds: seconds - other.seconds, nanoseconds: Int64(nanoseconds) - Int64(other.nanoseconds))
    }
}

extension TimestampValue {
    /// Parses RFC 3339 with up to nine decimals of a second and `Z` or a numeric offset. Returns nil if malformed or
    /// out of range.
    package init?(_ text: String) {
        var reader = FixedReader(bytes: Array(text.utf8))
        guard let year = reader.number(digits: 4), reader.skip("-"), let month = reader.number(digits: 2),
            reader.skip("-"), let day = reader.number(digits: 2), reader.skip("T") || reader.skip("t"),
            let hour = reader.number(digits: 2), reader.skip(":"), let minute = reader.number(digits: 2),
            reader.skip(":"), let second = reader.number(digits: 2)
        else { return nil }
        var nanoseconds = 0
        if reader.skip(".") {
            guard let fraction = reader.fraction() else { return nil }
            nanoseconds = fraction
        }
        guard let offsetSeconds = reader.offsetSeconds(), reader.isAtEnd else { return nil }
        let date = CivilDate(year: year, month: month, day: day)
        guard date.isValid, hour < 24, minute < 60, second < 60 else { return nil }
        let seconds = date.daysSinceEpoch * 86_400 + hour * 3_600 + minute * 60 + second - offsetSeconds
        self.init(seconds: Int64(seconds), nanoseconds: Int32(nanoseconds))
    }

    /// The timestamp in RFC 3339, in UTC with as many decimals as needed, for example `2009-02-13T23:31:30.5Z`.
    package var text: String {
        let local = LocalTime(self, offsetSeconds: 0)
        let date =
            padded(local.date.year, 4) + "-" + padded(local.date.month, 2) + "-" + padded(local.date.day, 2)
        let time = padded(local.hour, 2) + ":" + padded(local.minute, 2) + ":" + padded(local.second, 2)
        return date + "T" + time + fractionText(nanoseconds: Int64(nanoseconds)) + "Z"
    }
}

private func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
}

/// A timestamp in local time.
struct LocalTime {
    let date: CivilDate
    let hour: Int
    let minute: Int
    let second: Int

    init(_ timestamp: TimestampValue, offsetSeconds: Int) {
        let seconds = Int(timestamp.seconds) + offsetSeconds
        let days = seconds >= 0 ? seconds / 86_400 : -((86_399 - seconds) / 86_400)
        let secondOfDay = seconds - days * 86_400
        date = CivilDate(daysSinceEpoch: days)
        hour = secondOfDay / 3_600
        minute = secondOfDay / 60 % 60
        second = secondOfDay % 60
    }
}

/// Reads the fixed-width fields of a timestamp.
struct FixedReader {
    private var rest: ArraySlice<UInt8>

    init(bytes: [UInt8]) {
        rest = bytes[...]
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard let byte = rest.first, UInt32(byte) == character.value else { return false }
        rest.removeFirst()
        return true
    }

    mutating func number(digits: Int) -> Int? {
        guard rest.count >= digits else { return nil }
        var value = 0
        for byte in rest.prefix(digits) {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            value = value * 10 + Int(byte - UInt8(ascii: "0"))
        }
        rest = rest.dropFirst(digits)
        return value
    }

    /// Reads one to nine decimals, as nanoseconds.
    mutating func fraction() -> Int? {
        var value = 0
        var count = 0
        while let digit = number(digits: 1) {
            count += 1
            guard count <= 9 else { return nil }
            value = value * 10 + digit
        }
        guard count > 0 else { return nil }
        for _ in count..<9 { value *= 10 }
        return value
    }

    /// Reads `Z`, or a sign, hours, colon and minutes.
    mutating func offsetSeconds() -> Int? {
        if skip("Z") || skip("z") { return 0 }
        let isNegative = skip("-")
        guard isNegative || skip("+") else { return nil }
        guard let hours = number(digits: 2), skip(":"), let minutes = number(digits: 2), hours < 24, minutes < 60
        else { return nil }
        return (isNegative ? -1 : 1) * (hours * 3_600 + minutes * 60)
    }
}
