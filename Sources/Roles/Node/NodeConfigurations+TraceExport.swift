import Settings
import TraceExport

extension NodeContext {
    /// How spans of traced mutations go to a collector; nil if none do.
    var traceExportSettings: OTLPExporter.Settings? {
        let trace = settings.trace
        guard let url = trace.otlpUrl else { return nil }
        var exporter = OTLPExporter.Settings(url: url)
        exporter.headers = trace.otlpHeaders
        exporter.timeoutMs = trace.otlpTimeoutMs
        exporter.intervalMs = trace.otlpIntervalMs
        exporter.queue.batchMax = trace.otlpBatchMax
        exporter.queue.queueMax = trace.otlpQueueMax
        exporter.queue.attemptsMax = trace.otlpAttemptsMax
        return exporter
    }
}
