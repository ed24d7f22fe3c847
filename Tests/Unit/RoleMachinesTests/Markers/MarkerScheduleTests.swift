import LiveModel
import RoleMachines
import Sharding
import Testing

/// When which node commits a marker, and for which shards.
@Suite struct MarkerScheduleTests {
    private static func node(
        _ name: String, commits: Bool = true, isDraining: Bool = false
    ) -> NodeRecordPayload {
        NodeRecordPayload(
            id: NodeID(name), roles: [.api], address: "", adminAddress: "", version: "1", startedAtMs: 0,
            isDraining: isDraining, load: 0, commitsMarkers: commits)
    }

    private static func committers(_ names: [String], list: [NodeRecordPayload], dueMs: Int64) -> [String] {
        names.filter { name in
            var schedule = MarkerSchedule(node: NodeID(name), everyMs: 10_000)
            return schedule.commits(markerDueAtMs: dueMs, nodes: list)
        }
    }

    @Test func markersAreDueAtMultiplesOfTheInterval() {
        let schedule = MarkerSchedule(node: NodeID("a"), everyMs: 10_000)
        #expect(schedule.next(afterMs: 12_345) == 20_000 && schedule.next(afterMs: 20_000) == 30_000)
        #expect(MarkerSchedule(node: NodeID("a"), everyMs: 0).next(afterMs: 5) == nil)
    }

    @Test func oneOfTheListedNodesCommitsAndTheyTakeTurns() {
        let names = ["a", "b", "c"]
        let list = names.map { Self.node($0) }
        var turns: Set<String> = []
        for number in Int64(1)...40 {
            let committers = Self.committers(names, list: list, dueMs: number * 10_000)
            #expect(committers.count == 1)
            turns.formUnion(committers)
        }
        #expect(turns == Set(names))
    }

    @Test func nodesThatDoNotCommitMarkersHaveNoTurn() {
        let list = [Self.node("a"), Self.node("former", commits: false), Self.node("leaving", isDraining: true)]
        for number in Int64(1)...20 {
            #expect(Self.committers(["a", "former", "leaving"], list: list, dueMs: number * 10_000) == ["a"])
        }
    }

    @Test func withoutANewListTheLastOneCounts() {
        var schedule = MarkerSchedule(node: NodeID("a"), everyMs: 10_000)
        let first = schedule.commits(markerDueAtMs: 10_000, nodes: nil)
        #expect(first, "none was read yet: better two than none")
        let second = schedule.commits(markerDueAtMs: 20_000, nodes: [Self.node("b")])
        let third = schedule.commits(markerDueAtMs: 30_000, nodes: nil)
        #expect(!second && !third)
    }

    @Test func aMarkerGoesToEveryShardThatSomebodyFollows() throws {
        let schedule = MarkerSchedule(node: NodeID("a"), everyMs: 10_000)
        func overrides(_ shards: Set<Int>) -> ClusterOverrides {
            PublisherFixture.overrides(generation: 1, unfollowed: Set(shards.map { ShardID($0) }))
        }
        func marker(_ overrides: ClusterOverrides) -> PublisherMachine.Committed? {
            schedule.marker(
                dueAtMs: 20_000, id: "id", rules: PublisherFixture.Rules(), overrides: overrides, shardCount: 4,
                nowMs: 20_004)
        }
        let some = try #require(marker(overrides([1, 2])))
        #expect(some.row.shards == [ShardID(0), ShardID(3)] && some.targets.followedShards == some.row.shards)
        let event = try MutationEvent(encoded: some.row.event)
        #expect(event.isMarker && event.markerDueMs == 20_000 && event.committedAtMs == 20_004)
        #expect(event.rows == RowChanges(), "it tells that no row changed")
        #expect(marker(overrides([0, 1, 2, 3])) == nil)
    }
}
