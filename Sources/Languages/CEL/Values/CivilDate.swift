/// A date of the proleptic Gregorian calendar. Conversions to and from days since 1970-01-01 use 400-year eras whose
/// years begin in March, so that the leap day is the last of its year (Howard Hinnant, "chrono-Compatible Low-Level
/// Date Algorithms").
package struct CivilDate: Equatable {
    package var year: Int
    /// 1...12
    package var month: Int
    /// 1...31
    package var day: Int

    private static let daysPerEra = 146_097
    /// Days from 0000-03-01 to 1970-01-01.
    private static let epochOffsetDays = 719_468

    package init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    package init(daysSinceEpoch: Int) {
        let shifted = daysSinceEpoch + Self.epochOffsetDays
        let era = (shifted >= 0 ? shifted : shifted - (Self.daysPerEra - 1)) / Self.daysPerEra
        let dayOfEra = shifted - era * Self.daysPerEra
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfMarchYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfMarchYear + 2) / 153
        day = dayOfMarchYear - (153 * marchMonth + 2) / 5 + 1
        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    package var daysSinceEpoch: Int {
        let marchYear = month <= 2 ? year - 1 : year
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let marchMonth = month > 2 ? month - 3 : month + 9
        let dayOfMarchYear = (153 * marchMonth + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfMarchYear
        return era * Self.daysPerEra + dayOfEra - Self.epochOffsetDays
    }

    /// 0 for Sunday.
    package var dayOfWeek: Int {
        let days = daysSinceEpoch
        return ((days + 4) % 7 + 7) % 7
    }

    /// 0 for January 1.
    var dayOfYear: Int {
        daysSinceEpoch - CivilDate(year: year, month: 1, day: 1).daysSinceEpoch
    }

    /// Whether month and day exist.
    package var isValid: Bool {
        guard (1...12).contains(month), day >= 1 else { return false }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return day <= lengths[month - 1]
    }
}
