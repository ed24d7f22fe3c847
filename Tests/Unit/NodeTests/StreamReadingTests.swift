import Streams
import Testing

@testable import Node

@Suite struct StreamReadingTests {
    private typealias Finding = StreamReading.Finding
    private typealias Outcome = StreamReading.Outcome

    private static let unread = Outcome.refused("the node's entries do not come back")
    private static let failed = Outcome.refused("a stream of the worker's shards cannot be read")

    struct Probe: Sendable {
        let finding: StreamReading.Finding
        var failedReads = 0
        let atMs: Int64
        let outcome: StreamReading.Outcome
    }

    struct Scenario: Sendable, CustomTestStringConvertible {
        let name: String
        let probes: [Probe]
        var testDescription: String { name }
    }

    static let scenarios = [
        Scenario(
            name: "an entry that comes back",
            probes: [Probe(finding: .written(isReadBack: true), atMs: 0, outcome: .served)]),
        Scenario(
            name: "three entries in a row that do not come back, and one that does",
            probes: [
                Probe(finding: .written(isReadBack: false), atMs: 0, outcome: .pending),
                Probe(finding: .written(isReadBack: false), atMs: 1_000, outcome: .pending),
                Probe(finding: .written(isReadBack: false), atMs: 2_000, outcome: unread),
                Probe(finding: .written(isReadBack: false), atMs: 3_000, outcome: unread),
                Probe(finding: .written(isReadBack: true), atMs: 4_000, outcome: .served),
                Probe(finding: .written(isReadBack: false), atMs: 5_000, outcome: .pending),
            ]),
        Scenario(
            name: "the reader of an inbox brings entries with a delay, then none",
            probes: [
                Probe(finding: .queued(probesRead: 0), atMs: 0, outcome: .pending),
                Probe(finding: .queued(probesRead: 1), atMs: 1_000, outcome: .served),
                Probe(finding: .queued(probesRead: 2), atMs: 2_000, outcome: .served),
                Probe(finding: .queued(probesRead: 2), atMs: 3_000, outcome: .pending),
                Probe(finding: .queued(probesRead: 2), atMs: 4_000, outcome: .pending),
                Probe(finding: .queued(probesRead: 2), atMs: 5_000, outcome: unread),
            ]),
        Scenario(
            name: "a failed read of the worker counts for a while",
            probes: [
                Probe(finding: .written(isReadBack: true), atMs: 0, outcome: .served),
                Probe(finding: .written(isReadBack: true), failedReads: 1, atMs: 1_000, outcome: failed),
                Probe(finding: .written(isReadBack: true), failedReads: 1, atMs: 2_499, outcome: failed),
                Probe(finding: .written(isReadBack: true), failedReads: 1, atMs: 2_500, outcome: .served),
                Probe(finding: .written(isReadBack: true), failedReads: 5, atMs: 3_000, outcome: failed),
            ]),
        Scenario(
            name: "a read that failed during a silence counts afterwards",
            probes: [
                Probe(finding: .silent, failedReads: 2, atMs: 0, outcome: .silent),
                Probe(finding: .written(isReadBack: true), failedReads: 2, atMs: 1_000, outcome: failed),
            ]),
        Scenario(
            name: "refusals and silence in between do not begin the count again",
            probes: [
                Probe(finding: .written(isReadBack: false), atMs: 0, outcome: .pending),
                Probe(finding: .written(isReadBack: false), atMs: 1_000, outcome: .pending),
                Probe(finding: .refused("OOM"), atMs: 2_000, outcome: .refused("OOM")),
                Probe(finding: .silent, atMs: 3_000, outcome: .silent),
                Probe(finding: .written(isReadBack: false), atMs: 4_000, outcome: unread),
            ]),
        Scenario(
            name: "a node that drains counts as served",
            probes: [Probe(finding: .skipped, failedReads: 1, atMs: 0, outcome: .served)]),
    ]

    @Test(arguments: scenarios)
    func probesHaveTheirOutcome(scenario: Scenario) {
        var reading = StreamReading()
        for probe in scenario.probes {
            let outcome = reading.probed(probe.finding, failedReads: probe.failedReads, nowMs: probe.atMs)
            #expect(outcome == probe.outcome, "at \(probe.atMs) ms")
        }
    }

    @Test func aRejectionOrALackOfMemoryIsARefusalAndNothingElseIs() {
        for code in [BrokerError.Code.rejected, .outOfMemory] {
            var reading = StreamReading()
            let outcome = reading.probed(Finding(BrokerError(code, "no")), failedReads: 0, nowMs: 0)
            #expect(outcome == .refused("\(BrokerError(code, "no"))"))
        }
        for code in [BrokerError.Code.unavailable, .overloaded, .outcomeUnknown, .closed] {
            var reading = StreamReading()
            #expect(reading.probed(Finding(BrokerError(code, "no")), failedReads: 0, nowMs: 0) == .silent)
        }
    }
}
