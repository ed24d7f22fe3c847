import Metrics
import Observability

/// The metrics of the reader of the database's log.
package struct TailerMetrics: Sendable {
    let isReading = Metric.gauge("freshet_tailer_reading", "1 on the node that reads the database's log")
    let transactions = Metric.counter(
        "freshet_tailer_transactions_total", "transactions from the log whose changes were published")
    let changes = Metric.counter("freshet_tailer_changes_total", "changes of rows from the log that were published")
    let covered = Metric.counter(
        "freshet_tailer_covered_total",
        "transactions of which nothing was published, because their events tell it")
    let delay = Metric.timer(
        "freshet_tailer_delay_seconds", "time from a commit to the publication of its changes, by both clocks")
    let doubts = Metric.counter(
        "freshet_tailer_doubts_total", "times that all queries depending on the log ran again")
    let failures = Metric.counter("freshet_tailer_failures_total", "times that the log could not be read")
    let retained = Metric.gauge(
        "freshet_tailer_retained_bytes", "log that the database keeps for the slot, as the node last saw it")

    package init() {}
}
