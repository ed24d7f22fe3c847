import LoadDriver
import Testing

@testable import Chaos

@Suite struct DeliveryWatchTests {
    private func deliver(
        _ watch: inout DeliveryWatch, _ versions: [Int], subscriber: Int = 0, connection: Int = 1,
        operation: String = "Counter1", transport: LoadTransport = .graphqlTransportWS, markers: [Int] = [],
        atMs: Int64 = 0
    ) {
        watch.delivered(
            subscriber: subscriber, connection: connection, operation: operation, transport: transport,
            versions: versions, markers: markers, atNs: atMs * 1_000_000)
    }

    @Test func versionsAreReadFromPayloads() {
        let payload = #"{"data":{"counters":[{"number":1,"value":0,"note":"x"},{"value": 41,"note":null}]}}"#
        #expect(DeliveryWatch.versions(in: Array(payload.utf8)) == [0, 41])
        #expect(DeliveryWatch.versions(in: Array(#"{"data":{"counter":null}}"#.utf8)) == [])
    }

    @Test func findsWhatGoesBack() {
        var watch = DeliveryWatch()
        deliver(&watch, [1, 5])
        deliver(&watch, [2, 5])
        deliver(&watch, [1, 5], subscriber: 1)
        #expect(watch.regressionCount == 0)
        deliver(&watch, [3, 4])
        #expect(watch.regressionCount == 1)
        #expect(watch.takeRegressions().map { [$0.subscriber, $0.from, $0.to] } == [[0, 5, 4]])
        #expect(watch.takeRegressions().isEmpty)
    }

    @Test func countsAReconnectWithoutATagApart() {
        var watch = DeliveryWatch()
        deliver(&watch, [5])
        deliver(&watch, [4], connection: 2)
        #expect(watch.regressionCount == 0)
        #expect(watch.withoutTag == 1)
        deliver(&watch, [3], connection: 2)
        #expect(watch.regressionCount == 1)
    }

    @Test(arguments: [LoadTransport.sse, .longpoll]) func aReconnectWithATagMayNotGoBack(_ transport: LoadTransport) {
        var watch = DeliveryWatch()
        deliver(&watch, [5], transport: transport)
        deliver(&watch, [4], connection: 2, transport: transport)
        #expect(watch.regressionCount == 1)
        #expect(watch.withoutTag == 0)
        #expect(watch.takeRegressions().map(\.isAcrossConnections) == [true])
    }

    @Test func manyReconnectsHideNoMiss() {
        var watch = DeliveryWatch()
        for subscriber in 0...DeliveryWatch.regressionsMax {
            deliver(&watch, [5], subscriber: subscriber)
            deliver(&watch, [4], subscriber: subscriber, connection: 2)
        }
        deliver(&watch, [3], connection: 2)
        #expect(watch.takeRegressions().count == 1)
    }

    @Test func timesTheFirstRefreshOfEveryOperation() throws {
        var watch = DeliveryWatch()
        watch.probe = .init(startNs: 1_000_000_000, fromSequence: 10, operations: ["A", "B"])
        deliver(&watch, [1], operation: "A", markers: [9], atMs: 1_100)
        deliver(&watch, [2], operation: "C", markers: [11], atMs: 1_200)
        deliver(&watch, [3], operation: "A", markers: [9, 10], atMs: 1_500)
        #expect(watch.probe?.firstRefreshMs == nil)
        deliver(&watch, [4], operation: "B", markers: [12], atMs: 3_000)
        deliver(&watch, [4], operation: "B", markers: [12], atMs: 9_000)
        let probe = try #require(watch.probe)
        #expect(probe.firstRefreshMs == 2_000)
        #expect(probe.longestWaitMs { $0 == 10 ? 1_400_000_000 : $0 == 12 ? 2_000_000_000 : nil } == 1_000)
    }

    @Test func aRunWithoutFaultOrMutationShowsNothing() {
        var report = ChaosReport(seed: 1, leaseMs: 2_000)
        #expect(!report.hasPassed)
        report.faultsByKind["kill worker"] = 1
        report.mutationsAcknowledged = 1
        #expect(report.hasPassed)
        var round = ChaosReport.Round(number: 1, atMs: 0, faults: [])
        round.misses = ["something"]
        report.rounds = [round]
        #expect(!report.hasPassed)
    }
}
