#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A day of the Gregorian calendar without a time zone: the scalar `Date`. Four bytes; no calendar, no locale.
public struct LocalDate: Sendable, Hashable, Comparable, CustomStringConvertible, LosslessStringConvertible {
    /// Year × 512 + month × 32 + day, which orders days.
    private let packed: Int32

    public var year: Int { Int(packed >> 9) }
    public var month: Int { Int(packed >> 5 & 15) }
    public var day: Int { Int(packed & 31) }

    /// Nil unless this is a day of the years 1 to 9999.
    public init?(year: Int, month: Int, day: Int) {
        guard (1...9_999).contains(year), (1...12).contains(month),
            (1...CivilDays.daysOfMonth(year, month)).contains(day)
        else { return nil }
        packed = Int32(year << 9 | month << 5 | day)
    }

    /// Reads `YYYY-MM-DD`.
    public init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard text.utf8.count == 10, parts.count == 3, parts.allSatisfy({ $0.allSatisfy { (48...57).contains($0) } }),
            parts[0].count == 4, parts[1].count == 2, let year = Int(Substring(parts[0])),
            let month = Int(Substring(parts[1])), let day = Int(Substring(parts[2]))
        else { return nil }
        self.init(year: year, month: month, day: day)
    }

    /// The day of an instant in UTC.
    public init?(utcDayOf date: Date) {
        let civil = CivilDays.civil(Int64((date.timeIntervalSince1970 / 86_400).rounded(.down)))
        self.init(year: civil.year, month: civil.month, day: civil.day)
    }

    /// Midnight in UTC.
    public var utcMidnight: Date {
        Date(timeIntervalSince1970: Double(CivilDays.days(year, month, day)) * 86_400)
    }

    public var description: String {
        CivilDays.padded(year, 4) + "-" + CivilDays.padded(month, 2) + "-" + CivilDays.padded(day, 2)
    }

    public static func < (left: LocalDate, right: LocalDate) -> Bool { left.packed < right.packed }
}

extension LocalDate: ResultValue, VariableValue {
    public init(result value: AnyValue) throws(ResultError) {
        guard let date = value.stringValue.flatMap(LocalDate.init) else {
            throw ResultError(expected: "a date YYYY-MM-DD", value)
        }
        self = date
    }

    public var variableValue: AnyValue { description.variableValue }
}

extension LocalDate: Codable {
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let date = LocalDate(text) else {
            throw ResultError(expected: "a date YYYY-MM-DD", found: "another text")
        }
        self = date
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// Days of the proleptic Gregorian calendar. Source: Howard Hinnant, "chrono-compatible low-level date algorithms".
enum CivilDays {
    static func daysOfMonth(_ year: Int, _ month: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01.
    static func days(_ year: Int, _ month: Int, _ day: Int) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return Int64(era * 146_097 + dayOfEra - 719_468)
    }

    static func civil(_ days: Int64) -> (year: Int, month: Int, day: Int) {
        let shifted = Int(days) + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
