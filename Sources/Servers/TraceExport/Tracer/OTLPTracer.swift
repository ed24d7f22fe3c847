import Observability
import Synchronization
package import Tracing

/// The backend of swift-distributed-tracing that hands ended spans to an exporter. It is no global instrument: code
/// that makes spans gets it, so other libraries in the process, such as the HTTP client that sends them, make none.
package final class OTLPTracer: Tracer {
    private let ended: @Sendable (SpanRecord) -> Void

    /// - Parameter ended: takes each span as it ends, on the thread that ends it; must not block.
    package init(ended: @escaping @Sendable (SpanRecord) -> Void) {
        self.ended = ended
    }

    package func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> OTLPSpan {
        var context = context()
        let parent = context.traceParent
        let own =
            context.spanIdentity
            ?? TraceParent(traceID: parent?.traceID ?? TraceID(), isSampled: parent?.isSampled ?? true)
        context.spanIdentity = nil
        context.traceParent = own
        return OTLPSpan(
            context, SpanRecord(own, parentID: parent?.spanID, operationName, kind, instant().nanosecondsSinceEpoch),
            ended: own.isSampled ? ended : nil)
    }

    package func startAnySpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> any Tracing.Span {
        startSpan(
            operationName, context: context(), ofKind: kind, at: instant(), function: function, file: fileID,
            line: line)
    }

    /// Flushes nothing: the exporter sends on its own.
    package func forceFlush() {}

    package func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let header = extractor.extract(key: TraceParent.headerName, from: carrier) else { return }
        context.traceParent = TraceParent(header)
    }

    package func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let parent = context.traceParent else { return }
        injector.inject(parent.description, forKey: TraceParent.headerName, into: &carrier)
    }
}

/// A span that is open, or has ended.
package final class OTLPSpan: Tracing.Span {
    package let context: ServiceContext
    private struct State {
        var record: SpanRecord
        var hasEnded = false
    }
    private let state: Mutex<State>
    private let ended: (@Sendable (SpanRecord) -> Void)?

    /// - Parameter ended: nil for a span that is not sampled.
    fileprivate init(
        _ context: ServiceContext, _ record: SpanRecord, ended: (@Sendable (SpanRecord) -> Void)?
    ) {
        self.context = context
        self.ended = ended
        state = Mutex(State(record: record))
    }

    package var isRecording: Bool { ended != nil && !state.withLock { $0.hasEnded } }

    /// Changes the record, unless the span has ended.
    private func change(_ body: (inout SpanRecord) -> Void) {
        state.withLock { if !$0.hasEnded { body(&$0.record) } }
    }

    package var operationName: String {
        get { state.withLock { $0.record.name } }
        set { change { $0.name = newValue } }
    }

    package var attributes: SpanAttributes {
        get { state.withLock { $0.record.attributes } }
        set { change { $0.attributes = newValue } }
    }

    package func setStatus(_ status: SpanStatus) { change { $0.status = status } }

    package func addEvent(_ event: SpanEvent) {
        change { if $0.events.count < SpanRecord.eventsMax { $0.events.append(event) } }
    }

    package func addLink(_ link: SpanLink) {
        guard let parent = link.context.traceParent else { return }
        change { if $0.links.count < SpanRecord.eventsMax { $0.links.append(parent) } }
    }

    /// Source: OpenTelemetry semantic conventions, "Recording an exception".
    package func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        var attributes = attributes
        attributes["exception.type"] = SpanAttribute.string("\(type(of: error))")
        addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
    }

    package func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let atNs = instant().nanosecondsSinceEpoch
        let record = state.withLock { state -> SpanRecord? in
            if state.hasEnded { return nil }
            state.hasEnded = true
            state.record.endNs = max(state.record.startNs, atNs)
            return state.record
        }
        if let record { ended?(record) }
    }
}

private enum SpanIdentityKey: ServiceContextKey {
    typealias Value = TraceParent
}

extension ServiceContext {
    /// The id that the next span gets; nil: a random one.
    var spanIdentity: TraceParent? {
        get { self[SpanIdentityKey.self] }
        set { self[SpanIdentityKey.self] = newValue }
    }
}
