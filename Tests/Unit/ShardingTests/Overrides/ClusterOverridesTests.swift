import LiveModel
import Sharding
import Testing

@Suite struct ClusterOverridesTests {
    private let operation = OperationReference(connector: "c", operation: "Hot")

    /// The overrides after the broker stored these changes.
    private func stored(_ changes: [OverrideChange], generation: UInt64 = 5) -> ClusterOverrides {
        var fields: [String: (version: UInt64, value: String)] = [:]
        for change in changes { fields[change.field] = change.value.map { (generation, $0) } }
        return ClusterOverrides(generation: generation, fields: fields)
    }

    @Test func storedOverridesAreRead() {
        let overrides = stored([
            ClusterOverrides().settingSplits(of: operation, to: 4, nowMs: 1_000),
            ClusterOverrides.move(ShardID(3), to: .init(node: NodeID("w 1"), untilMs: nil)),
            ClusterOverrides.move(ShardID(4), to: .init(node: NodeID("w2"), untilMs: 2_000)),
            ClusterOverrides.drain(NodeID("g:1"), true), ClusterOverrides.mark(ShardID(7), isUnfollowed: true),
        ])
        #expect(overrides.generation == 5)
        #expect(
            overrides.splits[operation]
                == .init(splits: 4, formerSplits: 1, untilMs: 1_000 + ClusterOverrides.formerSplitsMs, version: 5))
        #expect(overrides.drained == [NodeID("g:1")])
        #expect(overrides.unfollowed == [ShardID(7)])
        #expect(overrides.movedShards(nowMs: 1_999) == [ShardID(3): NodeID("w 1"), ShardID(4): NodeID("w2")])
        #expect(overrides.movedShards(nowMs: 2_000) == [ShardID(3): NodeID("w 1")])
        #expect(
            ClusterOverrides.move(ShardID(3), to: nil).value == nil
                && ClusterOverrides.drain(NodeID("g"), false).value == nil
                && ClusterOverrides.mark(ShardID(7), isUnfollowed: false).value == nil)
    }

    @Test func eventsGoToTheMostSplitsInRecentUse() {
        let four = stored([ClusterOverrides().settingSplits(of: operation, to: 4, nowMs: 1_000)])
        let one = stored([four.settingSplits(of: operation, to: 1, nowMs: 2_000)])
        #expect(one.splits[operation]?.receivingSplits(nowMs: 2_000 + ClusterOverrides.formerSplitsMs - 1) == 4)
        #expect(one.splits[operation]?.receivingSplits(nowMs: 2_000 + ClusterOverrides.formerSplitsMs) == 1)
        // Changed again before that is over: still heard.
        let two = stored([one.settingSplits(of: operation, to: 2, nowMs: 3_000)])
        #expect(two.splits[operation]?.receivingSplits(nowMs: 3_000) == 4)
    }

    @Test(arguments: [
        ("splits:c/Hot", "x"), ("splits:c/Hot", "0 1 5"), ("splits:c/Hot", "65 1 5"), ("splits:Hot", "1 1 5"),
        ("splits:c/Hot", "1 1"), ("shard:x", "0 n"), ("shard:1", "n"), ("other:1", "1"), ("other", ""),
        ("shard:-1", "0 n"), ("shard:9223372036854775807", "0 n"), ("shard:1", "-9223372036854775808 n"),
        ("unfollowed:x", "yes"), ("unfollowed:-1", "yes"),
    ])
    func unreadableFieldsAreIgnored(field: String, value: String) {
        let overrides = ClusterOverrides(generation: 1, fields: [field: (1, value)])
        #expect(overrides.splits.isEmpty && overrides.moves.isEmpty && overrides.drained.isEmpty)
        #expect(overrides.unfollowed.isEmpty)
        #expect(overrides.defects.count == 1)
    }

    @Test func endsOutOfRangeAreClampedAndCounted() {
        let overrides = ClusterOverrides(
            generation: 1,
            fields: ["shard:1": (1, "9223372036854775807 n"), "splits:c/Hot": (1, "2 1 -9223372036854775808")])
        #expect(overrides.moves[ShardID(1)]?.untilMs == StoredNumber.timeMaxMs)
        #expect(overrides.splits[operation]?.untilMs == 0)
        #expect(overrides.defects.count == 2 && overrides.defects.first.contains("shard:1"))
    }

    @Test func aPinnedShardIsOwnedByItsNodeWhileThatIsThere() {
        let workers = ["a", "b", "c"].map { NodeID($0) }
        for number in 0..<50 {
            let shard = ShardID(number)
            for worker in workers {
                #expect(ShardAssignment.owner(of: shard, among: workers, movedTo: worker) == worker)
            }
            #expect(
                ShardAssignment.owner(of: shard, among: workers, movedTo: NodeID("gone"))
                    == ShardAssignment.owner(of: shard, among: workers))
        }
        let movedShards = [ShardID(1): workers[0], ShardID(2): workers[0]]
        let sets = workers.map {
            ShardAssignment.shards(of: $0, among: workers, shardCount: 50, movedShards: movedShards)
        }
        #expect(sets.reduce(0) { $0 + $1.count } == 50 && sets[0].isSuperset(of: [ShardID(1), ShardID(2)]))
    }

    @Test func aMoveHandsTheShardOver() throws {
        let me = NodeID("me")
        let other = NodeID("other")
        var settings = LeaseMachine.Settings()
        settings.ttlMs = 5_000
        var machine = LeaseMachine(me: me, shardCount: 1, settings: settings)
        let mine = [ShardID(0): me]
        #expect(machine.workersChanged([me, other], movedShards: mine, nowMs: 1_000) == [.acquire(ShardID(0))])
        _ = machine.leaseAnswered(ShardID(0), epoch: 7, knownForMs: .max, sentMs: 1_000, nowMs: 1_001)
        #expect(
            machine.workersChanged([me, other], movedShards: [ShardID(0): other], nowMs: 1_100)
                == [.release(ShardID(0), epoch: 7)])
    }
}
