import LiveModel
import Sharding
import Testing

@Suite struct ShardAssignmentTests {
    private let shards = ShardID.all(count: 256)

    private func workers(_ count: Int) -> [NodeID] { (0..<count).map { NodeID("worker-\($0)") } }

    private func owners(_ workers: [NodeID]) -> [NodeID?] {
        shards.map { ShardAssignment.owner(of: $0, among: workers) }
    }

    @Test func withoutWorkersThereIsNoOwner() {
        #expect(ShardAssignment.owner(of: ShardID(0), among: [NodeID]()) == nil)
    }

    @Test func theOrderOfTheListDoesNotMatter() {
        let list = workers(7)
        #expect(owners(list) == owners(list.reversed()))
    }

    @Test func everyShardHasExactlyOneOwner() {
        let list = workers(5)
        let sets = list.map { ShardAssignment.shards(of: $0, among: list, shardCount: 256) }
        #expect(sets.reduce(0) { $0 + $1.count } == 256)
        #expect(sets.reduce(into: Set<ShardID>()) { $0.formUnion($1) }.count == 256)
    }

    @Test(arguments: 2...9)
    func aWorkerThatLeavesMovesOnlyItsShards(count: Int) {
        let all = workers(count)
        let before = owners(all)
        for gone in all {
            for (old, new) in zip(before, owners(all.filter { $0 != gone })) where old != gone { #expect(old == new) }
        }
    }

    @Test(arguments: 1...9)
    func aWorkerThatJoinsTakesOnlyForItself(count: Int) {
        let joined = NodeID("new")
        for (old, new) in zip(owners(workers(count)), owners(workers(count) + [joined])) {
            #expect(new == old || new == joined)
        }
    }

    @Test func theLoadIsSpread() {
        let counts = Dictionary(grouping: owners(workers(4)).compactMap { $0 }, by: { $0 }).mapValues(\.count)
        #expect(counts.count == 4 && counts.values.allSatisfy { (40...90).contains($0) }, "\(counts)")
    }

    @Test func shardsOfOperationsAreDistinctAndInRange() {
        let operations = (0..<200).map { OperationReference(connector: "c", operation: "Op\($0)") }
        let found = ShardRouting.shards(of: operations + operations, shardCount: 16)
        #expect(found == found.sorted() && Set(found).count == found.count)
        #expect(found.allSatisfy { (0..<16).contains($0.number) } && found.count == 16)
    }

    /// Nodes of all releases of one `ClusterFormat` compute the same numbers. A change of these is a change of format.
    @Test(arguments: [
        ("a", "bc", 609_174, [150, 107, 64, 21]), ("ab", "c", 557_593, [25, 240, 199, 158]),
        ("auctions", "Lot", 347_267, [131, 156, 181, 206]),
    ])
    func theShardsOfAnOperationAreTheseNumbers(connector: String, name: String, shard: Int, splits: [Int]) {
        let operation = OperationReference(connector: connector, operation: name)
        #expect(ShardRouting.shard(of: operation, shardCount: 1 << 20).number == shard)
        #expect(ShardRouting.shards(of: operation, splits: 4, shardCount: 256).map(\.number) == splits)
    }

    /// The keys are SHA-256 of the texts. A change is a change of format, too.
    @Test(arguments: [("0", [0, 3, 3, 33]), ("1", [1, 2, 4, 63]), ("7", [1, 1, 4, 4])])
    func theSplitsOfALiveQueryAreTheseNumbers(text: String, splits: [Int]) {
        let key = LiveQueryKey(digest: Digest(of: text.utf8))
        #expect([2, 4, 8, 64].map { ShardRouting.split(of: key, splits: $0) } == splits)
    }

    /// A change is a change of format, too.
    @Test(arguments: [(0, "worker-2"), (1, "worker-5"), (200, "worker-0")])
    func theOwnerOfAShardIsThisWorker(shard: Int, worker: String) {
        #expect(ShardAssignment.owner(of: ShardID(shard), among: workers(7)) == NodeID(worker))
    }
}
