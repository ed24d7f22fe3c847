import Execution
import LiveModel
import Metrics
import Refresh

/// The metrics of a worker; names and meanings are those of its `/metrics`.
struct WorkerMetrics {
    private let runSeconds = Metrics.Timer(label: "freshet_refresh_statement_seconds")
    private let runsTotal = Counter(label: "freshet_refresh_runs_total")
    private let changedTotal = Counter(label: "freshet_refresh_changed_total")
    private let eventsTotal = Counter(label: "freshet_worker_events_total")
    private let liveQueriesGauge = Gauge(label: "freshet_worker_live_queries")
    private let dueGauge = Gauge(label: "freshet_worker_due_live_queries")
    private let replicaAnsweredGauge = Gauge(label: "freshet_refresh_replica_answered")
    private let replicaMissedGauge = Gauge(label: "freshet_refresh_replica_missed")
    private let shardsGauge = Gauge(label: "freshet_worker_shards")
    private let pacedGauge = Gauge(label: "freshet_worker_paced_live_queries")
    private let replayedTotal = Counter(label: "freshet_takeover_events_replayed_total")
    private let announcedTotal = Counter(label: "freshet_takeover_live_queries_announced_total")
    private let keptTotal = Counter(label: "freshet_takeover_live_queries_kept_total")
    private let rerunTotal = Counter(label: "freshet_takeover_runs_paced_total")
    private let lossesTotal = Counter(label: "freshet_takeover_event_losses_total")
    private var recordedTakeOver = TakeOverCounts()

    func read(events: UInt64) { eventsTotal.increment(by: Int64(events)) }

    /// Records one statement for some live queries of an operation.
    func ran(_ outcomes: [RunOutcome], took duration: Duration) {
        runSeconds.record(duration: duration)
        runsTotal.increment(by: Int64(outcomes.count))
        changedTotal.increment(by: Int64(outcomes.count { if case .result = $0 { true } else { false } }))
    }

    mutating func record(_ machine: RefreshMachine, replicas: (answered: Int, missed: Int)) {
        liveQueriesGauge.record(machine.liveQueryCount)
        dueGauge.record(machine.dueCount)
        shardsGauge.record(machine.ownedShards.count)
        pacedGauge.record(machine.pacedCount)
        replicaAnsweredGauge.record(replicas.answered)
        replicaMissedGauge.record(replicas.missed)
        let counts = machine.takeOver
        replayedTotal.increment(by: Int64(counts.replayed - recordedTakeOver.replayed))
        announcedTotal.increment(by: Int64(counts.announced - recordedTakeOver.announced))
        keptTotal.increment(by: Int64(counts.kept - recordedTakeOver.kept))
        rerunTotal.increment(by: Int64(counts.rerun - recordedTakeOver.rerun))
        lossesTotal.increment(by: Int64(counts.losses - recordedTakeOver.losses))
        recordedTakeOver = counts
    }
}
