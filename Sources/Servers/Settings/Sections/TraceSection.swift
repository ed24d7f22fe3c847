import Sessions

package struct TraceSection: SettingSection {
    package static let doc = "Export of traced mutations to an OpenTelemetry collector."
    package static let declared = TraceSection()

    package let otlpUrl = Setting.optional(
        "trace.otlp.url", "URL for OTLP over HTTP as JSON, such as http://collector:4318/v1/traces; empty: none.")
    package let otlpHeaders = Setting.list(
        "trace.otlp.headers", secret: true, "Headers of each request, NAME=VALUE, such as the collector's API key.")
    package let otlpTimeoutMs = Setting.duration(
        "trace.otlp.timeoutMs", 10_000, in: 100...minute, "Time in which the collector must answer.")
    package let otlpIntervalMs = Setting.duration(
        "trace.otlp.intervalMs", 1_000, in: 10...minute, "Time for which spans are gathered before they are sent.")
    package let otlpBatchMax = Setting.int("trace.otlp.batchMax", 512, in: 1...10_000, "Spans of one request.")
    package let otlpQueueMax = Setting.int(
        "trace.otlp.queueMax", 4_096, in: 1...1_000_000, "Spans that wait; further ones are dropped and counted.")
    package let otlpAttemptsMax = Setting.int(
        "trace.otlp.attemptsMax", 5, in: 1...100, "Attempts to send a batch before its spans are dropped and counted.")
}
