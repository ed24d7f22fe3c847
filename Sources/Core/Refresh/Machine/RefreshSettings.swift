import Pacing

/// The limits of one worker's refresh machine.
package struct RefreshSettings: Sendable {
    /// Minimum time between the starts of two runs of a live query.
    package var coalesceGapMs: Int64 = 20
    /// Statements in flight.
    package var runsMax = 8
    /// Statements in flight with first runs of one operation's live queries.
    package var firstRunsMax = 1
    /// Live queries in one of them.
    package var firstRunsBatchMax = 64
    /// The time after which a run counts as slow, and is cut short where others might wait for it; nil: never. Each
    /// further live query of its batch adds a little.
    package var slowRunMs: Int64? = 100
    /// Further statements in flight of live queries that must prove to be fast, or take a moderate time.
    package var apartRunsMax = 1
    /// Further statements in flight of live queries that take longer.
    package var slowRunsMax = 1
    /// Further statements in flight that wait for custom resolvers or the embedding server.
    package var remoteRunsMax = 4
    /// Live queries in one run batch.
    package var batchMax = 256
    /// Runs per second that neither an event nor a new subscriber caused: after a take-over, a move or a loss of
    /// events.
    package var pacedRunsPerSecond = 5_000
    /// Statements of such runs in flight; counted separately for those that wait for other servers.
    package var pacedStatementsMax = 2
    /// Live queries of this worker; further announcements are refused.
    package var liveQueriesMax = 1_000_000
    /// Rows that are remembered for each site of a live query: those shown, and those above a nested list. With more,
    /// any row may be among them.
    package var rowsReadMax = 1_000
    /// Live queries with automatic refresh that run without a cause per second, to verify their results, and sampled
    /// runs after changes that no rule noticed; 0: none.
    package var verifyPerSecond = 0
    /// The time in which an event must explain what such a run found.
    package var verifyGraceMs: Int64 = 30_000
    /// Recent events kept per shard, to answer a returning gateway without a query.
    package var historyMax = 1_024
    /// Bytes of those events, as stored in the stream.
    package var historyBytesMax = 4 << 20
    /// Older events that are read from the stream once, to check results that gateways already hold.
    package var replayMax = 8_192
    /// Maximum number of those events per live query to check: with few live queries, runs are cheaper.
    package var replayPerRun = 32
    /// Entries per read.
    package var replayPageMax = 64
    /// Announcements within this time are checked together.
    package var replayGatherMs: Int64 = 50
    /// Live queries in progress that a `settled` message may list as exceptions; with more, none is sent.
    package var settledExceptionsMax = 1_024
    /// Live queries of a shard that are examined for such a message; with more, none is sent.
    package var settledLiveQueriesMax = 100_000
    /// Back-off after a run that failed with a retryable error.
    package var retryMinMs: Int64 = 100
    package var retryMaxMs: Int64 = 5_000
    /// Pause after a run that failed with an error that looks final.
    package var failedRetryMs: Int64 = 30_000

    /// The back-off between attempts after a transient error.
    var retryBackoff: Backoff { Backoff(minMs: retryMinMs, maxMs: retryMaxMs) }

    package init() {}

    /// The statements in flight of all kinds.
    package var statementsMax: Int { RunPool.Name.allCases.reduce(0) { $0 + runsMax(in: $1) } }

    func runsMax(in pool: RunPool.Name) -> Int {
        switch pool {
        case .local: runsMax
        case .apart: apartRunsMax
        case .slow: slowRunsMax
        case .remote: remoteRunsMax
        }
    }

    /// The time up to which a slow live query counts as a moderate one.
    var moderateRunMs: Int64 { 10 * (slowRunMs ?? 0) }

    /// The time that each live query of a batch adds to `slowRunMs`, and the most that all add.
    private static let timePerMemberMs: Int64 = 20
    private static let timeOfMembersMaxMs: Int64 = 256

    /// Returns how a batch of `count` live queries runs.
    func mode(in pool: RunPool.Name, _ kind: DueQueue.Group.Kind, count: Int) -> RunBatch.Mode {
        guard let slowRunMs, pool != .remote else { return .open }
        let limitMs = slowRunMs + min(Self.timeOfMembersMaxMs, Int64(count) * Self.timePerMemberMs)
        return switch (pool, kind) {
        case (.slow, _): .apart(limitMs: nil)
        case (.apart, .alone): .apart(limitMs: max(limitMs, moderateRunMs))
        case (.apart, _): .apart(limitMs: limitMs)
        case (.local, _), (.remote, _): .shared(limitMs: limitMs)
        }
    }
}
