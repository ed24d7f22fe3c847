import Testing

@testable import CEL

@Suite struct TimeValueTests {
    @Test func civilDatesGoThereAndBack() {
        for days in stride(from: -719_162, through: 2_932_896, by: 97) {
            let date = CivilDate(daysSinceEpoch: days)
            let tomorrow = CivilDate(daysSinceEpoch: days + 1)
            let isRight = date.isValid && date.daysSinceEpoch == days && tomorrow.dayOfWeek == (date.dayOfWeek + 1) % 7
            if !isRight { Issue.record("day \(days)") }
        }
        #expect(CivilDate(daysSinceEpoch: 0) == CivilDate(year: 1970, month: 1, day: 1))
        #expect(CivilDate(daysSinceEpoch: -1) == CivilDate(year: 1969, month: 12, day: 31))
        #expect(CivilDate(year: 2000, month: 2, day: 29).isValid)
        #expect(!CivilDate(year: 1900, month: 2, day: 29).isValid)
        #expect(CivilDate(year: 2024, month: 12, day: 31).dayOfYear == 365)
    }

    @Test(arguments: [
        ("0", 0), ("0s", 0), ("1s", 1_000_000_000), ("-1.5s", -1_500_000_000), ("1h15m", 4_500_000_000_000),
        ("+3ms", 3_000_000), ("2us", 2_000), ("2µs", 2_000), (".5s", 500_000_000), ("1.h", 3_600_000_000_000),
        ("1.5h", 5_400_000_000_000), ("0.000000001s", 1), ("1h1m1s1ms1us1ns", 3_661_001_001_001),
        ("-9223372036854775808ns", Int64.min), ("1.0000000000001h", 3_600_000_000_000),
        ("1.00000000000028h", 3_600_000_000_001), ("0.9999999999999999999999s", 999_999_999),
    ])
    func durationsAreRead(text: String, nanoseconds: Int64) {
        #expect(DurationValue(text)?.nanoseconds == nanoseconds)
    }

    @Test(arguments: [
        "", "-", "1", "s", "1x", ".s", "1s ", " 1s", "1s1", "1..5s", "1.5", "9223372036854775808ns", "10000000h", "1S",
    ])
    func malformedDurationsAreRefused(text: String) {
        #expect(DurationValue(text) == nil)
    }

    @Test func durationsArePrintedInSeconds() {
        for (nanoseconds, text) in [
            (0, "0s"), (1, "0.000000001s"), (-1_500_000_000, "-1.5s"), (3_600_000_000_000, "3600s"),
            (Int64.min, "-9223372036.854775808s"),
        ] {
            #expect(DurationValue(nanoseconds: nanoseconds).text == text)
            #expect(DurationValue(text)?.nanoseconds == nanoseconds)
        }
    }

    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0, 0), ("1969-12-31T23:59:59.5Z", -1, 500_000_000),
        ("2009-02-13T23:31:30+01:00", 1_234_564_290, 0), ("0001-01-01T00:00:00Z", -62_135_596_800, 0),
        ("9999-12-31T23:59:59.999999999Z", 253_402_300_799, 999_999_999), ("2020-02-29t00:00:00z", 1_582_934_400, 0),
    ])
    func timestampsAreReadAndPrinted(text: String, seconds: Int64, nanoseconds: Int32) throws {
        let timestamp = try #require(TimestampValue(text))
        #expect(timestamp.seconds == seconds)
        #expect(timestamp.nanoseconds == nanoseconds)
        #expect(TimestampValue(timestamp.text) == timestamp)
    }

    @Test(arguments: [
        "", "2009-02-13", "2009-02-13T23:31:30", "2009-02-13 23:31:30Z", "2009-13-13T23:31:30Z", "2009-02-29T00:00:00Z",
        "2009-02-13T24:00:00Z", "2009-02-13T23:60:00Z", "2009-02-13T23:31:60Z", "2009-02-13T23:31:30.Z",
        "2009-02-13T23:31:30.1234567890Z", "2009-02-13T23:31:30+1:00", "2009-02-13T23:31:30Zx", "0000-01-01T00:00:00Z",
        "+009-02-13T23:31:30Z", "0001-01-01T00:00:00+01:00",
    ])
    func malformedTimestampsAreRefused(text: String) {
        #expect(TimestampValue(text) == nil)
    }

    @Test func sumsCarryNanoseconds() throws {
        let timestamp = try #require(TimestampValue(seconds: 0, nanoseconds: 1))
        #expect(timestamp.adding(nanoseconds: -2) == TimestampValue(seconds: -1, nanoseconds: 999_999_999))
        #expect(timestamp.adding(nanoseconds: 999_999_999) == TimestampValue(seconds: 1))
        #expect(timestamp.adding(nanoseconds: .min)?.adding(nanoseconds: .max)?.nanoseconds == 0)
    }
}
