import Execution
import LiveModel
import Metrics
import Observability

/// The metrics of mutations.
package struct MutationMetrics: Sendable {
    let duration = Metric.timer("freshet_mutation_seconds", "time from the start of a mutation to its commit")
    let refused = Metric.counter(
        "freshet_mutations_refused_total", "mutations refused because too many were in flight")

    package init() {}
}

/// The metrics of idempotency keys.
package struct IdempotencyMetrics: Sendable {
    let kept = Metric.counter("freshet_idempotency_kept_total", "answers kept under an idempotency key")
    let unkept = Metric.counter(
        "freshet_idempotency_too_large_total", "answers of mutations with a key that were too large to keep")
    let replayed = Metric.counter(
        "freshet_idempotency_replayed_total", "mutations answered with what was kept under their key")
    let waited = Metric.counter(
        "freshet_idempotency_waited_total", "mutations that waited for another one with their key, and were answered")
    let inUse = Metric.counter(
        "freshet_idempotency_in_use_total", "mutations refused because another one with their key took too long")
    let conflicts = Metric.counter(
        "freshet_idempotency_conflicts_total",
        "mutations refused because their key was used for another operation or other variables")
    let swept = Metric.counter("freshet_idempotency_swept_total", "keys removed after their time")
    let evicted = Metric.counter(
        "freshet_idempotency_evicted_total", "keys removed before their time, because there were too many")

    package init() {}

    /// Counts the use of a key by a mutation that has an answer.
    func count(_ use: MutationExecutor.KeyUse) {
        if use.hasWaited { waited.increment() }
        switch (use.isReplay, use.isAnswerMissing) {
        case (true, _): replayed.increment()
        case (false, true): unkept.increment()
        case (false, false): kept.increment()
        }
    }

    func count(_ error: RequestError) {
        switch error.code {
        case .idempotencyKeyInUse: inUse.increment()
        case .idempotencyKeyReused: conflicts.increment()
        default: break
        }
    }
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
