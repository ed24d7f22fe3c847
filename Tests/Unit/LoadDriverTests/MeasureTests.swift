import JSON
import Testing

@testable import LoadDriver

@Suite struct MarkerTests {
    private func sequences(_ marker: Marker, _ text: String) -> [Int] {
        Array(text.utf8).withUnsafeBytes { marker.sequences(in: $0) }
    }

    @Test func findsItsOwnMarkersOnly() {
        let marker = Marker(run: 0xAB)
        #expect(marker.text(12) == "~000000ab-12.")
        let other = Marker(run: 0xAC).text(5)
        let text = #"{"a":"\#(marker.text(3))","b":"\#(other)","c":"x \#(marker.text(40))\#(marker.text(3))"}"#
        #expect(sequences(marker, text) == [3, 40, 3])
        #expect(sequences(marker, "") == [])
    }

    @Test func brokenMarkersAreNone() {
        let marker = Marker(run: 1)
        #expect(sequences(marker, "~00000001-") == [])
        #expect(sequences(marker, "~00000001-12") == [])
        #expect(sequences(marker, "~00000001-.") == [])
        #expect(sequences(marker, "~00000001-1234567890123.") == [])
        #expect(sequences(marker, "~~00000001-~00000001-7.") == [7])
    }

    @Test func aWindowAcceptsEachSequenceOnce() {
        var window = MarkerWindow()
        func insert(_ sequences: Int...) -> [Bool] {
            sequences.map { window.insert($0) }
        }
        #expect(insert(5, 5, 3, 4, 3, 0, -1) == [true, false, true, true, false, true, false])
        // Far ahead: what lies behind the window counts as seen, what lies in it does not.
        let span = MarkerWindow.span
        let far = 5 + 10 * span
        #expect(insert(far, far - span, far - span + 1) == [true, false, true])
        // One step ahead drops the oldest, in whose place it stands.
        #expect(insert(far + 1, far + 1, far - span + 1, far - span + 2) == [true, false, false, true])
    }

    @Test func timesKnowWarmUpAndEarlyDeliveries() {
        let times = MutationTimes(count: 3)
        times.setDue(0, ns: 10)
        times.setAnswered(0, ns: 20)
        #expect(times.latency(0, nowNs: 50, from: .commit) == .unmeasured)
        times.measure(from: 1)
        #expect(times.latency(0, nowNs: 50, from: .commit) == .unmeasured)
        times.setDue(1, ns: 30)
        #expect(times.latency(1, nowNs: 50, from: .commit) == .beforeAnswer)
        #expect(times.latency(1, nowNs: 50, from: .send) == .ns(20))
        times.setAnswered(1, ns: 45)
        #expect(times.latency(1, nowNs: 50, from: .commit) == .ns(5))
        times.setFailed(2)
        #expect(times.latency(2, nowNs: 50, from: .commit) == .unmeasured)
        #expect(times.latency(3, nowNs: 50, from: .commit) == .unmeasured)
    }
}

@Suite struct ScheduleTests {
    @Test(
        arguments: [
            ([20.0], 10_000), ([7.0, 3.0], 1_000), ([0.5], 3_000), ([100_000.0, 0.1], 200),
        ] as [([Double], Int64)])
    func schedulesAreCompleteAndInOrder(_ rates: [Double], _ lengthMs: Int64) {
        var schedule = MutationSchedule(rates: rates, lengthMs: lengthMs)
        var all: [MutationSchedule.Due] = []
        while let due = schedule.next() { all.append(due) }
        #expect(all.count == schedule.count)
        #expect(all.map(\.sequence) == Array(0..<all.count))
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.atNs <= $1.atNs })
        #expect(all.allSatisfy { $0.atNs >= 0 && $0.atNs < lengthMs * 1_000_000 })
        for (kind, rate) in rates.enumerated() {
            let ofKind = all.filter { $0.kind == kind }
            #expect(ofKind.map(\.kindIndex) == Array(0..<ofKind.count))
            #expect(abs(Double(ofKind.count) - rate * Double(lengthMs) / 1_000) <= 1)
        }
    }

    @Test func intervalsAreEven() {
        var schedule = MutationSchedule(rates: [20], lengthMs: 1_000)
        let first = schedule.next()
        let second = schedule.next()
        #expect(first?.atNs == 25_000_000 && second?.atNs == 75_000_000 && schedule.count == 20)
    }

    @Test func withoutRatesThereAreNoMutations() {
        var schedule = MutationSchedule(rates: [], lengthMs: 1_000)
        let first = schedule.next()
        #expect(schedule.count == 0 && first == nil)
    }

    @Test func theRampGrowsWithTime() {
        let ramp = ConnectRamp(total: 10, perSecond: 5)
        #expect(ramp.startedBy(0) == 1)
        #expect(ramp.startedBy(1_000_000_000) == 6)
        #expect(ramp.startedBy(60_000_000_000) == 10)
    }
}

