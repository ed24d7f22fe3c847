import JSON
import LiveModel
import Sharding
import Testing

@Suite struct ShardRoutingTests {
    private let operation = OperationReference(connector: "c", operation: "Hot")

    private func key(_ number: Int) -> LiveQueryKey { LiveQueryKey(digest: Digest(of: "\(number)".utf8)) }

    private func overrides(_ splits: Int, former: Int = 1, untilMs: Int64 = 0, version: UInt64 = 9) -> ClusterOverrides
    {
        var overrides = ClusterOverrides()
        overrides.generation = version
        overrides.splits[operation] = .init(splits: splits, formerSplits: former, untilMs: untilMs, version: version)
        return overrides
    }

    @Test(arguments: [1, 2, 3, 4, 7, 16, 60, 64, 1_024])
    func splitsHaveShardsOfTheirOwnAndFewerAreAPrefixOfMore(shardCount: Int) {
        for number in 0..<200 {
            let operation = OperationReference(connector: "c", operation: "Q\(number)")
            let all = ShardRouting.shards(of: operation, splits: ShardRouting.splitsMax, shardCount: shardCount)
            #expect(all.count == min(ShardRouting.splitsMax, shardCount) && Set(all).count == all.count)
            #expect(all[0] == ShardRouting.shard(of: operation, shardCount: shardCount))
            #expect(all.allSatisfy { (0..<shardCount).contains($0.number) })
            for splits in 1...all.count {
                let some = ShardRouting.shards(of: operation, splits: splits, shardCount: shardCount)
                #expect(some == Array(all.prefix(splits)))
            }
        }
    }

    @Test func liveQueriesSpreadEvenlyAndOnlyThoseMoveThatMust() {
        let keys = (0..<20_000).map(key)
        for splits in [2, 3, 8, 64] {
            var counts = Array(repeating: 0, count: splits)
            for key in keys { counts[ShardRouting.split(of: key, splits: splits)] += 1 }
            let fair = keys.count / splits
            #expect(counts.allSatisfy { abs($0 - fair) < fair / 4 }, "\(splits): \(counts)")
        }
        for (from, to) in [(1, 2), (4, 5), (8, 16)] {
            let moved = keys.filter {
                ShardRouting.split(of: $0, splits: from) != ShardRouting.split(of: $0, splits: to)
            }
            #expect(moved.allSatisfy { ShardRouting.split(of: $0, splits: to) >= from }, "to new splits alone")
            let fair = keys.count * (to - from) / to
            #expect(abs(moved.count - fair) < fair / 10)
        }
        #expect(keys.allSatisfy { ShardRouting.split(of: $0, splits: 1) == 0 })
    }

    @Test func aPlaceNamesTheChangeUnlessItIsTheFirstShard() {
        var versions: [ShardID: Set<UInt64>] = [:]
        for number in 0..<500 {
            let query = LiveQuery(
                operation: operation, version: Digest(of: [1]), variables: ["n": .int(Int64(number))], auth: nil)
            let place = ShardRouting.route(of: query, shardCount: 16, overrides: overrides(4))
            versions[place.shard, default: []].insert(place.version)
            #expect(
                ShardRouting.route(of: query, shardCount: 16, overrides: ClusterOverrides())
                    == ShardRoute(ShardRouting.shard(of: operation, shardCount: 16)))
        }
        let shards = ShardRouting.shards(of: operation, splits: 4, shardCount: 16)
        #expect(Set(versions.keys) == Set(shards))
        for (shard, found) in versions { #expect(found == [shard == shards[0] ? 0 : 9]) }
    }

    @Test func eventsGoToEveryShardInUseAndForAWhileToThoseThatWere() {
        func receivers(_ overrides: ClusterOverrides, _ nowMs: Int64) -> Set<ShardID> {
            Set(ShardRouting.shards(of: [operation], shardCount: 16, overrides: overrides, nowMs: nowMs))
        }
        let four = Set(ShardRouting.shards(of: operation, splits: 4, shardCount: 16))
        #expect(receivers(ClusterOverrides(), 0).count == 1)
        #expect(receivers(overrides(4), 0) == four)
        let fewer = overrides(2, former: 4, untilMs: 100)
        #expect(receivers(fewer, 99) == four)
        #expect(receivers(fewer, 100).count == 2)
        #expect(receivers(overrides(8, former: 4, untilMs: 100), 99).count == 8)
    }
}
