import Foundation
import Inspection
import JSON
import LiveModel
import Testing

/// Plans of Postgres in plain words, and percentiles of durations.
@Suite struct PlanReportTests {
    private static func plan(_ text: String, rows: [String: Double] = [:]) throws -> PlanReport {
        PlanReport(try JSONValue(parsing: Array(text.utf8)), tableRows: rows)
    }

    private static let scan = """
        [{"Plan": {"Node Type": "Aggregate", "Plan Rows": 1, "Plans": [
          {"Node Type": "Seq Scan", "Relation Name": "bid", "Plan Rows": 12, "Filter": "(lot_id = 7)"},
          {"Node Type": "Index Scan", "Relation Name": "lot", "Index Name": "lot_pkey", "Index Cond": "(id = 7)",
           "Plan Rows": 1}]}}]
        """

    @Test func aWholeTableForFewRowsIsNamed() throws {
        let report = try Self.plan(Self.scan, rows: ["bid": 120_000])
        #expect(
            report.sentences == [
                "bid is read whole: about 120000 rows, of which about 12 are kept; an index could serve (lot_id = 7)."
            ])
        #expect(!report.isMeasured && report.scans.map(\.isWasteful) == [true, false])
        #expect(report.scans[1].index == "lot_pkey" && report.scans[1].rowsRead == nil)
        #expect(report.json["rowsRead"] == .double(120_000) && report.json["rowsKept"] == .double(13))
    }

    @Test(arguments: [(999.0, false), (1_000, true), (119, false)])
    func smallTablesMayBeReadWhole(_ rows: Double, _ isWasteful: Bool) throws {
        #expect(try Self.plan(Self.scan, rows: ["bid": rows]).scans[0].isWasteful == isWasteful)
    }

    @Test func rowsThatMostScansKeepAreNoWaste() throws {
        let text = Self.scan.replacingOccurrences(of: "\"Plan Rows\": 12", with: "\"Plan Rows\": 900")
        let report = try Self.plan(text, rows: ["bid": 5_000])
        #expect(report.sentences == ["No scan reads far more rows than it keeps, as Postgres estimates."])
        #expect(try Self.plan("[{\"Plan\": {\"Node Type\": \"Result\"}}]").sentences == ["The plan reads no table."])
        #expect(try Self.plan("[]").scans.isEmpty && Self.plan("null").scans.isEmpty)
    }

    @Test func measuredRowsCountLoops() throws {
        let report = try Self.plan(
            """
            [{"Plan": {"Node Type": "Seq Scan", "Relation Name": "bid", "Plan Rows": 5, "Actual Rows": 2,
              "Actual Loops": 3, "Rows Removed by Filter": 998}, "Planning Time": 0.1, "Execution Time": 4.5}]
            """)
        #expect(report.isMeasured && report.scans[0].rowsRead == 3_000 && report.scans[0].rowsKept == 6)
        #expect(report.sentences == ["bid is read whole: 3000 rows, of which 6 are kept."])
        #expect(report.executionMs == 4.5)
        #expect(PlanReport.wholeTables([["Plan": report.plan]]) == ["bid"])
    }

    @Test func percentilesAreUpperBoundsOfBuckets() throws {
        var times = TimeHistogram()
        #expect(times.percentileMs(0.5) == nil)
        for micros in 1...1_000 as ClosedRange<UInt64> { times.add(micros: micros) }
        for (share, exact) in [(0.5, 0.5), (0.95, 0.95), (0.99, 0.99)] {
            let found = try #require(times.percentileMs(share))
            #expect(found >= exact && found <= exact * 1.2, "\(share): \(found)")
        }
        times.add(micros: 0)
        times.add(micros: .max)
        var sum = TimeHistogram(counts: times.counts)
        sum += times
        #expect(sum.counts.reduce(0, +) == 2_004)
        #expect(TimeHistogram(counts: [1, 2]).counts.count == TimeHistogram.buckets)
    }
}
