import LiveModel
import Sessions
import Sharding

// Mistakes of a gateway, as changes of the messages that it receives and sends.

extension InboxMessage {
    /// Returns the message as a gateway with this mistake reads it; nil if it ignores the message.
    /// - Parameter forgedRun: increased with every message that must look newer than all earlier ones.
    func tampered(by sabotage: Sabotage?, forgedRun: inout UInt64) -> InboxMessage? {
        switch sabotage {
        case .gatewayFenceSkipped:
            forgedRun += 1
            let run = forgedRun
            // Above every epoch that an owner gets in this time, but plausible.
            let epoch: UInt64 = 1_700_003_000_000
            return at(epoch: epoch) { Position(epoch: epoch, run: run, id: $0.id) }
        case .epochIgnored: return at(epoch: 1) { Position(epoch: 1, run: $0.run, id: $0.id) }
        case .noReannouncement:
            if case .announceAll = self { return nil }
            return self
        default: return self
        }
    }
}

extension ControlMessage {
    /// Whether a gateway with this mistake sends the message.
    func isSent(despite sabotage: Sabotage?) -> Bool {
        switch self {
        case .withdraw, .leave, .summary: sabotage != .noWithdrawal
        case .announce: true
        }
    }
}

extension Hub.Update {
    /// Returns the update as a session with this mistake hands it to its delivery queue; nil if it drops the update.
    /// - Parameter pending: the number of results that the queue holds.
    func tampered(by sabotage: Sabotage?, pending: Int) -> Hub.Update? {
        guard sabotage == .oldestPendingWins, pending > 0, case .result = self else { return self }
        return nil
    }
}

extension ClusterOverrides {
    /// Returns the overrides as a gateway with this mistake follows them: without the versions that tell placements
    /// apart.
    func tampered(by sabotage: Sabotage?) -> ClusterOverrides {
        guard sabotage == .positionsTravel else { return self }
        var tampered = self
        tampered.splits = splits.mapValues {
            Split(splits: $0.splits, formerSplits: $0.formerSplits, untilMs: $0.untilMs, version: 0)
        }
        return tampered
    }
}

extension InboxMessage {
    /// The shard, and the epoch of the owner that sent the message.
    var sender: (ShardID, UInt64) {
        switch self {
        case .result(let shard, _, let result, _): (shard, result.position.epoch)
        case .unchanged(let shard, _, _, _, let epoch, _), .announceAll(let shard, let epoch),
            .settled(let shard, let epoch, _, _, _), .marker(let shard, let epoch, _),
            .ticket(let shard, let epoch, _):
            (shard, epoch)
        case .unchangedTick(let shard, _, _, let position, _), .failed(let shard, _, let position, _, _):
            (shard, position.epoch)
        }
    }

    /// Returns the message with forged positions and another sender's epoch.
    fileprivate func at(epoch: UInt64, _ forge: (Position) -> Position) -> InboxMessage {
        switch self {
        case .result(let shard, let key, var result, let answers):
            result.position = forge(result.position)
            return .result(shard: shard, key: key, result: result, answers: answers)
        case .unchanged(let shard, let key, let digest, let position, _, let answers):
            return .unchanged(
                shard: shard, key: key, digest: digest, position: forge(position), epoch: epoch, answers: answers)
        case .unchangedTick(let shard, let key, let digest, let position, let answers):
            return .unchangedTick(shard: shard, key: key, digest: digest, position: forge(position), answers: answers)
        case .failed(let shard, let key, let position, let error, let answers):
            return .failed(shard: shard, key: key, position: forge(position), error: error, answers: answers)
        case .announceAll(let shard, _): return .announceAll(shard: shard, epoch: epoch)
        case .settled(let shard, _, let through, let except, let held):
            return .settled(shard: shard, epoch: epoch, through: through, except: except, held: held)
        case .marker(let shard, _, let marker): return .marker(shard: shard, epoch: epoch, marker)
        case .ticket(let shard, _, let number): return .ticket(shard: shard, epoch: epoch, number: number)
        }
    }
}
