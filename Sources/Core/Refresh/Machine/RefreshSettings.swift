/// Bounds of one worker's refresh machine.
package struct RefreshSettings: Sendable {
    /// Least time between the starts of two runs of one live query.
    package var coalesceGapMs: Int64 = 20
    /// Statements in flight at once.
    package var runsMax = 8
    /// Besides those: runs in flight that wait for custom resolvers or the embedding server.
    package var remoteRunsMax = 4
    /// Live queries in one multiplexed statement.
    package var batchMax = 256
    /// Runs per second that no event and no new subscriber caused: after a take-over, a move or a loss of events.
    package var pacedRunsPerSecond = 5_000
    /// Statements of such runs in flight at once, of those that wait for other servers and of all others.
    package var pacedStatementsMax = 2
    /// Live queries of this worker; further announcements are refused.
    package var liveQueriesMax = 1_000_000
    /// Recent events kept per shard, to answer a returning gateway without a query.
    package var historyMax = 1_024
    /// Bytes of those, as the stream has them.
    package var historyBytesMax = 4 << 20
    /// Older events that are read from the stream once, to judge what gateways hold from before.
    package var replayMax = 8_192
    /// As many of them as one run costs: with few live queries to judge, runs are cheaper.
    package var replayPerRun = 32
    /// Entries of one read.
    package var replayPageMax = 64
    /// What is announced within this time is judged together.
    package var replayGatherMs: Int64 = 50
    /// Live queries under way that an answer to a summary may name; with more there is none.
    package var settledExceptionsMax = 1_024
    /// Live queries of a shard that are looked at for such an answer; with more there is none.
    package var settledLiveQueriesMax = 100_000
    /// Back-off after a run that failed for a passing reason.
    package var retryMinMs: Int64 = 100
    package var retryMaxMs: Int64 = 5_000
    /// Pause after a run that failed for a reason that looks final.
    package var failedRetryMs: Int64 = 30_000

    package init() {}
}
