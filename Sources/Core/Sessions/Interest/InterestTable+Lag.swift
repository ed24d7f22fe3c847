import LiveModel

extension InterestTable {
    func lag(everyMs: Int64, lateMs: Int64, nowMs: Int64) -> LagReport {
        var report = LagReport(everyMs: everyMs, lateMs: lateMs)
        guard everyMs > 0 else { return report }
        for (shard, interest) in shards {
            guard let sinceMs = interest.lag.missingSinceMs(everyMs: everyMs) else { continue }
            report.shards.append(
                .init(
                    shard: shard, undeliveredMs: max(0, nowMs - sinceMs), marker: interest.lag.taken,
                    takenAtMs: interest.lag.takenAtMs))
        }
        report.shards.sort {
            ($1.undeliveredMs, $1.endToEndMs ?? 0, $0.shard) < ($0.undeliveredMs, $0.endToEndMs ?? 0, $1.shard)
        }
        return report
    }
}
