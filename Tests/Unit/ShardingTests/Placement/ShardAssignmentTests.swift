import LiveModel
import Sharding
import Testing

@Suite struct ShardAssignmentTests {
    private let shards = (0..<256).map(ShardID.init)

    private func workers(_ count: Int) -> [NodeID] { (0..<count).map { NodeID("worker-\($0)") } }

    private func owners(_ workers: [NodeID]) -> [NodeID?] {
        shards.map { ShardAssignment.owner(of: $0, among: workers) }
    }

    @Test func nobodyOwnsWithoutWorkers() {
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

    @Test func shardsOfOperationsAreStableNumbersInRange() {
        let operations = (0..<200).map { OperationReference(connector: "c", operation: "Op\($0)") }
        let found = ShardRouting.shards(of: operations + operations, shardCount: 16)
        #expect(found == found.sorted() && Set(found).count == found.count)
        #expect(found.allSatisfy { (0..<16).contains($0.number) } && found.count == 16)
        // Every process of every release must agree, so the number itself is fixed here.
        #expect(
            ShardRouting.shard(of: OperationReference(connector: "a", operation: "bc"), shardCount: 1 << 20)
                != ShardRouting.shard(of: OperationReference(connector: "ab", operation: "c"), shardCount: 1 << 20))
    }
}
