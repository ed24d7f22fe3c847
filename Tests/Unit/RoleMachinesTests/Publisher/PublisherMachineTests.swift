import LiveModel
import RoleMachines
import Sharding
import Testing

/// A publisher whose removal is answered by the call that it made last.
@dynamicMemberLookup
private struct Publisher {
    private(set) var machine: PublisherMachine
    private(set) var call: PublisherMachine.CallID = 0

    init(_ machine: PublisherMachine) { self.machine = machine }

    subscript<Value>(dynamicMember path: KeyPath<PublisherMachine, Value>) -> Value { machine[keyPath: path] }

    private mutating func followed(_ effects: [PublisherMachine.Effect]) -> [PublisherMachine.Effect] {
        for effect in effects {
            switch effect {
            case .confirmOverrides(let id), .remove(let id, _, _): call = id
            case .append, .wait, .report: break
            }
        }
        return effects
    }

    mutating func committed(_ event: PublisherMachine.Committed) -> [PublisherMachine.Effect] {
        followed(machine.committed(event))
    }

    mutating func appended(
        _ call: PublisherMachine.CallID, _ answer: Result<Void, StepFailure>
    ) -> [PublisherMachine.Effect] {
        followed(machine.appended(call, answer))
    }

    mutating func removalDue() -> [PublisherMachine.Effect] { followed(machine.removalDue()) }

    mutating func overridesConfirmed(
        _ answer: Result<ClusterOverrides, StepFailure>, rules: PublisherFixture.Rules, nowMs: Int64
    ) -> [PublisherMachine.Effect] {
        followed(machine.overridesConfirmed(call, answer, rules: rules, nowMs: nowMs))
    }

    mutating func removed(_ answer: Result<Void, StepFailure>) -> [PublisherMachine.Effect] {
        followed(machine.removed(call, answer))
    }
}

@Suite struct PublisherMachineTests {
    private typealias Effect = PublisherMachine.Effect
    private let failure = StepFailure("away")

    private func machine(inFlightMax: Int = 9, deleteBatchMax: Int = 2, batchBytesMax: Int = 4 << 20)
        -> Publisher
    {
        var settings = PublisherMachine.Settings()
        settings.inFlightMax = inFlightMax
        settings.deleteBatchMax = deleteBatchMax
        settings.batchBytesMax = batchBytesMax
        return Publisher(PublisherMachine(settings: settings, shardCount: PublisherFixture.shardCount))
    }

    private func append(in effects: [Effect]) -> (call: PublisherMachine.CallID, publications: [Publication])? {
        for case .append(let call, let publications) in effects { return (call, publications) }
        return nil
    }

    private func removal(in effects: [Effect]) -> (ids: [String], loadedDeployment: Int64)? {
        for case .remove(_, let ids, let loadedDeployment) in effects { return (ids, loadedDeployment) }
        return nil
    }

    private func reports(in effects: [Effect]) -> [PublisherMachine.Report] {
        effects.compactMap { if case .report(let report) = $0 { report } else { nil } }
    }

    private func waits(_ effects: [Effect]) -> Bool {
        effects.contains { if case .wait = $0 { true } else { false } }
    }

    /// Published for certain, up to where the removal of its row is to be confirmed.
    private func published(_ ids: [String], by machine: inout Publisher) throws {
        for id in ids {
            let call = try #require(append(in: machine.committed(PublisherFixture.committed(id)))).call
            _ = machine.appended(call, .success(()))
        }
        _ = machine.removalDue()
    }

    @Test func anEventThatNobodyFollowsIsNotAppended() throws {
        var machine = machine()
        let overrides = PublisherFixture.overrides(
            generation: 1, unfollowed: [PublisherFixture.shard(of: PublisherFixture.first)])
        let effects = machine.committed(PublisherFixture.committed("1", overrides: overrides))
        #expect(append(in: effects) == nil && reports(in: effects) == [.published] && waits(effects))
        #expect(!machine.hasPublished)
        _ = machine.removalDue()
        let removing = machine.overridesConfirmed(.success(overrides), rules: .init(), nowMs: 0)
        #expect(removal(in: removing)?.ids == ["1"])
    }

