import CEL
import JSON
import LiveModel
import SchemaModel

/// A `Timestamp_Relative` or `Date_Relative`: a time relative to the request or to a given one. Source:
/// docs/reference/sql-connect.md §5.5, `{now|at, add, sub, truncateTo}` and `{today|on, add, sub, truncateTo}`.
///
/// Uses the ISO 8601 calendar in UTC. As in Postgres, months and years are added first, and a day past the end of its
/// month becomes the last day. Weeks begin on Monday.
package struct RelativeTime: Sendable {
    package enum Unit: String, Sendable, CaseIterable {
        case milliseconds, seconds, minutes, hours, days, weeks, months, years

        static let ofDates: [Unit] = [.days, .weeks, .months, .years]

        fileprivate var milliseconds: Int64? {
            switch self {
            case .milliseconds: 1
            case .seconds: 1_000
            case .minutes: 60_000
            case .hours: 3_600_000
            case .days: 86_400_000
            case .weeks: 604_800_000
            case .months, .years: nil
            }
        }
    }

    enum Interval: String, Sendable, CaseIterable {
        case second = "SECOND"
        case minute = "MINUTE"
        case hour = "HOUR"
        case day = "DAY"
        case week = "WEEK"
        case month = "MONTH"
        case year = "YEAR"

        static let ofDates: [Interval] = [.week, .month, .year]
    }

    /// A number of units; zero if null or not sent.
    struct Amount: Sendable {
        let unit: Unit
        let count: Operand.Source
    }

    let isDate: Bool
    /// Nil for the time of the request.
    let base: Operand.Source?
    let add: [Amount]
    let subtract: [Amount]
    let truncateTo: Interval?

    /// Creates the relative time from a validated value in a variable; operands are read from there.
    init(_ value: JSONValue, isDate: Bool, _ variable: String, _ path: [String]) {
        let given = isDate ? "on" : "at"
        let hasBase = !(value[given]?.isNull ?? true)
        self.init(
            isDate: isDate, base: hasBase ? .variable(variable, path: path + [given]) : nil,
            add: Self.amounts(value["add"], variable, path + ["add"]),
            subtract: Self.amounts(value["sub"], variable, path + ["sub"]),
            truncateTo: value["truncateTo"]?.stringValue.flatMap(Interval.init(rawValue:)))
    }

    static func amounts(_ value: JSONValue?, _ variable: String, _ path: [String]) -> [Amount] {
        (value?.objectValue?.entries ?? []).compactMap { entry in
            Unit(rawValue: entry.key).map { Amount(unit: $0, count: .variable(variable, path: path + [entry.key])) }
        }
    }

    init(isDate: Bool, base: Operand.Source?, add: [Amount], subtract: [Amount], truncateTo: Interval?) {
        self.isDate = isDate
        self.base = base
        self.add = add
        self.subtract = subtract
        self.truncateTo = truncateTo
    }

    var identity: String {
        func text(_ amounts: [Amount]) -> String {
            amounts.map { "\($0.unit.rawValue)\($0.count.identity)" }.joined(separator: ",")
        }
        return
            "relative(\(isDate)|\(base?.identity ?? "now")|\(text(add))|\(text(subtract))"
            + "|\(truncateTo?.rawValue ?? ""))"
    }

    /// Returns the time in canonical form; null if the base is null.
    /// - Throws: `.invalidVariable` if the result is outside the years 1583 to 9999.
    func value(in invocation: Invocation) throws(RequestError) -> JSONValue {
        guard var time = try start(in: invocation) else { return .null }
        time = try apply(add, sign: 1, to: time, invocation)
        time = try apply(subtract, sign: -1, to: time, invocation)
        if let truncateTo { time = time.truncated(to: truncateTo) }
        guard let text = time.text else { throw Self.outOfRange }
        return .string(isDate ? String(text.prefix(10)) : text)
    }

    private static let outOfRange = RequestError(.invalidVariable, "a relative time is out of range")

    private func start(in invocation: Invocation) throws(RequestError) -> CalendarTime? {
        guard let base else {
            let now = CalendarTime(milliseconds: invocation.nowMs)
            return isDate ? now.truncated(to: .day) : now
        }
        let type = ColumnType(isDate ? .date : .timestamp)
        guard let text = try base.value(as: type, in: invocation).stringValue else { return nil }
        guard let time = TimestampValue(isDate ? text + "T00:00:00Z" : text) else { throw Self.outOfRange }
        return CalendarTime(time)
    }

    private func apply(
        _ amounts: [Amount], sign: Int64, to time: CalendarTime, _ invocation: Invocation
    ) throws(RequestError) -> CalendarTime {
        var months: Int64 = 0
        var milliseconds: Int64 = 0
        for amount in amounts {
            let count = try amount.count.value(as: ColumnType(.int), in: invocation).intValue ?? 0
            switch amount.unit {
            case .months: months += count
            case .years: months += count * 12
            case .milliseconds, .seconds, .minutes, .hours, .days, .weeks:
                milliseconds += count * (amount.unit.milliseconds ?? 0)
            }
        }
        guard let moved = time.adding(months: sign * months, milliseconds: sign * milliseconds) else {
            throw Self.outOfRange
        }
        return moved
    }
}

