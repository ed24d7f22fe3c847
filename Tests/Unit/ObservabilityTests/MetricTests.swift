import Metrics
import Testing

@testable internal import Observability

@Suite("Declared metrics")
struct MetricTests {
    private enum Colour: String, MetricLabelValue {
        case red, green
    }

    private struct Declared {
        let runs = Metric.counter("runs_total", "runs")
        let depth = Metric.gauge("depth", "entries waiting")
        let took = Metric.timer("took_seconds", "duration of a run")
        let seen = Metric.counters("seen_total", by: "colour", Colour.self, "things seen")
        let open = Metric.observed("open", "open things", labels: ["node"])
        let now = Metric.choice("now", by: "colour", Colour.self, "the present colour")
    }

    @Test("families are listed in the order of the declarations, without creating series")
    func families() {
        let families = Metric.families(of: Declared.init)
        #expect(families.map(\.name) == ["runs_total", "depth", "took_seconds", "seen_total", "open", "now"])
        #expect(families.map(\.kind) == [.counter, .gauge, .timer, .counter, .gauge, .gauge])
        #expect(families.map(\.help)[3] == "things seen")
        #expect(families[3].labels == [.init(name: "colour", values: ["red", "green"])])
        #expect(families[4].labels == [.init(name: "node", values: [])])
        #expect(families[5].labels == [.init(name: "colour", values: ["red", "green"])])
        #expect(families[2].unit == "seconds" && families[0].unit == "")
    }

    @Test("the page of a declared metric has its help, labels and type")
    func declared() {
        let metrics = PrometheusMetrics()
        let families = Metric.families(of: Declared.init)
        for family in families { metrics.describe(family) }
        let seen = CounterByCase(
            counters: Colour.allCases.map {
                ($0, Counter(label: "seen_total", dimensions: [("colour", $0.labelValue)], factory: metrics))
            })
        seen[.green].increment(by: 2)
        seen[.red].increment()
        ObservedMetric(family: families[4]).observe(in: metrics, labels: [("node", "a")]) { 3 }
        let lines = String(decoding: metrics.render(), as: UTF8.self).split(separator: "\n")
        #expect(
            lines.filter { $0.contains("seen") || $0.contains("open") } == [
                "# HELP open open things", "# TYPE open gauge", "open{node=\"a\"} 3",
                "# HELP seen_total things seen", "# TYPE seen_total counter", "seen_total{colour=\"green\"} 2",
                "seen_total{colour=\"red\"} 1",
            ])
    }

    @Test("a choice is 1 for one value, or for none")
    func choice() {
        let metrics = PrometheusMetrics()
        let now = ChoiceGauge(
            gauges: Colour.allCases.map {
                ($0, Gauge(label: "now", dimensions: [("colour", $0.labelValue)], factory: metrics))
            })
        func lines() -> [Substring] {
            String(decoding: metrics.render(), as: UTF8.self).split(separator: "\n").filter { $0.hasPrefix("now") }
        }
        now.choose(.red)
        now.choose(.green)
        #expect(lines() == ["now{colour=\"green\"} 1", "now{colour=\"red\"} 0"])
        now.choose(nil)
        #expect(lines() == ["now{colour=\"green\"} 0", "now{colour=\"red\"} 0"])
    }

    @Test("a backslash and a line break are escaped in help, a quotation mark is not")
    func escapedHelp() {
        let metrics = PrometheusMetrics()
        metrics.describe(MetricFamily("a_total", .counter, "a \"b\" \\ c\nd"))
        Counter(label: "a_total", factory: metrics).increment()
        let text = String(decoding: metrics.render(), as: UTF8.self)
        #expect(text.hasPrefix("# HELP a_total a \"b\" \\\\ c\\nd\n# TYPE a_total counter\na_total 1\n"))
    }
}
