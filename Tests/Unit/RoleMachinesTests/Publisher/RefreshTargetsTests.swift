import LiveModel
import RoleMachines
import Sharding
import Testing

@Suite struct RefreshTargetsTests {
    private final class Catalogs: Sendable {}

    private let mutation = OperationReference(connector: "c", operation: "Write")
    private let other = OperationReference(connector: "c", operation: "Other")
    private let targets = PublisherFixture.targets(of: PublisherFixture.mutation)
    private let newer = PublisherFixture.targets(of: PublisherFixture.mutation, rules: .init(loadedDeployment: 2))

    private func overrides(_ generation: UInt64) -> ClusterOverrides {
        var overrides = ClusterOverrides()
        overrides.generation = generation
        return overrides
    }

    @Test func targetsAreTheShardsOfTheQueriesThatTheMutationCanRefresh() {
        let overrides = PublisherFixture.overrides(generation: 5, splitsOfFirst: 3)
        let targets = PublisherFixture.targets(
            of: PublisherFixture.mutation, rules: .init(loadedDeployment: 2), overrides: overrides)
        let shards = PublisherFixture.shards(of: PublisherFixture.first, splits: 3)
        #expect(Set(targets.shards) == Set(shards + [PublisherFixture.shard(of: PublisherFixture.second)]))
        #expect(targets.authReads.claims == ["Write"] && targets.isKnown)
        #expect(targets.generation == 5 && targets.loadedDeployment == 2)
        #expect(PublisherFixture.targets(of: PublisherFixture.first).shards.isEmpty)
    }

    @Test func aMutationThatNoCatalogKnowsConcernsAllShardsAndIsNotCached() {
        let targets = PublisherFixture.targets(of: PublisherFixture.adHoc)
        #expect(targets.shards == ShardID.all(count: PublisherFixture.shardCount) && !targets.isKnown)
        let catalogs = Catalogs()
        var cache = RefreshTargetsCache<Catalogs>()
        cache.note(targets, of: PublisherFixture.adHoc, by: catalogs, overrides(1))
        #expect(cache.known(PublisherFixture.adHoc, by: catalogs, overrides(1)) == nil)
    }

    @Test func targetsAreCachedUntilCatalogsOrOverridesChange() {
        let catalogs = Catalogs()
        var cache = RefreshTargetsCache<Catalogs>()
        #expect(cache.known(mutation, by: catalogs, overrides(0)) == nil)
        cache.note(targets, of: mutation, by: catalogs, overrides(1))
        #expect(cache.known(mutation, by: catalogs, overrides(1)) == targets)
        #expect(cache.known(other, by: catalogs, overrides(1)) == nil)
        #expect(cache.known(mutation, by: catalogs, overrides(2)) == nil)
        #expect(cache.known(mutation, by: Catalogs(), overrides(1)) == nil)
    }

    @Test func nothingOfAFormerStateIsKept() {
        let (former, present) = (Catalogs(), Catalogs())
        var cache = RefreshTargetsCache<Catalogs>()
        cache.note(targets, of: mutation, by: former, overrides(1))
        cache.note(newer, of: other, by: present, overrides(1))
        #expect(cache.known(mutation, by: present, overrides(1)) == nil)
        #expect(cache.known(other, by: present, overrides(1)) == newer)
        cache.note(targets, of: mutation, by: present, overrides(2))
        #expect(cache.known(other, by: present, overrides(2)) == nil)
    }

    /// The shards of the former splits receive events for a while after a change of splits.
    @Test func targetsThatDependOnTimeAreNotCached() {
        let catalogs = Catalogs()
        var overrides = overrides(1)
        overrides.splits[other] = .init(splits: 4, formerSplits: 1, untilMs: 0, version: 1)
        var cache = RefreshTargetsCache<Catalogs>()
        cache.note(targets, of: mutation, by: catalogs, overrides)
        #expect(cache.known(mutation, by: catalogs, overrides) == nil)
    }
}
