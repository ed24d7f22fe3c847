import Operations
import Refresh
import RoleMachines

package struct WorkerSection: SettingSection {
    package static let doc = "Re-runs of live queries."
    package static let declared = WorkerSection()

    package let coalesceGapMs = Setting.duration(
        "worker.coalesceGapMs", Parts.refresh.coalesceGapMs, in: 0...minute,
        "Minimum gap between two runs of one live query.")
    package let runsMax = Setting.int(
        "worker.runsMax", Parts.refresh.runsMax, in: 1...1024,
        "Statements in flight for re-runs, not counting those on slow connections.")
    package let remoteRunsMax = Setting.int(
        "worker.remoteRunsMax", Parts.refresh.remoteRunsMax, in: 1...1024,
        "Additional runs in flight for queries that wait for custom resolvers or the embedding server; half for each.")
    package let batchMax = Setting.int(
        "worker.batchMax", Parts.refresh.batchMax, in: 1...10_000, "Live queries in one multiplexed statement.")
    package let liveQueriesMax = Setting.int(
        "worker.liveQueriesMax", Parts.refresh.liveQueriesMax, in: 1...100_000_000,
        "Live queries on this node; more are refused.")
    package let checkpointMs = Setting.duration(
        "worker.checkpointMs", Parts.worker.checkpointMs, in: 10...10 * minute,
        "Time between two checkpoints of a shard.")
    package let everyMinimumMs = Setting.duration(
        "worker.everyMinimumMs", Parts.catalog.everyMinimumMs, dev: 1000, in: 10...hour,
        "Shortest interval of an `every` rule.")
    package let pacedRunsPerSecond = Setting.int(
        "worker.pacedRunsPerSecond", Parts.refresh.pacedRunsPerSecond, in: 1...10_000_000,
        "Re-runs per second without an event of their own: after a take-over, a move or a loss of events.")
    package let pacedStatementsMax = Setting.int(
        "worker.pacedStatementsMax", Parts.refresh.pacedStatementsMax, in: 1...1024,
        "Statements in flight for such re-runs, not counting those limited by remoteRunsMax.")
    package let rowsReadMax = Setting.int(
        "worker.rowsReadMax", Parts.refresh.rowsReadMax, in: 0...1_000_000,
        "Rows that are remembered for each site of a live query with automatic refresh, those shown and those above a"
            + " nested list; with more, any row may be among them.")
    package let verifyPerSecond = Setting.int(
        "worker.verifyPerSecond", 1, in: 0...1000,
        "Live queries with automatic refresh that run without a cause, to verify that they missed no change.")
    package let definitionsMs = Setting.duration(
        "worker.definitionsMs", Parts.worker.definitionsMs, in: 100...10 * minute,
        "Time between looks whether views and functions that automatic refreshes rely on changed in the database; if"
            + " so, their queries run as often.")
    package let unfollowedAfterMs = Setting.duration(
        "worker.unfollowedAfterMs", Parts.worker.unfollowedAfterMs, in: 0...hour,
        "How long a shard has no live queries before publishers append no more events to its stream; 0: never.")
    package let historyMax = Setting.int(
        "worker.historyMax", Parts.refresh.historyMax, in: 1...100_000,
        "Events remembered per shard to decide whether a result that a gateway holds is still current.")
    package let historyBytesMax = Setting.bytes(
        "worker.historyBytesMax", Parts.refresh.historyBytesMax, in: kib...4096 * mib,
        "Their total size per shard, as in the stream.")
    package let replayMax = Setting.int(
        "worker.replayMax", Parts.refresh.replayMax, in: 0...10_000_000,
        "Older events read from a shard's stream to validate results held from before; past it, they are re-run.")
}
