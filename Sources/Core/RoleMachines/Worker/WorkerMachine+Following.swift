import LiveModel
import Pacing
import Refresh
import Sharding
import Streams

/// Interest in the shards, and the marks of those that nobody follows, performed as `FollowedShards` decides.
extension WorkerMachine {
    /// Handles a read of a shard's control stream.
    mutating func readControl(_ shard: ShardID, _ batch: StreamBatch, nowMs: Int64) {
        var unreadable: [StreamID] = []
        let announcing = batch.signal == nil ? [] : gateways.sorted()
        var holding = following.holding(shard)
        var held: [ControlMessage] = []
        let actions = refresh.controlRead(
            shard, signal: batch.signal, entries: batch.entries, gateways: announcing, nowMs: nowMs,
            isHeld: { message in
                if case .fromAnnouncement = holding, case .announce = message { holding = .all }
                guard case .all = holding else { return false }
                held.append(message)
                return true
            },
            unreadable: { unreadable.append($0) })
        reportUnreadable(unreadable, of: shard, nowMs: nowMs)
        performRefresh(actions, nowMs: nowMs)
        performFollowing(following.hold(held, of: shard), nowMs: nowMs)
    }

    /// Logs the first of each interval only: anybody who can write to a control stream may write as many as they want.
    private mutating func reportUnreadable(_ entries: [StreamID], of shard: ShardID, nowMs: Int64) {
        guard let first = entries.first,
            let leftOut = unreadableControl.failed("", count: entries.count, nowMs: nowMs)
        else { return }
        log(
            .warning, "unreadable control messages",
            ["shard": "\(shard)", "entry": "\(first)", "count": "\(entries.count)", "notLogged": "\(leftOut)"])
    }

    mutating func performFollowing(_ requests: [FollowedShards.Request], nowMs: Int64) {
        for request in requests {
            switch request {
            case .mark(let shards):
                let changes = shards.keys.sorted().map { ClusterOverrides.mark($0, isUnfollowed: true) }
                self.request(.changeOverrides(changes), for: .marking(shards))
            case .step(let step, let shard, let epoch):
                let call: BrokerCall =
                    switch step {
                    case .appendMarker: .appendResyncMarker(stream: keys.events(shard: shard.number))
                    case .removeMark: .changeOverrides([ClusterOverrides.mark(shard, isUnfollowed: false)])
                    }
                self.request(call, for: .following(step, shard, epoch: epoch))
            case .release(let shard, let messages, let isComplete):
                for message in messages {
                    performRefresh(refresh.controlArrived(shard, message, nowMs: nowMs), nowMs: nowMs)
                }
                if !isComplete {
                    performRefresh(refresh.requestAnnouncements(of: gateways.sorted(), to: shard), nowMs: nowMs)
                }
            }
        }
    }

    /// The owned shards without live queries.
    var emptyShards: Set<ShardID> { Set(refresh.ownedShards.filter { !refresh.hasLiveQueries($0) }) }

    /// The number of owned shards that nobody follows, so that they receive no events.
    package var unfollowedShardCount: Int { following.unfollowedCount }
}
