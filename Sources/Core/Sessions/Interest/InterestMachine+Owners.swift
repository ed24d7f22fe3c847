package import LiveModel

// Whose messages count: the epochs of the shards' owners.

extension InterestMachine {
    /// Judges the epoch of a message's sender.
    /// - Returns: nil if the message counts; otherwise the actions that its refusal leads to.
    mutating func refuse(_ epoch: UInt64, of shard: ShardID, nowMs: Int64) -> [Action]? {
        // Bounds what is stored of shards.
        guard (0..<settings.shardCount).contains(shard.number) else { return [] }
        let call = lastCall + 1
        let judgement = table.updateOwner(of: shard) { owner in
            let judgement = owner.judge(epoch, nowMs: nowMs)
            if judgement == .doubtful { owner.asked(call, nowMs: nowMs) }
            return judgement
        }
        switch judgement {
        case .believed: return nil
        case .refused: return []
        case .doubtful:
            lastCall = call
            return [.readEpoch(shard, call: call)]
        }
    }

    /// Handles the answer to `readEpoch`. If another epoch was believed, all live queries of the shard are announced
    /// again; if it was higher, nothing that was received under it is comparable with what the owner sends.
    /// - Parameter recorded: the newest recorded epoch; nil if the database did not answer.
    package mutating func epochRead(_ shard: ShardID, call: UInt64, recorded: UInt64?, nowMs: Int64) -> [Action] {
        let correction = table.updateOwner(of: shard) { $0.answered(call, recorded: recorded) }
        switch correction {
        case .none: return []
        case .confirmed(let refused): return [.reportEpoch(shard, named: refused, recorded: recorded ?? 0)]
        case .raised(let former):
            table.sendSummaries(to: shard)
            return [.reportEpoch(shard, named: former, recorded: recorded ?? 0)]
                + table.keys(of: shard).flatMap { announce($0, nowMs: nowMs) }
        case .lowered(let former):
            table.sendSummaries(to: shard)
            var actions = [Action.reportEpoch(shard, named: former, recorded: recorded ?? 0)]
            for key in table.keys(of: shard) { actions += restart(key, nowMs: nowMs) }
            return actions
        }
    }
}
