package import Metrics
import Synchronization

/// A backend of swift-metrics that keeps every series in memory and renders them in Prometheus' text format 0.0.4.
///
/// Names: `freshet.gateway.sessions` becomes `freshet_gateway_sessions`; counters get the suffix `_total`, timers
/// `_seconds`. Counters, meters and gauges have one value, timers and aggregating recorders are histograms with fixed
/// buckets. Creating the same series twice returns the same handler.
///
/// There are at most `seriesMax` series, so that labels that a client can choose cannot exhaust memory: further ones
/// are counted in `freshet_metrics_refused_total` and discarded.
package final class PrometheusMetrics: MetricsFactory {
    /// Content type of the response with `render()`.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Upper bounds of timers, in seconds.
    package static let timerBuckets: [Double] = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
    ]
    /// Upper bounds of counts and sizes.
    package static let recorderBuckets: [Double] = [
        1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 100_000, 1_000_000, 10_000_000,
    ]

    private let seriesMax: Int
    private let registry = Mutex(MetricRegistry())
    /// Descriptions by name. Bound: the families that the code declares.
    private let descriptions = Mutex<[String: MetricFamily]>([:])
    private let refusedSeries = CounterSeries()
    private let refusedKind = CounterSeries()

    /// The metric of this type itself.
    package static let refused = MetricFamily(
        "freshet_metrics_refused_total", .counter,
        "metrics discarded because there are too many series or a name is used for two kinds",
        labels: [.init(name: "reason", values: ["kind", "series"])])

    package init(seriesMax: Int = 10_000) {
        self.seriesMax = seriesMax
    }

    /// The series of this name have the family's description as `# HELP`.
    package func describe(_ family: MetricFamily) {
        descriptions.withLock { $0[family.name] = family }
    }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, "_total", .counter, dimensions) { CounterSeries() }
    }

    package func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(label, "_total", .counter, dimensions) { CounterSeries() }
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, "", .gauge, dimensions) { GaugeSeries() }
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        if aggregate {
            series(label, "", .histogram, dimensions) { HistogramSeries(bounds: Self.recorderBuckets) }
        } else {
            series(label, "", .gauge, dimensions) { GaugeSeries() }
        }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, "_seconds", .histogram, dimensions) { HistogramSeries(bounds: Self.timerBuckets) }
    }

    /// A gauge or counter whose value is read at every rendering, for values that are known anyway, such as the length
    /// of a queue. One with the same name and labels is replaced. `read` must be quick and must not create metrics.
    package func observe(
        _ label: String, isCounter: Bool = false, dimensions: [(String, String)] = [],
        _ read: @escaping @Sendable () -> Double
    ) {
        let observed: ObservedSeries = series(
            label, isCounter ? "_total" : "", isCounter ? .counter : .gauge, dimensions
        ) { ObservedSeries() }
        observed.read.withLock { $0 = read }
    }

    package func destroyCounter(_ handler: any CounterHandler) { forget(handler) }
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { forget(handler) }
    package func destroyMeter(_ handler: any MeterHandler) { forget(handler) }
    package func destroyRecorder(_ handler: any RecorderHandler) { forget(handler) }
    package func destroyTimer(_ handler: any TimerHandler) { forget(handler) }

    private func series<Series: MetricSeries>(
        _ label: String, _ suffix: String, _ kind: MetricKind, _ dimensions: [(String, String)],
        make: @Sendable () -> Series
    ) -> Series {
        let labels = MetricText.labels(dimensions)
        let outcome = registry.withLock { registry in
            registry.find(
                name: MetricText.name(label, suffix: suffix), kind: kind, labels: labels, seriesMax: seriesMax,
                make: make)
        }
        switch outcome {
        case .found(let series): return series
        case .full: refusedSeries.increment(by: 1 as Int64)
        case .otherKind: refusedKind.increment(by: 1 as Int64)
        }
        return make()
    }

    private func forget(_ handler: AnyObject) {
        registry.withLock { $0.release(ObjectIdentifier(handler)) }
    }

    /// All series in text format 0.0.4, families and series sorted.
    package func render() -> [UInt8] {
        // Values are read outside the lock, because an observed gauge may take other locks.
        let families = registry.withLock { $0.sorted() }
        let descriptions = descriptions.withLock { $0 }
        var text: [UInt8] = []
        for family in families {
            MetricText.appendHead(family.name, family.kind, help: descriptions[family.name]?.help, to: &text)
            for (labels, series) in family.series { series.append(name: family.name, labels: labels, to: &text) }
        }
        MetricText.appendHead(Self.refused.name, .counter, help: Self.refused.help, to: &text)
        refusedKind.append(name: Self.refused.name, labels: "reason=\"kind\"", to: &text)
        refusedSeries.append(name: Self.refused.name, labels: "reason=\"series\"", to: &text)
        return text
    }
}
