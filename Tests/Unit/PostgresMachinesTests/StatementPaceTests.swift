import Testing

@testable import Postgres

@Suite struct StatementPaceTests {
    private let pace = StatementPace(shortMaxUs: 10_000)

    /// The average after executions of that many microseconds each.
    private func average(_ former: StatementPace.Average? = nil, _ times: [Int]) -> StatementPace.Average? {
        times.reduce(former) { pace.average($0, adding: $1) }
    }

    private func isShort(_ times: [Int]) -> Bool? { average(nil, times)?.isShort }

    @Test func averageDecidesWhichStatementsAreShort() {
        #expect(isShort([]) == nil, "nothing is known of it")
        #expect(isShort([200]) == true && isShort([20_000]) == false && isShort([80_000]) == false)
    }

    @Test func fewLongExecutionsOutweighManyShortOnes() {
        let short = Array(repeating: 200, count: 100)
        #expect(isShort(short + [30_000]) == true, "one may be due to a busy machine")
        #expect(isShort(short + [80_000, 80_000]) == false)
        #expect(isShort(short + [20_000, 20_000, 20_000]) == false)
    }

    @Test func longStatementsAreShortAgainAfterSeveralExecutions() {
        let hour = 3_600_000_000
        #expect(isShort([hour] + Array(repeating: 200, count: 6)) == false)
        #expect(isShort([hour] + Array(repeating: 200, count: 9)) == true)
        #expect(isShort([12_000, 200, 8_000, 8_000]) == false, "between the two limits it stays what it was")
        #expect(isShort([200] + Array(repeating: 9_000, count: 20)) == true)
    }

    /// A source whose statements alternate must not get them among the short ones every other time.
    @Test func alternatingStatementsStayApart() {
        var average = average(nil, [80_000])
        for _ in 0..<100 {
            average = pace.average(average, adding: 200)
            #expect(average?.isShort == false)
            average = pace.average(average, adding: 80_000)
        }
    }

    @Test func averageIsOneNumber() {
        #expect(StatementPace.Average(encoded: 0) == nil)
        for average in [StatementPace.Average(us: 0, isShort: true), .init(us: 123_456, isShort: false)] {
            #expect(StatementPace.Average(encoded: average.encoded) == average)
        }
    }

    @Test func expectedTimeLeavesOutStatementsThatTakeNextToNothing() {
        #expect(pace.costUs(average(nil, [900])) == 0)
        #expect(pace.costUs(average(nil, [8_000])) == 8_000)
        #expect(pace.costUs(nil) == 10_000)
    }

    @Test func stallsAreLongerThanManyShortAnswers() {
        #expect(!pace.isStall(us: 9_000, answers: 1))
        #expect(pace.isStall(us: 20_000, answers: 1) && pace.isStall(us: 20_000, answers: 50))
        #expect(!pace.isStall(us: 20_000, answers: 100), "a busy machine answers each within 0.2 ms")
    }

    @Test func roundTripStaysNearTheShortestOfTheRecentOnes() {
        var roundTrip = RoundTrip()
        roundTrip.isAtMost(us: 80_000)
        #expect(roundTrip.us == nil, "a statement's own time is unknown")
        for us in [900, 300, 12_000] { roundTrip.measured(us: us) }
        #expect(roundTrip.us == 300 + 11_700 / 8)
        roundTrip.isAtMost(us: 80_000)
        roundTrip.isAtMost(us: 250)
        #expect(roundTrip.us == 250)
        for _ in 0..<40 { roundTrip.measured(us: 12_000) }
        #expect(roundTrip.us ?? 0 > 11_000, "the server is farther away now")
    }

    @Test func doubtfulStatementsAreMeasuredAgain() {
        let statement: Statement = "SELECT 1"
        #expect(statement.average == nil)
        statement.took(us: 200, pace)
        #expect(statement.average == StatementPace.Average(us: 200, isShort: true))
        statement.doubt()
        #expect(statement.average == nil)
        statement.took(us: 20_000, pace)
        #expect(statement.average == StatementPace.Average(us: 20_000, isShort: false))
    }
}
