import Pacing

/// Decides when spans are sent to the collector, in which batches, and which are dropped. Pure.
///
/// One batch is on its way at a time. Source: OpenTelemetry Protocol 1.x, "OTLP/HTTP Response" and "Throttling".
package struct ExportMachine: Sendable {
    package struct Settings: Sendable, Hashable {
        /// The spans of one request.
        package var batchMax = 512
        /// The spans that wait, those on their way included.
        package var queueMax = 4_096
        /// The attempts to send a batch.
        package var attemptsMax = 5
        package var retryMinMs: Int64 = 1_000
        package var retryMaxMs: Int64 = 30_000

        package init() {}
    }

    /// The end of an attempt.
    package enum Outcome: Sendable, Hashable {
        /// - Parameter rejected: the spans that the collector did not take.
        case accepted(rejected: Int)
        /// The same batch may be accepted later.
        case busy
        case refused
    }

    package enum Drop: Sendable, Hashable {
        case queueFull, unreachable, refused
    }

    /// The fate of spans.
    package struct Counts: Sendable, Hashable {
        package var exported = 0
        package var dropped: [Drop: Int] = [:]
    }

    private let settings: Settings
    private let backoff: Backoff
    private var waiting: [SpanRecord] = []
    private var batch: [SpanRecord] = []
    private var attempts = 0
    private var notBeforeMs: Int64 = .min
    private var isSending = false

    package init(_ settings: Settings = Settings()) {
        self.settings = settings
        backoff = Backoff(minMs: settings.retryMinMs, maxMs: settings.retryMaxMs)
    }

    package var count: Int { waiting.count + batch.count }

    /// Takes a span that ended.
    /// - Returns: whether it waits now; otherwise it is dropped.
    package mutating func add(_ span: SpanRecord) -> Bool {
        guard count < settings.queueMax else { return false }
        waiting.append(span)
        return true
    }

    /// Returns the batch to send now, after which `ended` must be called; nil if there is none.
    /// - Parameter isLast: whether the node stops, so that no pause is kept.
    package mutating func next(nowMs: Int64, isLast: Bool = false) -> [SpanRecord]? {
        guard !isSending, isLast || nowMs >= notBeforeMs else { return nil }
        if batch.isEmpty {
            batch = Array(waiting.prefix(settings.batchMax))
            waiting.removeFirst(batch.count)
        }
        if batch.isEmpty { return nil }
        isSending = true
        return batch
    }

    package mutating func ended(_ outcome: Outcome, nowMs: Int64) -> Counts {
        precondition(isSending, "a batch that was not sent has ended")
        isSending = false
        var counts = Counts()
        switch outcome {
        case .accepted(let rejected):
            let rejected = min(max(0, rejected), batch.count)
            counts.exported = batch.count - rejected
            if rejected > 0 { counts.dropped[.refused] = rejected }
        case .refused: counts.dropped[.refused] = batch.count
        case .busy:
            attempts += 1
            notBeforeMs = nowMs + backoff.delayMs(after: attempts - 1)
            guard attempts >= settings.attemptsMax else { return counts }
            // The pause stays: the next batch would meet the same collector.
            counts.dropped[.unreachable] = batch.count
            batch = []
            attempts = settings.attemptsMax - 1
            return counts
        }
        batch = []
        attempts = 0
        notBeforeMs = .min
        return counts
    }
}
