import Metrics
package import Observability

/// The metrics of spans that go to a collector.
package struct TraceExportMetrics: Sendable {
    package enum Outcome: String, MetricLabelValue {
        case exported
        /// The queue had no place.
        case queueFull = "queue_full"
        /// The collector did not answer, or was busy, in all attempts.
        case unreachable
        /// The collector refused them.
        case refused

        init(_ drop: ExportMachine.Drop) {
            switch drop {
            case .queueFull: self = .queueFull
            case .unreachable: self = .unreachable
            case .refused: self = .refused
            }
        }
    }

    let spans = Metric.counters(
        "freshet_otlp_spans_total", by: "outcome", Outcome.self,
        "spans of traced mutations that were sent to trace.otlp.url, or dropped")

    package init() {}
}
