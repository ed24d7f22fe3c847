import Metrics
import Observability

/// The metrics of mutations.
package struct MutationMetrics: Sendable {
    let duration = Metric.timer("freshet_mutation_seconds", "time from the start of a mutation to its commit")
    let refused = Metric.counter(
        "freshet_mutations_refused_total", "mutations refused because too many were in flight")

    package init() {}
}

/// The metrics of publishing events.
package struct PublisherMetrics: Sendable {
    let published = Metric.counter("freshet_events_published_total", "events appended to the streams")
    let deferred = Metric.counter("freshet_events_deferred_total", "events left in the outbox for the sweeper")
    let republished = Metric.counter(
        "freshet_events_republished_after_split_total",
        "events sent to further shards because splits changed after the commit")

    package init() {}
}

/// The metrics of the outbox; nodes with the role api or worker sweep it.
package struct SweeperMetrics: Sendable {
    let backlog = Metric.gauge("freshet_outbox_backlog_rows", "rows in the outbox")
    let oldest = Metric.gauge("freshet_outbox_oldest_seconds", "age of the oldest row")
    let swept = Metric.counter("freshet_outbox_swept_total", "rows that the sweeper published")
    let folded = Metric.counter(
        "freshet_outbox_folded_total", "rows folded into one that refreshes everything")

    package init() {}
}
