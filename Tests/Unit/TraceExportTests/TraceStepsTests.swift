import Inspection
import JSON
import LiveModel
import Testing
import Tracing

@testable import TraceExport

/// The spans that a node makes of the steps it notes.
@Suite struct TraceStepsTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736-0102030405060708"
    private let api = NodeID("api")
    private let worker = NodeID("worker")
    private let mutation = OperationReference(connector: "c", operation: "M")

    private func step(_ kind: Inspection.Span.Kind, _ atUs: Int64, _ details: JSONObject = [:]) -> Inspection.Span {
        Inspection.Span(Self.trace, kind, on: worker, atUs: atUs, details)
    }

    @Test func aMutationIsAChildOfItsClientAndTheParentOfItsCommitAndPublication() {
        var steps = TraceSteps()
        #expect(
            steps.noted(.received(Self.trace, mutation, parentSpan: "00f067aa0ba902b7", on: api, nowUs: 100)).isEmpty)
        let committed = steps.noted(
            .committed(Self.trace, mutation, event: "e", committedAtMs: 0, on: api, nowUs: 300))
        #expect(committed.map(\.name) == ["mutation c/M", "commit"])
        #expect(committed.map(\.parentID) == ["00f067aa0ba902b7", "0102030405060708"])
        #expect(committed[0].spanID == "0102030405060708" && committed[0].kind == .server)
        #expect(committed.allSatisfy { $0.startUs == 100 && $0.endUs == 300 })
        let published = steps.noted(step(.published, 450, ["shards": [1, 2]]))
        #expect(published.map(\.name) == ["publish"])
        #expect(published[0].startUs == 300 && published[0].endUs == 450)
        #expect(published[0].attributes["freshet.shards"] == .texts(["1", "2"]))
        // Once.
        #expect(steps.noted(step(.published, 500, ["shards": []])).isEmpty)
    }

    @Test func aFailedMutationEndsWithItsError() {
        var steps = TraceSteps()
        _ = steps.noted(.received(Self.trace, mutation, parentSpan: nil, on: api, nowUs: 1))
        let ended = steps.noted(
            .failed(Self.trace, RequestError(.permissionDenied, "no"), on: api, nowUs: 2))
        #expect(ended.count == 1 && ended[0].error == "PERMISSION_DENIED" && ended[0].parentID == nil)
        #expect(steps.noted(.failed(Self.trace, RequestError(.timeout, ""), on: api, nowUs: 3)).isEmpty)
    }

    @Test func spansOfOtherNodesNameTheirParents() throws {
        var (owner, gateway) = (TraceSteps(), TraceSteps())
        let evaluate = try #require(
            owner.noted(step(.matched, 5_000, ["shard": 3, "id": "4-0", "considered": 9, "matched": 1])).first)
        #expect(evaluate.parentID == "0102030405060708" && evaluate.startUs == 4_000)
        let details: JSONObject = ["shard": 3, "key": "k", "operation": "c/Q", "durationMs": 2, "gateways": ["g"]]
        func run(_ outcome: String, _ atUs: Int64) throws -> TraceSpan {
            var details = details
            details["outcome"] = .string(outcome)
            return try #require(owner.noted(step(.ran, atUs, details)).first)
        }
        let (failed, changed) = (try run("failed", 8_000), try run("changed", 9_000))
        #expect(failed.error == "failed" && failed.spanID != changed.spanID)
        #expect(changed.parentID == evaluate.spanID && changed.startUs == 7_000 && changed.error == nil)
        #expect(gateway.noted(step(.arrived, 9_500, ["key": "k"])).isEmpty)
        // One for each event loop that has sessions.
        let deliveries = try [9_600, 9_700].map { atUs in
            try #require(gateway.noted(step(.delivered, atUs, ["key": "k", "sessionCount": 2, "held": 1])).first)
        }
        #expect(deliveries.allSatisfy { $0.parentID == changed.spanID && $0.startUs == 9_500 })
        #expect(deliveries[0].spanID != deliveries[1].spanID)
    }

    @Test func tracesOfNodesThatNameNoSpanMakeNone() {
        var steps = TraceSteps()
        let former = Inspection.Span("4bf92f3577b34da6a3ce929d0e0e4736", .matched, on: worker, atUs: 1, ["shard": 1])
        #expect(steps.noted(former).isEmpty)
        #expect(TraceName("not-a-trace") == nil && TraceName("") == nil)
    }

    @Test func theOldestIsForgotten() {
        var table = BoundedTable<Int, Int>(countMax: 3)
        for number in 0..<20 {
            table.set(number, number)
            table.set(number, number + 100)
        }
        #expect(table.count == 3 && table[16] == nil && table[17] == 117)
        #expect(table.remove(18) == 118 && table.count == 2)
    }
}
