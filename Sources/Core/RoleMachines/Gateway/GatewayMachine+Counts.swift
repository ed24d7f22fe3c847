import Sessions

extension GatewayMachine {
    /// Numbers for metrics.
    package struct Counts: Sendable, Hashable {
        package let liveQueries: Int
        package let subscriptions: Int
        /// Live queries whose last announcement has no answer yet.
        package let awaiting: Int
        /// Bytes of the held results.
        package let resultBytes: Int
        /// Moves of live queries to another shard since the start.
        package let moved: Int
        /// Waits of sessions that are under way.
        package let waits: Int
    }

    package var counts: Counts {
        Counts(
            liveQueries: interest.liveQueryCount, subscriptions: interest.subscriptionCount,
            awaiting: interest.awaitingCount, resultBytes: interest.resultBytes, moved: interest.movedCount,
            waits: interest.waitCount)
    }
}
