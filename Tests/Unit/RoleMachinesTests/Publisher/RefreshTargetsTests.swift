import LiveModel
import RoleMachines
import Sharding
import Testing

@Suite struct RefreshTargetsTests {
    private final class Catalogs: Sendable {}

    private let mutation = OperationReference(connector: "c", operation: "Write")
    private let other = OperationReference(connector: "c", operation: "Other")
    private let audience = RefreshTargets(shards: [ShardID(1)], authReads: .nothing)
    private let newer = RefreshTargets(shards: [ShardID(2)], authReads: .nothing)

    private func overrides(_ generation: UInt64) -> ClusterOverrides {
        var overrides = ClusterOverrides()
        overrides.generation = generation
        return overrides
    }

    @Test func targetsAreCachedUntilCatalogsOrOverridesChange() {
        let catalogs = Catalogs()
        var audiences = RefreshTargetsCache<Catalogs>()
        #expect(audiences.known(mutation, by: catalogs, overrides(0)) == nil)
        audiences.note(audience, of: mutation, by: catalogs, overrides(1))
        #expect(audiences.known(mutation, by: catalogs, overrides(1)) == audience)
        #expect(audiences.known(other, by: catalogs, overrides(1)) == nil)
        #expect(audiences.known(mutation, by: catalogs, overrides(2)) == nil)
        #expect(audiences.known(mutation, by: Catalogs(), overrides(1)) == nil)
    }

    @Test func nothingOfAFormerStateIsKept() {
        let (former, present) = (Catalogs(), Catalogs())
        var audiences = RefreshTargetsCache<Catalogs>()
        audiences.note(audience, of: mutation, by: former, overrides(1))
        audiences.note(newer, of: other, by: present, overrides(1))
        #expect(audiences.known(mutation, by: present, overrides(1)) == nil)
        #expect(audiences.known(other, by: present, overrides(1)) == newer)
        audiences.note(audience, of: mutation, by: present, overrides(2))
        #expect(audiences.known(other, by: present, overrides(2)) == nil)
    }

    /// The shards of the former splits receive events for a while after a change of splits.
    @Test func targetsThatDependOnTimeAreNotCached() {
        let catalogs = Catalogs()
        var overrides = overrides(1)
        overrides.splits[other] = .init(splits: 4, formerSplits: 1, untilMs: 0, version: 1)
        var audiences = RefreshTargetsCache<Catalogs>()
        audiences.note(audience, of: mutation, by: catalogs, overrides)
        #expect(audiences.known(mutation, by: catalogs, overrides) == nil)
    }
}
