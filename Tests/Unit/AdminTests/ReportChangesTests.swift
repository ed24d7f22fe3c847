import JSON
import LiveModel
import TestSupport
import Testing

@testable import Admin

/// Which reports of an event stream are sent.
@Suite struct ReportChangesTests {
    private static func text(_ event: ReportChanges.Event?) -> String? {
        event.map { "\($0.name) \(String(decoding: $0.data, as: UTF8.self))" }
    }

    @Test func aReportIsSentAtOnceAndWhenItDiffers() {
        var changes = ReportChanges()
        let one: JSONValue = ["rows": [["id": "a", "runs": 1]]]
        #expect(Self.text(changes.event(of: .success(one), nowMs: 0)) == #"report {"rows":[{"id":"a","runs":1}]}"#)
        #expect(changes.event(of: .success(one), nowMs: 1) == nil)
        #expect(changes.event(of: .success(one), nowMs: 10 * ReportChanges.agesMs) == nil, "nothing differs")
        #expect(changes.event(of: .success(["rows": [["id": "a", "runs": 2]]]), nowMs: 2) != nil)
        #expect(changes.event(of: .success(one), nowMs: 3) != nil, "compared with what was sent last")
    }

    @Test(arguments: ["upMs", "sinceMs", "lastRunAgoMs", "expiresInMs", "keptForMsMax"])
    func agesAloneWait(_ age: String) {
        var changes = ReportChanges()
        func report(_ ms: Int64, runs: Int64 = 1) -> Result<JSONValue, RequestError> {
            .success(["nodes": [["id": "a", age: .int(ms), "runs": .int(runs)]]])
        }
        #expect(changes.event(of: report(0), nowMs: 0) != nil)
        #expect(changes.event(of: report(2_000), nowMs: 2_000) == nil)
        #expect(changes.event(of: report(4_000, runs: 2), nowMs: 4_000) != nil, "something else differs, too")
        let last = 4_000 + ReportChanges.agesMs
        #expect(changes.event(of: report(last - 1, runs: 2), nowMs: last - 1) == nil)
        #expect(changes.event(of: report(last, runs: 2), nowMs: last) != nil)
        #expect(changes.event(of: report(last + 1, runs: 2), nowMs: last + 1) == nil)
    }

    @Test func anErrorIsSentOnceAndTheReportAfterIt() {
        var changes = ReportChanges()
        let error = Result<JSONValue, RequestError>.failure(RequestError(.unavailable, "no Redis"))
        #expect(changes.event(of: .success([:]), nowMs: 0) != nil)
        let text = Self.text(changes.event(of: error, nowMs: 1)) ?? ""
        #expect(text.hasPrefix(#"error {"errors":[{"message":"no Redis""#), "\(text)")
        #expect(changes.event(of: error, nowMs: 2) == nil)
        #expect(changes.event(of: error, nowMs: 10 * ReportChanges.agesMs) == nil)
        #expect(changes.event(of: .failure(RequestError(.notFound, "no node")), nowMs: 3) != nil)
        #expect(changes.event(of: .success([:]), nowMs: 4) != nil, "the reader may show the error")
    }

    @Test func placesAreLimited() throws {
        let streams = ReportStreams(streamsMax: 2)
        try streams.enter()
        try streams.enter()
        let error = failure { () throws(RequestError) in try streams.enter() }
        #expect(error?.code == .limitExceeded && error?.message.contains("inspect.reportStreamsMax") == true)
        streams.leave()
        try streams.enter()
    }
}
