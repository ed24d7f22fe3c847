import Foundation
import JSON
import NIOConcurrencyHelpers
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// The spans of traced mutations at a collector, from two nodes.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct TraceExportTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let client = "00f067aa0ba902b7"

    /// A span as the collector got it.
    private struct Collected {
        let node: String
        let json: JSONValue

        func text(_ name: String) -> String { json[name]?.stringValue ?? "" }
        var startNs: UInt64 { UInt64(text("startTimeUnixNano")) ?? 0 }
        var endNs: UInt64 { UInt64(text("endTimeUnixNano")) ?? 0 }

        func attribute(_ name: String) -> JSONValue? {
            json["attributes"]?.arrayValue?.first { $0["key"]?.stringValue == name }?["value"]
        }
    }

    private static func spans(_ collector: LocalHTTPServer) throws -> [Collected] {
        // Without the first request, which was refused: its spans come again.
        try collector.received.dropFirst().flatMap { request in
            let resource = try #require(try JSONParser.parse(request.body)["resourceSpans"]?[0])
            let node = resource["resource"]?["attributes"]?.arrayValue?
                .first { $0["key"]?.stringValue == "service.instance.id" }?["value"]?["stringValue"]?.stringValue
            return (resource["scopeSpans"]?[0]?["spans"]?.arrayValue ?? []).map {
                Collected(node: node ?? "", json: $0)
            }
        }
    }

    private static func edit(
        _ address: ServerAddress, _ lot: String, _ text: String, traceparent: String?
    ) async throws -> HTTPCall.Response {
        var headers: HTTPHeaders = ["content-type": "application/json"]
        if let traceparent { headers.add(name: "traceparent", value: traceparent) }
        return try await HTTPCall.send(
            .POST, address, path: "/v1/connectors/auctions/mutations/EditLot", headers: headers,
            body: JSONWriter.compact([
                "variables": ["id": .string(lot), "category": "Books", "description": .string(text)]
            ]))
    }

    @Test func aCollectorGetsTheSpansOfOneMutationFromTwoNodes() async throws {
        let isBusy = NIOLockedValueBox(true)
        // Only the first request is refused.
        let collected: LocalHTTPServer.Answer = { _, _ in
            isBusy.withLockedValue { isBusy in
                defer { isBusy = false }
                return isBusy ? (.serviceUnavailable, []) : (.ok, Array("{}".utf8))
            }
        }
        try await LocalHTTPServer.with(collected) { collector in
            try await Cluster.with { cluster in
                let settings = [
                    "trace.otlp.url=\(collector.origin)/v1/traces", "trace.otlp.headers=x-key=of the collector",
                    "trace.otlp.intervalMs=20",
                ]
                let api = try await cluster.start(roles: "api,admin", settings: settings)
                let other = try await cluster.start(roles: "worker,gateway,admin", settings: settings)
                let lot = try await SplitTests.lots(api.address, count: 1)[0]
                let subscriber = try await Subscriber.connect(other.address)
                subscriber.subscribe("GetLot", ["id": .string(lot)])
                _ = try await subscriber.data()
                // Not sampled: nothing is noted.
                let plain = try await Self.edit(
                    api.address, lot, "unsampled", traceparent: "00-\(Self.trace)-\(Self.client)-00")
                #expect(plain.status == 200 && plain.headers.first(name: "x-freshet-trace") == nil)
                _ = try await subscriber.data { $0["lot"]?["description"]?.stringValue == "unsampled" }

                let answer = try await Self.edit(
                    api.address, lot, "sampled", traceparent: "00-\(Self.trace)-\(Self.client)-01")
                #expect(answer.headers.first(name: "x-freshet-trace") == Self.trace)
                _ = try await subscriber.data { $0["lot"]?["description"]?.stringValue == "sampled" }
                let failed = try await Self.edit(
                    api.address, "no lot", "failed", traceparent: "00-\(Self.trace)-\(Self.client)-01")
                #expect(failed.status == 400)
                let names = [
                    "mutation auctions/EditLot", "commit", "publish", "evaluate", "run auctions/GetLot", "deliver",
                ]
                let spans = try await waitFor("spans of every kind") {
                    let spans = try Self.spans(collector)
                    return Set(spans.map { $0.text("name") }).isSuperset(of: names) ? spans : nil
                }
                let nodes = [try await AdminClient(api.process).node, try await AdminClient(other.process).node]
                try check(spans, names, nodes[0], nodes[1])
                #expect(collector.received.allSatisfy { $0.path == "/v1/traces" })
                #expect(collector.received.allSatisfy { $0.headers.first(name: "x-key") == "of the collector" })
                // The trace by its W3C id, as the collector shows it.
                let report = try await AdminClient(other.process).get("v1/trace/\(Self.trace)")
                #expect(report["mutation"]?.stringValue == "auctions/EditLot", "\(report)")
            }
        }
    }

    private func check(_ spans: [Collected], _ names: [String], _ api: String, _ other: String) throws {
        #expect(Set(spans.map { $0.text("traceId") }) == [Self.trace])
        #expect(Set(spans.map { $0.text("spanId") }).count == spans.count, "no span twice")
        let found = try names.map { name in try #require(spans.first { $0.text("name") == name }) }
        let (mutation, commit, publish, evaluate, run, deliver) = (
            found[0], found[1], found[2], found[3], found[4], found[5]
        )
        #expect(mutation.text("parentSpanId") == Self.client && mutation.json["kind"] == 2)
        for child in [commit, publish, evaluate] { #expect(child.text("parentSpanId") == mutation.text("spanId")) }
        // The shard that has the live query; others have evaluated the event, too.
        let parents = spans.filter { $0.text("name") == "evaluate" }.map { $0.text("spanId") }
        #expect(parents.contains(run.text("parentSpanId")))
        #expect(deliver.text("parentSpanId") == run.text("spanId"))
        #expect([mutation, commit, publish].allSatisfy { $0.node == api }, "\(spans.map(\.node))")
        #expect([evaluate, run, deliver].allSatisfy { $0.node == other }, "\(spans.map(\.node))")
        // One machine, so one clock.
        for span in spans { #expect(span.startNs > 0 && span.startNs <= span.endNs) }
        #expect(mutation.startNs <= commit.startNs && commit.endNs <= publish.endNs)
        #expect(run.startNs <= deliver.startNs && commit.startNs <= run.endNs && run.endNs <= deliver.endNs)
        #expect(mutation.attribute("freshet.operation")?["stringValue"]?.stringValue == "auctions/EditLot")
        #expect(run.attribute("freshet.outcome")?["stringValue"]?.stringValue == "changed")
        #expect(deliver.attribute("freshet.sessions")?["intValue"]?.stringValue == "1")
    }

    @Test func aCollectorThatIsDownCostsNothingButItsSpans() async throws {
        try await Cluster.with { cluster in
            // Nobody listens there: the port was free a moment ago.
            let closed = try await LocalHTTPServer.with({ _, _ in (.ok, []) }) { $0.origin }
            let node = try await cluster.start(
                roles: "api,worker,gateway,admin",
                settings: [
                    "trace.otlp.url=\(closed)", "trace.otlp.intervalMs=20", "trace.otlp.attemptsMax=1",
                    "trace.otlp.queueMax=4", "trace.otlp.batchMax=2",
                ])
            let lot = try await SplitTests.lots(node.address, count: 1)[0]
            let subscriber = try await Subscriber.connect(node.address)
            subscriber.subscribe("GetLot", ["id": .string(lot)])
            _ = try await subscriber.data()
            for number in 0..<5 {
                let answer = try await Self.edit(
                    node.address, lot, "edit \(number)", traceparent: "00-\(Self.trace)-\(Self.client)-01")
                #expect(answer.status == 200)
                _ = try await subscriber.data { $0["lot"]?["description"]?.stringValue == "edit \(number)" }
            }
            let admin = try #require(node.admin)
            try await waitUntil("dropped spans that are counted") {
                let metrics = String(
                    decoding: try await HTTPCall.send(.GET, admin, path: "/metrics").body, as: UTF8.self)
                func count(_ outcome: String) -> Int {
                    let line = metrics.split(separator: "\n").first {
                        $0.hasPrefix("freshet_otlp_spans_total{outcome=\"\(outcome)\"}")
                    }
                    return line.flatMap { Double($0.split(separator: " ")[1]) }.map { Int($0) } ?? 0
                }
                return count("unreachable") > 0 && count("queue_full") > 0 && count("exported") == 0
            }
            #expect(node.process.output.contains("spans could not be sent to trace.otlp.url"))
        }
    }
}