/// A point in time, as days and time of day in UTC.
struct CalendarTime: Sendable {
    private static let dayMs: Int64 = 86_400_000

    /// Days since 1970-01-01.
    private var days: Int64
    /// Microseconds since midnight.
    private var microseconds: Int64

    init(milliseconds: Int64) {
        days = (milliseconds >= 0 ? milliseconds : milliseconds - (Self.dayMs - 1)) / Self.dayMs
        microseconds = (milliseconds - days * Self.dayMs) * 1_000
    }

    init(_ time: TimestampValue) {
        self.init(milliseconds: time.seconds * 1_000)
        microseconds += Int64(time.nanoseconds / 1_000)
    }

    /// Returns nil if out of range.
    func adding(months: Int64, milliseconds: Int64) -> CalendarTime? {
        var result = self
        if months != 0 {
            let date = CivilDate(daysSinceEpoch: Int(days))
            let month = Int64(date.year) * 12 + Int64(date.month - 1) + months
            guard (0..<12 * 10_000).contains(month) else { return nil }
            var moved = CivilDate(year: Int(month / 12), month: Int(month % 12) + 1, day: date.day)
            while !moved.isValid { moved = CivilDate(year: moved.year, month: moved.month, day: moved.day - 1) }
            result.days = Int64(moved.daysSinceEpoch)
        }
        let whole = milliseconds / Self.dayMs
        result.days += whole
        result.microseconds += (milliseconds - whole * Self.dayMs) * 1_000
        let limit = Self.dayMs * 1_000
        if result.microseconds < 0 {
            result.microseconds += limit
            result.days -= 1
        } else if result.microseconds >= limit {
            result.microseconds -= limit
            result.days += 1
        }
        return result
    }

    func truncated(to interval: RelativeTime.Interval) -> CalendarTime {
        var result = self
        let date = CivilDate(daysSinceEpoch: Int(days))
        func start(_ unit: Int64) -> Int64 { microseconds - microseconds % (unit * 1_000_000) }
        switch interval {
        case .second: result.microseconds = start(1)
        case .minute: result.microseconds = start(60)
        case .hour: result.microseconds = start(3_600)
        case .day: result.microseconds = 0
        case .week:
            result.microseconds = 0
            result.days -= Int64((date.dayOfWeek + 6) % 7)
        case .month: result = Self.midnight(CivilDate(year: date.year, month: date.month, day: 1))
        case .year: result = Self.midnight(CivilDate(year: date.year, month: 1, day: 1))
        }
        return result
    }

    private static func midnight(_ date: CivilDate) -> CalendarTime {
        CalendarTime(milliseconds: Int64(date.daysSinceEpoch) * dayMs)
    }

    /// The canonical form; nil outside the years 1583 to 9999.
    var text: String? {
        let seconds = days * 86_400 + microseconds / 1_000_000
        guard seconds >= ScalarCoercion.firstSecond,
            let time = TimestampValue(seconds: seconds, nanoseconds: Int32(microseconds % 1_000_000) * 1_000)
        else { return nil }
        return TimeText.text(of: time)
    }
}
