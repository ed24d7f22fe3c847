package import Metrics
import Synchronization

/// Declares metrics: each call states name, description and labels, and returns what the code counts with. The
/// description goes to the `PrometheusMetrics` that is installed, for `# HELP`.
///
/// A module gathers its metrics in structs such as `WorkerMetrics`, one member each. An instance creates the series,
/// and `families(of:)` lists what it declares without creating any.
package enum Metric {
    package static func counter(_ name: String, _ help: String) -> Counter {
        Counter(label: name, factory: declare(MetricFamily(name, .counter, help)))
    }

    package static func gauge(_ name: String, _ help: String) -> Gauge {
        Gauge(label: name, factory: declare(MetricFamily(name, .gauge, help)))
    }

    package static func timer(_ name: String, _ help: String) -> Timer {
        Timer(label: name, factory: declare(MetricFamily(name, .timer, help)))
    }

    /// A counter for each case of `Case`, which is the value of the label.
    package static func counters<Case: MetricLabelValue>(
        _ name: String, by label: String, _: Case.Type = Case.self, _ help: String
    ) -> CounterByCase<Case> {
        let values = Case.allCases.map(\.labelValue)
        let factory = declare(
            MetricFamily(name, .counter, help, labels: [MetricFamily.Label(name: label, values: values)]))
        return CounterByCase(
            counters: Case.allCases.map { value in
                (value, Counter(label: name, dimensions: [(label, value.labelValue)], factory: factory))
            })
    }

    /// A gauge for each case of `Case`, which is the value of the label; at most one is 1, the others are 0.
    package static func choice<Case: MetricLabelValue>(
        _ name: String, by label: String, _: Case.Type = Case.self, _ help: String
    ) -> ChoiceGauge<Case> {
        let values = Case.allCases.map(\.labelValue)
        let factory = declare(
            MetricFamily(name, .gauge, help, labels: [MetricFamily.Label(name: label, values: values)]))
        return ChoiceGauge(
            gauges: Case.allCases.map { value in
                (value, Gauge(label: name, dimensions: [(label, value.labelValue)], factory: factory))
            })
    }

    /// A gauge that is read when it is scraped.
    package static func observed(_ name: String, _ help: String, labels: [String] = []) -> ObservedMetric {
        observed(MetricFamily(name, .gauge, help, labels: labels.map { MetricFamily.Label(name: $0, values: []) }))
    }

    /// A counter that is kept elsewhere and read when it is scraped.
    package static func observedCounter(_ name: String, _ help: String, labels: [String] = []) -> ObservedMetric {
        observed(MetricFamily(name, .counter, help, labels: labels.map { MetricFamily.Label(name: $0, values: []) }))
    }

    private static func observed(_ family: MetricFamily) -> ObservedMetric {
        Self.listing?.add(family)
        return ObservedMetric(family: family)
    }

    // MARK: Listing

    /// Returns the metrics that `make` declares, in the order of the declarations. No series is created.
    package static func families<Group>(of make: () -> Group) -> [MetricFamily] {
        let listing = Listing()
        $listing.withValue(listing) { _ = make() }
        return listing.families
    }

    @TaskLocal private static var listing: Listing?

    private final class Listing: Sendable {
        private let declared = Mutex<[MetricFamily]>([])

        var families: [MetricFamily] { declared.withLock { $0 } }

        func add(_ family: MetricFamily) { declared.withLock { $0.append(family) } }
    }

    private static func declare(_ family: MetricFamily) -> any MetricsFactory {
        if let listing {
            listing.add(family)
            return NOOPMetricsHandler.instance
        }
        let factory = MetricsSystem.factory
        (factory as? PrometheusMetrics)?.describe(family)
        return factory
    }
}

/// The value of a label, one of a fixed set.
package protocol MetricLabelValue: CaseIterable, Equatable, Sendable {
    var labelValue: String { get }
}

extension MetricLabelValue where Self: RawRepresentable<String> {
    package var labelValue: String { rawValue }
}

/// Counters of one family, which differ in the value of a label.
package struct CounterByCase<Case: MetricLabelValue>: Sendable {
    let counters: [(value: Case, counter: Counter)]

    /// A scan: there are a few cases, and no hash is computed.
    package subscript(_ value: Case) -> Counter {
        for known in counters where known.value == value { return known.counter }
        preconditionFailure("\(value) is not among \(counters.map(\.value))")
    }
}

/// Gauges of one family, which differ in the value of a label, for what is in one of several states.
package struct ChoiceGauge<Case: MetricLabelValue>: Sendable {
    let gauges: [(value: Case, gauge: Gauge)]

    /// - Parameter value: the state; nil: none.
    package func choose(_ value: Case?) {
        for known in gauges { known.gauge.record(known.value == value ? 1 : 0) }
    }
}

/// A gauge or counter that is read when it is scraped, by a function that `observe` installs.
package struct ObservedMetric: Sendable {
    package let family: MetricFamily

    /// - Parameter read: must be quick and must not create metrics.
    package func observe(
        in metrics: PrometheusMetrics, labels: [(String, String)] = [], _ read: @escaping @Sendable () -> Double
    ) {
        metrics.describe(family)
        metrics.observe(family.name, isCounter: family.kind == .counter, dimensions: labels, read)
    }
}
