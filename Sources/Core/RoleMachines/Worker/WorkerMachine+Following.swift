import LiveModel
import Refresh
import Sharding
import Streams

/// The marks of shards that nobody follows, performed as `FollowedShards` decides.
extension WorkerMachine {
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
