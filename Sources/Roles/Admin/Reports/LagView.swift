import JSON
import LiveModel
import Sessions

/// The lag of a gateway's shards as operators see it: a summary, and the worst shards.
enum LagView {
    /// Shards that are listed; late ones come first.
    static let shardsMax = 16

    static func json(_ lag: LagReport, nowMs: Int64) -> JSONValue {
        [
            "everyMs": .int(lag.everyMs), "lateMs": .int(lag.lateMs), "shards": .int(Int64(lag.shards.count)),
            "late": .int(Int64(lag.lateCount)), "undeliveredMs": .int(lag.undeliveredMs),
            "endToEndMs": lag.endToEndMs.map { .int($0) } ?? .null,
            "worst": .array(lag.shards.prefix(shardsMax).map { shard(of: $0, lag, nowMs: nowMs) }),
        ]
    }

    private static func shard(of shard: LagReport.Shard, _ lag: LagReport, nowMs: Int64) -> JSONValue {
        var row: JSONObject = [
            "shard": .int(Int64(shard.shard.number)), "undeliveredMs": .int(shard.undeliveredMs),
            "late": .bool(shard.undeliveredMs > lag.lateMs), "endToEndMs": shard.endToEndMs.map { .int($0) } ?? .null,
        ]
        guard let marker = shard.marker else { return .object(row) }
        row["deliveredAgoMs"] = .int(max(0, nowMs - shard.takenAtMs))
        row["appendMs"] = .int(marker.appendMs)
        row["readMs"] = .int(marker.readMs)
        row["runsMs"] = .int(marker.runsMs)
        row["deliveryMs"] = .int(max(0, shard.takenAtMs - marker.passedAtMs))
        return .object(row)
    }
}