@Suite struct VerdictTests {
    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test func equalDataConverge() {
        var held = HeldResults()
        held.add(bytes(#"{"data":{"a":1,"b":[2]}}"#), subscribers: 3)
        held.add(bytes(#"{ "data": {"b":[2], "a":1} }"#))
        #expect(held.difference(from: bytes(#"{"data":{"a":1,"b":[2]}}"#)) == nil)
        #expect(held.subscribers == 4)
    }

    @Test func staleAndEmptySubscribersCount() throws {
        var held = HeldResults()
        held.add(bytes(#"{"data":{"a":1}}"#), subscribers: 2)
        var other = HeldResults()
        other.add(bytes(#"{"data":{"a":2}}"#), subscribers: 3)
        other.add(nil)
        held.add(other)
        held.add(nil)
        let difference = try #require(held.difference(from: bytes(#"{"data":{"a":2}}"#)))
        #expect(difference.subscribers == 4)
        #expect(difference.reason == "2 with a different result, 2 without any result")
        #expect(held.payloads.count == 3)
    }

    @Test func textsThatAreNoResultsDiffer() {
        #expect(!HeldResults.isSameData(bytes("x"), bytes("y")))
        #expect(!HeldResults.isSameData(bytes(#"{"errors":[]}"#), bytes(#"{"errors":[1]}"#)))
    }
}

@Suite struct StatisticsTests {
    @Test func percentilesToThreeDigits() {
        var recorder = LatencyRecorder()
        for us in 1...1_000 { recorder.record(ns: Int64(us) * 1_000) }
        var other = LatencyRecorder()
        other.record(ns: 5_000_000_000)
        other.record(ns: -1)
        recorder.add(other)
        let summary = recorder.summary
        #expect(summary.count == 1_002)
        #expect((499...503).contains(summary.p50Us))
        #expect((989...995).contains(summary.p99Us))
        #expect((4_995_000...5_005_000).contains(summary.maxUs))
        #expect(LatencyRecorder().summary == LatencySummary())
    }

    @Test func errorCodesAreBounded() {
        var errors = ErrorCounts()
        for number in 0..<(ErrorCounts.codesMax + 10) { errors.count("E\(number)", "message") }
        #expect(errors.counts.count == ErrorCounts.codesMax + 1)
        #expect(errors.counts["OTHER"] == 10 && errors.total == ErrorCounts.codesMax + 10)
    }

    @Test func figuresAreRounded() {
        #expect(ReportFormat.text(12.345, decimals: 1) == "12.3")
        #expect(ReportFormat.text(0.05, decimals: 2) == "0.05")
        #expect(ReportFormat.text(-1.5, decimals: 1) == "-1.5")
        #expect(ReportFormat.text(2.6, decimals: 0) == "3")
        #expect(ReportFormat.milliseconds(1_234) == "1.23")
        #expect(ReportFormat.milliseconds(12_345) == "12.3")
        #expect(ReportFormat.milliseconds(123_456) == "123")
    }

    @Test func theReportContainsTheVerdict() {
        let difference = Verdict.Difference(
            operation: "Get", variables: "{}", subscribers: 2, reason: "2 with a different result")
        let verdict = Verdict(
            subscribers: 10, notConverged: 2, liveQueries: 5, settledMs: 1_500, differences: [difference])
        var report = LoadReport(
            scenario: "s", seed: 9, gateways: ["http://a:1"], transports: ["sse"], durationMs: 2_000, subscribers: 10,
            latencyFrom: .commit, verdict: verdict)
        report.delivered = 100
        report.errors.count("CODE", "why")
        #expect(report.deliveredPerSecond == 50)
        #expect(report.text.contains("NOT CONVERGED: 2 of 10 subscribers, after 1.50 s"))
        #expect(report.text.contains("CODE 1 times, e.g. why"))
        #expect(report.json["convergence"]?["converged"] == false)
        #expect(report.json["convergence"]?["differences"]?[0]?["reason"] == "2 with a different result")
        #expect(report.json["deliveries"]?["latency"]?["p999Us"] == 0)
        #expect(report.json["errors"]?["CODE"] == 1 && report.json["seed"] == 9)
    }
}
