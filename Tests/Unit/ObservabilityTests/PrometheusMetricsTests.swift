import Metrics
import Testing

@testable internal import Observability

@Suite("Prometheus metrics")
struct PrometheusMetricsTests {
    private func lines(_ metrics: PrometheusMetrics) -> [String] {
        String(decoding: metrics.render(), as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { !$0.contains("freshet_metrics_refused_total") }
    }

    private func refused(_ metrics: PrometheusMetrics) -> [String] {
        String(decoding: metrics.render(), as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { $0.hasPrefix("freshet_metrics_refused_total") }
    }

    @Test("counters sum up, whole and fractional, and are one for the same name and labels")
    func counters() {
        let metrics = PrometheusMetrics()
        metrics.describe(MetricFamily("freshet_gateway_frames_total", .counter, "Frames sent.\nA \\ too"))
        let first = Counter(label: "freshet.gateway.frames", dimensions: [("to", "b"), ("as", "a")], factory: metrics)
        let same = Counter(label: "freshet.gateway.frames", dimensions: [("as", "a"), ("to", "b")], factory: metrics)
        first.increment(by: 2)
        same.increment()
        FloatingPointCounter(label: "freshet.seconds", factory: metrics).increment(by: 0.5)
        #expect(
            lines(metrics) == [
                "# HELP freshet_gateway_frames_total Frames sent.\\nA \\\\ too",
                "# TYPE freshet_gateway_frames_total counter",
                "freshet_gateway_frames_total{as=\"a\",to=\"b\"} 3",
                "# TYPE freshet_seconds_total counter",
                "freshet_seconds_total 0.5",
            ])
    }

    @Test("meters and gauges hold the last value")
    func gauges() {
        let metrics = PrometheusMetrics()
        let meter = Meter(label: "m", factory: metrics)
        meter.set(7)
        meter.increment(by: 1.5)
        meter.decrement(by: 2)
        Gauge(label: "g", factory: metrics).record(-3)
        metrics.observe("queue.length", dimensions: [("of", "x")]) { 1 }
        metrics.observe("queue.length", dimensions: [("of", "x")]) { 9 }
        #expect(
            lines(metrics) == [
                "# TYPE g gauge", "g -3", "# TYPE m gauge", "m 6.5", "# TYPE queue_length gauge",
                "queue_length{of=\"x\"} 9",
            ])
    }

    @Test("a timer is a histogram in seconds with cumulated buckets")
    func timers() {
        let metrics = PrometheusMetrics()
        let timer = Timer(label: "freshet.run", dimensions: [("op", "q")], factory: metrics)
        timer.recordMilliseconds(1)
        timer.recordMilliseconds(3)
        timer.recordSeconds(60)
        let text = lines(metrics)
        #expect(text[0] == "# TYPE freshet_run_seconds histogram")
        #expect(text[1] == "freshet_run_seconds_bucket{op=\"q\",le=\"0.0005\"} 0")
        #expect(text[2] == "freshet_run_seconds_bucket{op=\"q\",le=\"0.001\"} 1")
        #expect(text.contains("freshet_run_seconds_bucket{op=\"q\",le=\"0.005\"} 2"))
        #expect(text.contains("freshet_run_seconds_bucket{op=\"q\",le=\"30\"} 2"))
        #expect(
            text.suffix(3) == [
                "freshet_run_seconds_bucket{op=\"q\",le=\"+Inf\"} 3", "freshet_run_seconds_sum{op=\"q\"} 60.004",
                "freshet_run_seconds_count{op=\"q\"} 3",
            ])
        #expect(text.count == 1 + PrometheusMetrics.timerBuckets.count + 3)
    }

    @Test("an aggregating recorder is a histogram of sizes")
    func recorders() {
        let metrics = PrometheusMetrics()
        Recorder(label: "batch", factory: metrics).record(5)
        #expect(lines(metrics).contains("batch_bucket{le=\"2\"} 0"))
        #expect(lines(metrics).contains("batch_bucket{le=\"5\"} 1"))
        #expect(lines(metrics).suffix(2) == ["batch_sum 5", "batch_count 1"])
    }

    @Test("series past the bound are refused and counted; known ones go on")
    func bound() {
        let metrics = PrometheusMetrics(seriesMax: 2)
        for user in 0..<5 { Counter(label: "c", dimensions: [("user", "\(user)")], factory: metrics).increment() }
        Counter(label: "c", dimensions: [("user", "0")], factory: metrics).increment()
        #expect(
            lines(metrics) == ["# TYPE c_total counter", "c_total{user=\"0\"} 2", "c_total{user=\"1\"} 1"])
        #expect(
            refused(metrics) == [
                "freshet_metrics_refused_total{reason=\"kind\"} 0",
                "freshet_metrics_refused_total{reason=\"series\"} 3",
            ])
    }

    @Test("a name is of one kind")
    func kinds() {
        let metrics = PrometheusMetrics()
        Meter(label: "x", factory: metrics).set(1)
        Recorder(label: "x", factory: metrics).record(2)
        metrics.observe("x") { 3 }
        #expect(lines(metrics) == ["# TYPE x gauge", "x 1"])
        #expect(refused(metrics)[0] == "freshet_metrics_refused_total{reason=\"kind\"} 2")
    }

    @Test("a destroyed series goes with its last handler and makes room")
    func destroyed() {
        let metrics = PrometheusMetrics(seriesMax: 1)
        let first = Counter(label: "a", factory: metrics)
        let second = Counter(label: "a", factory: metrics)
        first.destroy()
        second.increment()
        #expect(lines(metrics).contains("a_total 1"))
        second.destroy()
        #expect(lines(metrics) == [])
        Counter(label: "b", factory: metrics).increment()
        #expect(lines(metrics).contains("b_total 1"))
    }

    @Test(
        "names and labels are made valid",
        arguments: [
            ("freshet.api-requests", "_total", "freshet_api_requests_total"), ("a_total", "_total", "a_total"),
            ("9lives", "", "_9lives"), ("a:b", "", "a:b"), ("", "", "_"), ("é", "", "__"),
        ])
    func names(label: String, suffix: String, expected: String) {
        #expect(MetricText.name(label, suffix: suffix) == expected)
    }

    @Test func labelsAreSortedAndEscaped() {
        #expect(
            MetricText.labels([("b-c", "x\"y\\z\n"), ("le", "1"), ("a", "1"), ("a", "2")])
                == "a=\"2\",b_c=\"x\\\"y\\\\z\\n\",le_=\"1\"")
    }

    @Test(arguments: [
        (1.0, "1"), (0.25, "0.25"), (-2.0, "-2"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"),
        (1e300, "1e+300"),
    ])
    func numbersArePrintedAsPrometheusReadsThem(value: Double, expected: String) {
        #expect(MetricText.number(value) == expected)
    }

    @Test("many threads lose nothing")
    func concurrent() async {
        let metrics = PrometheusMetrics()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<500 {
                        Counter(label: "c", factory: metrics).increment()
                        Meter(label: "m", factory: metrics).increment(by: 1)
                        Timer(label: "t", factory: metrics).recordNanoseconds(1)
                    }
                }
            }
        }
        #expect(lines(metrics).contains("c_total 4000"))
        #expect(lines(metrics).contains("m 4000"))
        #expect(lines(metrics).contains("t_seconds_count 4000"))
    }
}
