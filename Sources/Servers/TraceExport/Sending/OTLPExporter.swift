import Clocks
package import Inspection
import JSON
package import LiveModel
package import Logging
import Metrics
import Observability
package import OutboundHTTP
import Pacing
import Synchronization
import Tracing

/// Sends the spans of traced mutations to an OpenTelemetry collector: performs `TraceSteps` and `ExportMachine`.
///
/// Nothing waits for it: spans that find the queue full, or that a collector does not take, are dropped and counted.
package final class OTLPExporter: Sendable {
    package struct Settings: Sendable, Hashable {
        package var url: String
        package var headers: [String] = []
        package var timeoutMs = 10_000
        package var intervalMs = 1_000
        package var queue = ExportMachine.Settings()

        package init(url: String) {
            self.url = url
        }
    }

    private static let answerBytesMax = 64 << 10

    private let settings: Settings
    private let headers: [(name: String, value: String)]
    private let resource: [(name: String, value: String)]
    private let sender: HTTPSender
    private let logger: Logger
    private let steps = Mutex(TraceSteps())
    private let machine: Mutex<ExportMachine>
    private let metrics = TraceExportMetrics()
    private let failure = Mutex(RepeatedFailure())

    package init(_ settings: Settings, node: NodeID, sender: HTTPSender, logger: Logger) {
        self.settings = settings
        self.sender = sender
        self.logger = logger
        headers = settings.headers.map { header in
            let name = header.prefix { $0 != "=" }
            return (String(name), String(header.dropFirst(name.count + 1)))
        }
        resource = [("service.name", "freshet"), ("service.instance.id", node.name)]
        machine = Mutex(ExportMachine(settings.queue))
    }

    /// Takes steps that the node noted. Called from any thread; does not block.
    package func noted(_ noted: [Inspection.Span]) {
        let spans = steps.withLock { steps in noted.flatMap { steps.noted($0) } }
        if spans.isEmpty { return }
        let tracer = OTLPTracer { [self] in ended($0) }
        for span in spans { span.perform(tracer) }
    }

    private func ended(_ span: SpanRecord) {
        if !machine.withLock({ $0.add(span) }) { metrics.spans[.queueFull].increment() }
    }

    /// Sends spans until the task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(settings.intervalMs))
            await sendAll(isLast: false)
        }
    }

    /// Sends what waits, each batch once.
    package func flush(withinMs: Int64) async {
        guard withinMs > 0 else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.sendAll(isLast: true) }
            group.addTask { try? await Task.sleep(for: .milliseconds(withinMs)) }
            await group.next()
            group.cancelAll()
        }
    }

    private func sendAll(isLast: Bool) async {
        while !Task.isCancelled {
            let batch = machine.withLock { $0.next(nowMs: Int64(MonotonicClock.nowMs()), isLast: isLast) }
            guard let batch else { return }
            let (outcome, problem) = await send(batch)
            count(machine.withLock { $0.ended(outcome, nowMs: Int64(MonotonicClock.nowMs())) })
            if let problem { report(problem) }
            if isLast, case .busy = outcome { return }
        }
    }

    private func send(_ batch: [SpanRecord]) async -> (ExportMachine.Outcome, problem: String?) {
        let body = OTLPDocument.json(batch, resource: resource).compactBytes
        let answer = await sender.send(
            HTTPSender.Request(
                url: settings.url, headers: headers, body: body, timeoutMs: settings.timeoutMs,
                responseBytesMax: Self.answerBytesMax))
        switch answer {
        case .success(let response) where (200..<300).contains(response.status):
            return (.accepted(rejected: Self.rejected(response.body)), nil)
        case .success(let response):
            let problem = "it answered status \(response.status)"
            return ([429, 502, 503, 504].contains(response.status) ? .busy : .refused, problem)
        // It was received, whatever the answer says.
        case .failure(.responseTooLarge): return (.accepted(rejected: 0), nil)
        case .failure(.timedOut): return (.busy, "it did not answer within \(settings.timeoutMs) ms")
        case .failure(.unreachable(let cause)), .failure(.broken(let cause)): return (.busy, cause)
        case .failure(.stopped): return (.busy, nil)
        }
    }

    /// Reads `partialSuccess.rejectedSpans`, a number or the text of one.
    private static func rejected(_ body: [UInt8]) -> Int {
        let value = (try? JSONParser.parse(body))?["partialSuccess"]?["rejectedSpans"]
        return Int(value?.intValue ?? value?.stringValue.flatMap { Int64($0) } ?? 0)
    }

    private func count(_ counts: ExportMachine.Counts) {
        metrics.spans[.exported].increment(by: counts.exported)
        for (drop, count) in counts.dropped { metrics.spans[.init(drop)].increment(by: count) }
    }

    private func report(_ problem: String) {
        guard let leftOut = failure.withLock({ $0.failed(problem, nowMs: WallClock.nowMs()) }) else { return }
        logger.warning(
            "spans could not be sent to trace.otlp.url", metadata: ["error": "\(problem)", "notLogged": "\(leftOut)"])
    }
}

extension TraceSpan {
    private struct Instant: TracerInstant {
        let nanosecondsSinceEpoch: UInt64

        init(us: Int64) { nanosecondsSinceEpoch = UInt64(max(0, us)) &* 1_000 }

        static func < (a: Instant, b: Instant) -> Bool { a.nanosecondsSinceEpoch < b.nanosecondsSinceEpoch }
    }

    /// Makes the span with a tracer.
    func perform(_ tracer: some Tracer) {
        var context = ServiceContext.topLevel
        context.traceParent = parentID.map { TraceParent(traceID: traceID, spanID: $0, isSampled: true) }
        context.spanIdentity = TraceParent(traceID: traceID, spanID: spanID, isSampled: true)
        let span = tracer.startSpan(name, context: context, ofKind: kind, at: Instant(us: startUs))
        for (name, value) in attributes {
            switch value {
            case .text(let text): span.attributes[name] = SpanAttribute.string(text)
            case .number(let number): span.attributes[name] = SpanAttribute.int64(number)
            case .texts(let texts): span.attributes[name] = SpanAttribute.stringArray(texts)
            }
        }
        if let error {
            span.attributes["error.type"] = SpanAttribute.string(error)
            span.setStatus(SpanStatus(code: .error, message: error))
        }
        span.end(at: Instant(us: endUs))
    }
}
