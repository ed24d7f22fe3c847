import LiveModel

extension LiveQueryState: CustomStringConvertible {
    func report(in shard: ShardID) -> LiveQueryReport {
        LiveQueryReport(
            key: query.key, operation: query.operation, shard: shard, gateways: subscribers.sortedGateways,
            everyMs: everyMs, digest: digest, position: position, lastTriggerMs: lastTriggerMs,
            lastFinishMs: lastFinishMs, lastRunMs: lastRunMs, runs: runs, failures: failures)
    }

    /// Excludes variables and claims, which are users' data.
    var description: String {
        "\(query.operation) \(query.key): \(phase), \(subscribers.count) subscribers, digest \(digest?.hex ?? "none"), "
            + "position \(position?.description ?? "none"), \(runs) runs, \(failures) failures"
    }
}
