import JSON
import Observability
import SeededRandom
import Synchronization
import Testing
import Tracing

@testable import TraceExport

/// Queue, batches and repetition of what goes to a collector, and its form.
@Suite struct ExportMachineTests {
    private static func span(_ number: Int) -> SpanRecord {
        SpanRecord(
            TraceParent(traceID: TraceID(), isSampled: true), parentID: nil, "\(number)", .internal, UInt64(number))
    }

    private static func settings(batch: Int = 2, queue: Int = 5, attempts: Int = 3) -> ExportMachine.Settings {
        var settings = ExportMachine.Settings()
        (settings.batchMax, settings.queueMax, settings.attemptsMax) = (batch, queue, attempts)
        (settings.retryMinMs, settings.retryMaxMs) = (100, 400)
        return settings
    }

    @Test func spansThatFindTheQueueFullAreDropped() {
        var machine = ExportMachine(Self.settings())
        #expect((0..<7).map { machine.add(Self.span($0)) } == [true, true, true, true, true, false, false])
        #expect(machine.next(nowMs: 0)?.map(\.name) == ["0", "1"])
        // Those on their way count.
        #expect(!machine.add(Self.span(7)) && machine.next(nowMs: 0) == nil)
        #expect(machine.ended(.accepted(rejected: 1), nowMs: 0).dropped == [.refused: 1])
        #expect(machine.add(Self.span(8)) && machine.next(nowMs: 0)?.map(\.name) == ["2", "3"])
    }

    @Test func aBusyCollectorGetsTheSameBatchAgainLater() {
        var machine = ExportMachine(Self.settings())
        _ = machine.add(Self.span(0))
        #expect(machine.next(nowMs: 0)?.count == 1)
        #expect(machine.ended(.busy, nowMs: 0) == ExportMachine.Counts())
        _ = machine.add(Self.span(1))
        #expect(machine.next(nowMs: 99) == nil)
        #expect(machine.next(nowMs: 100)?.map(\.name) == ["0"])
        _ = machine.ended(.busy, nowMs: 100)
        #expect(machine.next(nowMs: 299) == nil && machine.next(nowMs: 300) != nil)
        #expect(machine.ended(.busy, nowMs: 300).dropped == [.unreachable: 1])
        // The next batch waits like a further attempt, and starts from the beginning once one is accepted.
        #expect(machine.next(nowMs: 699) == nil && machine.next(nowMs: 700)?.map(\.name) == ["1"])
        #expect(machine.ended(.accepted(rejected: 0), nowMs: 700).exported == 1)
        _ = machine.add(Self.span(2))
        #expect(machine.next(nowMs: 700) != nil)
        #expect(machine.ended(.refused, nowMs: 700).dropped == [.refused: 1])
    }

    @Test(arguments: 0..<50 as Range<UInt64>)
    func everySpanIsExportedOrDroppedOnce(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var machine = ExportMachine(Self.settings(batch: 3, queue: 8, attempts: 2))
        var (added, full, exported, dropped) = (0, 0, 0, 0)
        var nowMs: Int64 = 0
        for _ in 0..<500 {
            nowMs += Int64.random(in: 0...60, using: &random)
            if Bool.random(using: &random) {
                added += 1
                if !machine.add(Self.span(added)) { full += 1 }
            } else if let batch = machine.next(nowMs: nowMs) {
                #expect(batch.count <= 3)
                let rejected = Int.random(in: 0...4, using: &random)
                let outcomes: [ExportMachine.Outcome] = [.accepted(rejected: rejected), .busy, .refused]
                let outcome = outcomes[Int.random(in: 0..<3, using: &random)]
                let counts = machine.ended(outcome, nowMs: nowMs)
                exported += counts.exported
                dropped += counts.dropped.values.reduce(0, +)
            }
            #expect(machine.count <= 8)
            #expect(added == full + exported + dropped + machine.count, "seed \(seed)")
        }
    }

    // MARK: Tracer and form

    @Test func theTracerContinuesItsContextAndExportsWhatIsSampled() throws {
        let ended = Mutex<[SpanRecord]>([])
        let tracer = OTLPTracer { span in ended.withLock { $0.append(span) } }
        struct Headers: Extractor, Injector {
            func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
            func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) {
                carrier[key] = value
            }
        }
        var context = ServiceContext.topLevel
        let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        tracer.extract(["traceparent": header], into: &context, using: Headers())
        var carrier: [String: String] = [:]
        tracer.withSpan("outer", context: context) { outer in
            tracer.inject(outer.context, into: &carrier, using: Headers())
            outer.attributes["count"] = SpanAttribute.int64(7)
            outer.setStatus(SpanStatus(code: .error, message: "late"))
            outer.end()
            outer.attributes["count"] = SpanAttribute.int64(8)
        }
        let spans = ended.withLock { $0 }
        #expect(spans.count == 1 && spans[0].parentID == "00f067aa0ba902b7", "once, although it ended twice")
        #expect(carrier["traceparent"] == "00-4bf92f3577b34da6a3ce929d0e0e4736-\(spans[0].identity.spanID)-01")
        let json = OTLPDocument.json(spans, resource: [("service.name", "freshet")])
        let span = try #require(json["resourceSpans"]?[0]?["scopeSpans"]?[0]?["spans"]?[0])
        #expect(span["traceId"]?.stringValue == "4bf92f3577b34da6a3ce929d0e0e4736" && span["kind"] == 1)
        #expect(span["attributes"] == [["key": "count", "value": ["intValue": "7"]]])
        #expect(span["status"] == ["code": 2, "message": "late"])
        #expect(
            json["resourceSpans"]?[0]?["resource"]?["attributes"]
                == [["key": "service.name", "value": ["stringValue": "freshet"]]])

        context.traceParent = TraceParent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")
        tracer.withSpan("not sampled", context: context) { #expect(!$0.isRecording) }
        #expect(ended.withLock { $0.count } == 1)
    }
}
