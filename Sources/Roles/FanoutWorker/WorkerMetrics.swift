import Execution
import LiveModel
import Metrics
import Observability
import Refresh

/// The metrics of a worker.
package struct WorkerMetrics: Sendable {
    private let shards = Metric.gauge(
        "freshet_worker_shards", "shards owned; the sum over all workers should be `freshet_cluster_shards`")
    private let unfollowed = Metric.gauge(
        "freshet_worker_unfollowed_shards", "owned shards without live queries, to which publishers append no events")
    private let liveQueries = Metric.gauge("freshet_worker_live_queries", "live queries registered")
    private let due = Metric.gauge("freshet_worker_due_live_queries", "live queries waiting to run")
    private let paced = Metric.gauge(
        "freshet_worker_paced_live_queries", "live queries waiting for a rate-limited run")
    private let events = Metric.counter("freshet_worker_events_total", "mutation events read")
    private let runSeconds = Metric.timer(
        "freshet_refresh_statement_seconds", "duration of one statement for a batch of live queries")
    private let runs = Metric.counter("freshet_refresh_runs_total", "runs of live queries")
    private let cutShort = Metric.counter(
        "freshet_refresh_cut_short_total", "runs cut short because they took long, to be repeated apart from others")
    private let failed = Metric.counter(
        "freshet_refresh_failed_total", "runs of live queries that failed; clients keep the last result meanwhile")
    private let changed = Metric.counter("freshet_refresh_changed_total", "runs with a changed result")
    private let replicaAnswered = Metric.gauge(
        "freshet_refresh_replica_answered", "runs answered by a replica since the start")
    private let replicaMissed = Metric.gauge(
        "freshet_refresh_replica_missed", "runs that fell back to the primary since the start")
    private let replayed = Metric.counter(
        "freshet_takeover_events_replayed_total", "events replayed to validate results that gateways hold")
    private let announced = Metric.counter(
        "freshet_takeover_live_queries_announced_total", "live queries announced with a known result")
    private let kept = Metric.counter(
        "freshet_takeover_live_queries_kept_total", "announced live queries kept without a run")
    private let rerun = Metric.counter(
        "freshet_takeover_runs_paced_total", "announced live queries run again at a limited rate")
    private let losses = Metric.counter(
        "freshet_takeover_event_losses_total",
        "times that a shard re-ran everything because events may have been lost")
    enum Effect: String, MetricLabelValue {
        case changed, unchanged
    }

    private let ruleRuns = Metric.counters(
        "freshet_refresh_rule_runs_total", by: "result", Effect.self, "runs that only rules on mutations caused")
    private let unnoticed = Metric.counter(
        "freshet_refresh_unnoticed_total", "changes of rows that an observed live query reads and no rule noticed")
    private let unnoticedChecked = Metric.counters(
        "freshet_refresh_unnoticed_checked_total", by: "result", Effect.self,
        "sampled runs after such changes: the result was stale if it changed")
    private let verified = Metric.counter(
        "freshet_verification_runs_total", "runs without a cause, to verify that a live query missed no change")
    private let mismatches = Metric.counter(
        "freshet_verification_mismatch_total", "of them, those that found a change which no event explained")
    private var reported = TakeOverCounts()
    private var reportedTotals = Totals()

    /// The sums over all operations.
    private struct Totals {
        var (ruleChanged, ruleUnchanged): (UInt64, UInt64) = (0, 0)
        var (unnoticed, stale, fresh): (UInt64, UInt64, UInt64) = (0, 0, 0)
        var verification: (runs: UInt64, mismatches: UInt64) = (0, 0)

        init() {}

        init(_ machine: RefreshMachine) {
            for counts in machine.refreshCounts.values {
                ruleChanged += counts.byRule.changed
                ruleUnchanged += counts.byRule.unchanged
                unnoticed += counts.unnoticed.values.reduce(0, +)
                stale += counts.checked.changed
                fresh += counts.checked.unchanged
            }
            verification = machine.verificationCounts
        }
    }

    package init() {}

    func read(events count: UInt64) { events.increment(by: Int64(count)) }

    /// Records one statement for some live queries of an operation.
    /// - Parameter count: the live queries of one statement.
    func ran(_ count: Int, changed results: Int, cutShort cuts: Int, failed failures: Int, took duration: Duration) {
        runSeconds.record(duration: duration)
        runs.increment(by: Int64(count))
        cutShort.increment(by: Int64(cuts))
        failed.increment(by: Int64(failures))
        changed.increment(by: Int64(results))
    }

    mutating func record(
        _ machine: RefreshMachine, unfollowed unfollowedCount: Int, replicas: (answered: Int, missed: Int)
    ) {
        liveQueries.record(machine.liveQueryCount)
        due.record(machine.dueCount)
        shards.record(machine.ownedShards.count)
        unfollowed.record(unfollowedCount)
        paced.record(machine.pacedCount)
        replicaAnswered.record(replicas.answered)
        replicaMissed.record(replicas.missed)
        let counts = machine.takeOver
        replayed.increment(by: Int64(counts.replayed - reported.replayed))
        announced.increment(by: Int64(counts.announced - reported.announced))
        kept.increment(by: Int64(counts.kept - reported.kept))
        rerun.increment(by: Int64(counts.rerun - reported.rerun))
        losses.increment(by: Int64(counts.losses - reported.losses))
        reported = counts
        let totals = Totals(machine)
        let before = reportedTotals
        ruleRuns[.changed].increment(by: Int64(totals.ruleChanged - before.ruleChanged))
        ruleRuns[.unchanged].increment(by: Int64(totals.ruleUnchanged - before.ruleUnchanged))
        unnoticed.increment(by: Int64(totals.unnoticed - before.unnoticed))
        unnoticedChecked[.changed].increment(by: Int64(totals.stale - before.stale))
        unnoticedChecked[.unchanged].increment(by: Int64(totals.fresh - before.fresh))
        verified.increment(by: Int64(totals.verification.runs - before.verification.runs))
        mismatches.increment(by: Int64(totals.verification.mismatches - before.verification.mismatches))
        reportedTotals = totals
    }
}
