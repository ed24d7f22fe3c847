import Metrics
import Observability
import RoleMachines

/// The metrics of the reader of the database's log.
package struct TailerMetrics: Sendable {
    let isReading = Metric.gauge("freshet_tailer_reading", "1 on the node that reads the database's log")
    let isFailing = Metric.gauge(
        "freshet_tailer_failing", "1 on a node that wants to read the database's log and cannot")
    let transactions = Metric.counter(
        "freshet_tailer_transactions_total", "transactions from the log that were published")
    let changes = Metric.counter("freshet_tailer_changes_total", "changes of rows from the log that were published")
    let events = Metric.counter(
        "freshet_tailer_events_total", "events of mutations from the log that were published (outbox.kind: wal)")
    let covered = Metric.counter(
        "freshet_tailer_covered_total",
        "transactions of which nothing was published, because their events tell it")
    let delay = Metric.timer(
        "freshet_tailer_delay_seconds", "time from a commit to its publication from the log, by both clocks")
    let doubts = Metric.counter(
        "freshet_tailer_doubts_total", "times that all queries depending on the log ran again")
    let failures = Metric.counter("freshet_tailer_failures_total", "times that the log could not be read")
    let retained = Metric.gauge(
        "freshet_tailer_retained_bytes", "log that the database keeps for the slot, as the node last saw it")

    let safe = Metric.gauge(
        "freshet_tailer_safe_bytes",
        "log that can be written before the slot may be lost, as the node last saw it; +Inf without limit or slot")
    let health = Metric.choice(
        "freshet_tailer_slot_health", by: "health", SlotHealth.self,
        "1 for the condition of the slot as the node last saw it; all 0 while nobody needs the log")

    package init() {}

    func saw(_ slot: TailerMachine.Inspection.Slot?) {
        retained.record(slot?.retainedBytes ?? 0)
        safe.record(slot?.safeBytesOrInfinity ?? .infinity)
        health.choose(SlotHealth(slot))
    }

    func sawNothing() {
        saw(nil)
        health.choose(nil)
    }
}