    @Test func anEventReachesTheShardsThatAreFollowedByThen() throws {
        var machine = machine()
        let shard = PublisherFixture.shard(of: PublisherFixture.first)
        let before = PublisherFixture.overrides(generation: 1, unfollowed: [shard])
        _ = machine.committed(PublisherFixture.committed("1", overrides: before))
        _ = machine.removalDue()
        let now = PublisherFixture.overrides(generation: 2)
        let effects = machine.overridesConfirmed(.success(now), rules: .init(), nowMs: 0)
        let (call, publications) = try #require(append(in: effects))
        #expect(publications.map(\.shards) == [[shard]] && removal(in: effects) == nil)
        #expect(removal(in: machine.appended(call, .success(())))?.ids == ["1"])
    }

    @Test func anEventIsNotAppendedTwiceWhenAnotherShardBecomesUnfollowed() throws {
        var machine = machine()
        try published(["1"], by: &machine)
        let now = PublisherFixture.overrides(
            generation: 2, unfollowed: [PublisherFixture.shard(of: PublisherFixture.first)])
        let effects = machine.overridesConfirmed(.success(now), rules: .init(), nowMs: 0)
        #expect(append(in: effects) == nil && removal(in: effects)?.ids == ["1"])
    }

    @Test func anEventGoesToTheShardsOfItsRow() throws {
        var machine = machine()
        let publication = try #require(append(in: machine.committed(PublisherFixture.committed("a")))).publications
        #expect(publication.map(\.row.id) == ["a"])
        #expect(publication.map(\.shards) == [[PublisherFixture.shard(of: PublisherFixture.first)]])
    }

    @Test func eventsBeyondTheLimitAreLeftToTheSweepers() throws {
        var machine = machine(inFlightMax: 2)
        let first = try #require(append(in: machine.committed(PublisherFixture.committed("a")))).call
        #expect(append(in: machine.committed(PublisherFixture.committed("b"))) != nil)
        let refused = machine.committed(PublisherFixture.committed("c"))
        #expect(append(in: refused) == nil)
        #expect(reports(in: refused) == [.deferred(id: "c", reason: "too many events are being published")])
        _ = machine.appended(first, .failure(failure))
        #expect(append(in: machine.committed(PublisherFixture.committed("d"))) != nil)
        #expect(machine.inFlightCount == 2)
    }

    @Test func onlyWhatIsCertainIsRemoved() throws {
        var machine = machine()
        let calls = try ["a", "b", "c", "d"].map {
            try #require(append(in: machine.committed(PublisherFixture.committed($0)))).call
        }
        let uncertain = machine.appended(calls[0], .failure(failure))
        #expect(reports(in: uncertain) == [.deferred(id: "a", reason: "away")] && !waits(uncertain))
        #expect(waits(machine.appended(calls[1], .success(()))))
        #expect(!waits(machine.appended(calls[2], .success(()))), "a removal is under way")
        #expect(!waits(machine.appended(calls[3], .success(()))))
        var removed: [[String]] = []
        while !machine.isIdle {
            guard !machine.removalDue().isEmpty else { break }
            let effects = machine.overridesConfirmed(
                .success(PublisherFixture.overrides(generation: 1)), rules: PublisherFixture.Rules(), nowMs: 0)
            removed.append(try #require(removal(in: effects)).ids)
            #expect(waits(machine.removed(.success(()))))
        }
        #expect(removed == [["b", "c"], ["d"]])
        #expect(machine.isIdle)
    }

    @Test func aSecondAnswerIsIgnored() throws {
        var machine = machine()
        let call = try #require(append(in: machine.committed(PublisherFixture.committed("a")))).call
        #expect(reports(in: machine.appended(call, .failure(failure))).count == 1)
        // The row stays: a late success says nothing about the streams that failed.
        #expect(machine.appended(call, .success(())).isEmpty)
        #expect(machine.isIdle)
    }

    /// Also when the next batch of rows is under way.
    @Test func aSecondAnswerToARemovalIsIgnored() throws {
        var machine = machine(deleteBatchMax: 1)
        try published(["a", "b"], by: &machine)
        let rules = PublisherFixture.Rules()
        let unchanged = PublisherFixture.overrides(generation: 1)
        let confirmation = machine.call
        #expect(
            removal(in: machine.overridesConfirmed(.success(unchanged), rules: rules, nowMs: 0))?.ids == ["a"])
        let removal = machine.call
        var inner = machine.machine
        #expect(inner.overridesConfirmed(confirmation, .failure(failure), rules: rules, nowMs: 0).isEmpty)
        #expect(waits(inner.removed(removal, .success(()))))
        #expect(inner.removed(removal, .success(())).isEmpty)
        #expect(inner.removalDue().count == 1)
        #expect(inner.removed(removal, .failure(failure)).isEmpty)
        #expect(inner.overridesConfirmed(confirmation, .success(unchanged), rules: rules, nowMs: 0).isEmpty)
        #expect(!inner.isIdle)
    }

