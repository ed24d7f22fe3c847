/// The limits of the benchmarks. Most are ratios to something measured in the same run, so that they are meaningful on
/// any machine.
package enum BenchmarkLimits {
    /// Time to match an event with a million live queries, against a thousand.
    package static let ruleGrowthMax = 3.0
    /// Row changes per CPU second, from the bytes of their events: with one match, and without any.
    package static let rowsMatchedMin = 30_000.0
    package static let rowsIgnoredMin = 200_000.0
    /// Memory of a live query for a site with a guard, and for each row that it shows there.
    package static let siteBytesMax = 120.0
    package static let shownRowBytesMax = 24.0
    /// Mutations per second with automatic refresh, against those without.
    package static let automaticMutationsMin = 0.9
    /// Evaluations of the reference condition per CPU second.
    package static let conditionsPerCPUSecondMin = 1_000_000.0
    /// CPU of the server for one delivery in each session's own envelope, against a bare C broadcaster.
    package static let fanoutCPUMax = 1.3
    /// Resident memory of an idle subscribed connection.
    package static let idleConnectionKiBMax = 6.0
    package static let idleGRPCConnectionKiBMax = 12.0
    /// Live queries re-run per second: multiplexed against one statement each, one at a time.
    package static let multiplexedGainMin = 3.0
    /// Time of a multiplexed re-run against a bare libpq loop over the same statement.
    package static let multiplexedOverBareMax = 1 / 0.85
    /// Commit to delivery, median, against the sum of its parts.
    package static let latencyOverPartsMax = 1.8
    /// Commit to delivery, median: that of another program, read from the log, against that of an own mutation.
    package static let outsideOverOwnLatencyMax = 1.5
    /// Mutations per second against pgbench with the same transaction and the same number of clients.
    package static let mutationsOverPgbenchMin = 0.95
    /// Compiling a project of 500 operations.
    package static let compileSecondsMax = 1.0
    /// A thousand rows from the file of the Swift SDK's cache to typed values.
    package static let cachedRowsMsMax = 20.0
    /// Lookups by key per second against pgbench with the same prepared statement and the same number of clients.
    package static let lookupsOverPgbenchMin = 0.8
    /// CPU of the server for one delivery over the fastest WebSocket protocol, against each other protocol and gRPC.
    package static let protocolOverFastestMin = 0.9
    package static let gRPCOverFastestMin = 0.75
    /// CPU of a whole node for one idle session in a second; microseconds.
    package static let idleSessionMicrosecondsMax = 1.0
    /// 99th percentile of reads and deliveries beside clients with slow statements, against the same without them.
    package static let besideSlowClientsMax = 3.0
    /// CPU of a whole node for one delivery by long-poll, against nchan.
    package static let longPollOverNchanCPUMax = 1.3
    /// CPU of a whole node for one delivery by WebSocket, against a bare C broadcaster and against nchan.
    package static let nodeOverBareCPUMax = 1.25
    package static let nodeOverNchanCPUMax = 1.0
    /// Deliveries per second of a whole node by WebSocket, against nchan.
    package static let nodeOverNchanRateMin = 1.3
    /// Deliveries per second of a thousand live queries that change as fast as they can, against nchan over Redis.
    package static let manyQueriesOverNchanRateMin = 1.5
    /// The part of a delivery that asking whether anything is recorded takes, while nothing is.
    package static let recordingOffMax = 0.01
    /// One commit that changes ten thousand live queries, until the last delivery.
    package static let wideCommitSecondsMax = 0.5
}