    @Test func rowsWaitingToBeRemovedAreBounded() throws {
        var machine = machine(inFlightMax: 2)
        for id in ["a", "b", "c"] {
            let call = try #require(append(in: machine.committed(PublisherFixture.committed(id)))).call
            _ = machine.appended(call, .success(()))
        }
        #expect(machine.removalsWaiting == 2)
    }

    @Test func nothingIsIdleBeforeItsRowIsGone() throws {
        var machine = machine()
        #expect(machine.isIdle)
        let call = try #require(append(in: machine.committed(PublisherFixture.committed("a")))).call
        #expect(!machine.isIdle, "being published")
        _ = machine.appended(call, .success(()))
        #expect(!machine.isIdle, "its row waits")
        _ = machine.removalDue()
        _ = machine.overridesConfirmed(
            .success(PublisherFixture.overrides(generation: 1)), rules: PublisherFixture.Rules(), nowMs: 0)
        #expect(!machine.isIdle, "its row is being removed")
        _ = machine.removed(.success(()))
        #expect(machine.removalDue().isEmpty && machine.isIdle)
    }

    // MARK: Confirmation

    @Test func shardsOfASplitGetTheEventBeforeTheRowIsRemoved() throws {
        var machine = machine()
        try published(["a"], by: &machine)
        let split = machine.overridesConfirmed(
            .success(PublisherFixture.overrides(generation: 2, splitsOfFirst: 3)), rules: PublisherFixture.Rules(),
            nowMs: 0)
        #expect(removal(in: split) == nil)
        let (call, added) = try #require(append(in: split))
        let shards = Set(PublisherFixture.shards(of: PublisherFixture.first, splits: 3))
        #expect(added.count == 1 && Set(added[0].shards) == shards.subtracting(PublisherFixture.row("a").shards))
        let done = machine.appended(call, .success(()))
        #expect(reports(in: done) == [.republished(1)])
        #expect(try #require(removal(in: done)) == (["a"], 1))
    }

    @Test func queriesOfANewVersionGetTheEventBeforeTheRowIsRemoved() throws {
        var machine = machine()
        try published(["a"], by: &machine)
        let loaded = machine.overridesConfirmed(
            .success(PublisherFixture.overrides(generation: 1)), rules: .init(loadedDeployment: 2), nowMs: 0)
        let (call, added) = try #require(append(in: loaded))
        #expect(added.map(\.shards) == [[PublisherFixture.shard(of: PublisherFixture.second)]])
        // The database compares this with its deployments.
        #expect(try #require(removal(in: machine.appended(call, .success(())))) == (["a"], 2))
    }

    @Test func aRowStaysWhileTheResponsibleShardsAreUnknown() throws {
        var machine = machine()
        try published(["a", "b"], by: &machine)
        let unknown = machine.overridesConfirmed(
            .failure(failure), rules: PublisherFixture.Rules(), nowMs: 0)
        #expect(removal(in: unknown) == nil && waits(unknown))
        #expect(reports(in: unknown) == [.rowsLeft(2, reason: "away")])
        #expect(machine.removalDue().isEmpty && machine.isIdle, "the sweepers have them")
    }

    @Test func aRowStaysWhoseAddedShardsMayNotHaveIt() throws {
        var machine = machine()
        try published(["a"], by: &machine)
        let split = machine.overridesConfirmed(
            .success(PublisherFixture.overrides(generation: 2, splitsOfFirst: 4)), rules: PublisherFixture.Rules(),
            nowMs: 0)
        let failed = machine.appended(try #require(append(in: split)).call, .failure(failure))
        #expect(removal(in: failed) == nil && reports(in: failed) == [.rowsLeft(1, reason: "away")])
    }

    @Test func aLargeConfirmationGoesInFlights() throws {
        var machine = machine(deleteBatchMax: 9, batchBytesMax: PublisherFixture.row("a").event.count * 2)
        try published(["a", "b", "c"], by: &machine)
        var effects = machine.overridesConfirmed(
            .success(PublisherFixture.overrides(generation: 1)), rules: .init(loadedDeployment: 2), nowMs: 0)
        var batches: [[String]] = []
        while let (call, publications) = append(in: effects) {
            batches.append(publications.map(\.row.id))
            effects = machine.appended(call, .success(()))
        }
        #expect(batches == [["a", "b"], ["c"]])
        #expect(try #require(removal(in: effects)).ids == ["a", "b", "c"])
    }
}
