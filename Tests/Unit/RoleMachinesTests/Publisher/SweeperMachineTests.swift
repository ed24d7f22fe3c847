import LiveModel
import RoleMachines
import Sharding
import Testing

/// A sweeper whose answers go to the call made last.
private struct Sweeper {
    private(set) var machine: SweeperMachine
    private(set) var call: SweeperMachine.CallID = 0

    init(_ machine: SweeperMachine) { self.machine = machine }

    var backlog: SweeperMachine.Backlog { machine.backlog }

    private mutating func followed(_ effects: [SweeperMachine.Effect]) -> [SweeperMachine.Effect] {
        for effect in effects {
            switch effect {
            case .appendResyncMarkers(let id, _), .take(let id, _, _), .confirmOverrides(let id), .append(let id, _),
                .remove(let id, _, _), .measure(let id, _), .fold(let id, _):
                call = id
            case .wait, .rollBack, .report: break
            }
        }
        return effects
    }

    mutating func roundDue(serverChanges: Int, hasPublished: Bool) -> [SweeperMachine.Effect] {
        followed(machine.roundDue(serverChanges: serverChanges, hasPublished: hasPublished))
    }

    mutating func resyncAppended(isCertain: Bool) -> [SweeperMachine.Effect] {
        followed(machine.resyncAppended(call, isCertain: isCertain))
    }

    mutating func taken(_ answer: Result<[SweeperMachine.TakenRow], StepFailure>) -> [SweeperMachine.Effect] {
        followed(machine.taken(call, answer))
    }

    mutating func overridesConfirmed(
        _ answer: Result<ClusterOverrides, StepFailure>, rules: PublisherFixture.Rules, nowMs: Int64
    ) -> [SweeperMachine.Effect] {
        followed(machine.overridesConfirmed(call, answer, rules: rules, nowMs: nowMs))
    }

    mutating func appended(_ answer: Result<Void, StepFailure>) -> [SweeperMachine.Effect] {
        followed(machine.appended(call, answer))
    }

    mutating func removed(_ answer: Result<Int, StepFailure>) -> [SweeperMachine.Effect] {
        followed(machine.removed(call, answer))
    }

    mutating func measured(_ answer: (rows: Int, oldestMs: Int64)?) -> [SweeperMachine.Effect] {
        followed(machine.measured(call, answer))
    }

    mutating func folded(_ count: Int?) -> [SweeperMachine.Effect] { followed(machine.folded(call, count)) }
}

@Suite struct SweeperMachineTests {
    private typealias Effect = SweeperMachine.Effect
    private let failure = StepFailure("away")

    private func machine(_ change: (inout SweeperMachine.Settings) -> Void = { _ in }) -> Sweeper {
        var settings = SweeperMachine.Settings()
        settings.batchMax = 2
        settings.rowsMax = 20
        settings.foldMax = 10
        change(&settings)
        return Sweeper(SweeperMachine(settings: settings, shardCount: PublisherFixture.shardCount))
    }

    /// The effect's name, and what counts of it.
    private func names(_ effects: [Effect]) -> [String] {
        effects.map { effect in
            switch effect {
            case .wait(let ms): "wait \(ms)"
            case .appendResyncMarkers(_, let shards): "resync \(shards.count)"
            case .take(_, let ageMs, let limit): "take \(ageMs) \(limit)"
            case .confirmOverrides: "confirm"
            case .append(_, let publications): "append \(publications.map(\.row.id).joined(separator: ","))"
            case .remove(_, let ids, let deployment): "remove \(ids.joined(separator: ",")) \(deployment)"
            case .rollBack: "rollBack"
            case .measure(_, let countMax): "measure \(countMax)"
            case .fold(_, let limit): "fold \(limit)"
            case .report(.resynced(let changes)): "resynced \(changes)"
            case .report(.swept(let rows)): "swept \(rows)"
            case .report(.folded(let rows, let before)): "folded \(rows) of \(before)"
            case .report(.backlog(let backlog, let isAlarming)): "backlog \(backlog.rows)\(isAlarming ? "!" : "")"
            }
        }
    }

    private func taken(_ ids: [String]) -> Result<[SweeperMachine.TakenRow], StepFailure> {
        .success(ids.map { .init(PublisherFixture.row($0)) })
    }

    private var unchanged: Result<ClusterOverrides, StepFailure> {
        .success(PublisherFixture.overrides(generation: 1))
    }

    // MARK: Sweeps

    @Test func aRoundSweepsFullBatchesThenMeasuresAndWaits() {
        var machine = machine()
        #expect(names(machine.roundDue(serverChanges: 0, hasPublished: false)) == ["take 2000 2"])
        #expect(names(machine.taken(taken(["a", "b"]))) == ["confirm"])
        #expect(
            names(machine.overridesConfirmed(unchanged, rules: PublisherFixture.Rules(), nowMs: 0)) == ["append a,b"])
        #expect(names(machine.appended(.success(()))) == ["remove a,b 1"])
        #expect(
            names(machine.removed(.success(2))) == ["swept 2", "take 2000 2"], "a full batch: perhaps there are more")
        _ = machine.taken(taken(["c"]))
        _ = machine.overridesConfirmed(unchanged, rules: PublisherFixture.Rules(), nowMs: 0)
        _ = machine.appended(.success(()))
        #expect(names(machine.removed(.success(1))) == ["swept 1", "measure 30"])
        #expect(names(machine.measured((rows: 3, oldestMs: 7))) == ["backlog 3", "wait 1000"])
        #expect(machine.backlog.rows == 3 && machine.backlog.oldestMs == 7 && machine.backlog.problem.isEmpty)
    }

    @Test func anEmptyOutboxEndsTheTransaction() {
        var machine = machine()
        _ = machine.roundDue(serverChanges: 0, hasPublished: false)
        #expect(names(machine.taken(taken([]))) == ["rollBack", "measure 30"])
    }

    @Test func rowsGoWhereTheyBelongNow() throws {
        var machine = machine()
        _ = machine.roundDue(serverChanges: 0, hasPublished: false)
        _ = machine.taken(taken(["a"]))
        let effects = machine.overridesConfirmed(
            .success(PublisherFixture.overrides(generation: 2, splitsOfFirst: 2)),
            rules: PublisherFixture.Rules(loadedDeployment: 2), nowMs: 0)
        guard case .append(_, let publications) = effects.first else {
            Issue.record("no append in \(names(effects))")
            return
        }
        let shards = Set(PublisherFixture.shards(of: PublisherFixture.first, splits: 2)).union([
            PublisherFixture.shard(of: PublisherFixture.second)
        ])
        #expect(publications.map { Set($0.shards) } == [shards])
        #expect(names(machine.appended(.success(()))) == ["remove a 2"])
    }

    /// It may concern any query.
    @Test func anUnreadableEventGoesToEveryShard() throws {
        var machine = machine()
        _ = machine.roundDue(serverChanges: 0, hasPublished: false)
        let folded = OutboxRow(id: "f", shards: [], event: Array(SweeperMachine.foldedEvent.utf8))
        _ = machine.taken(.success([.init(folded)]))
        let effects = machine.overridesConfirmed(unchanged, rules: PublisherFixture.Rules(), nowMs: 0)
        guard case .append(_, let publications) = effects.first else {
            Issue.record("no append in \(names(effects))")
            return
        }
        #expect(publications.map(\.shards.count) == [PublisherFixture.shardCount])
    }

    @Test func aLargeBatchGoesInFlightsBeforeItIsRemoved() {
        var machine = machine {
            $0.batchMax = 9
            $0.batchBytesMax = PublisherFixture.row("a").event.count * 2
        }
        _ = machine.roundDue(serverChanges: 0, hasPublished: false)
        _ = machine.taken(taken(["a", "b", "c"]))
        #expect(
            names(machine.overridesConfirmed(unchanged, rules: PublisherFixture.Rules(), nowMs: 0)) == ["append a,b"])
        #expect(names(machine.appended(.success(()))) == ["append c"])
        #expect(names(machine.appended(.success(()))) == ["remove a,b,c 1"])
    }

    @Test func aRefusedRemovalEndsTheRound() {
        var machine = machine()
        _ = machine.roundDue(serverChanges: 0, hasPublished: false)
        _ = machine.taken(taken(["a", "b"]))
        _ = machine.overridesConfirmed(unchanged, rules: PublisherFixture.Rules(), nowMs: 0)
        _ = machine.appended(.success(()))
        #expect(names(machine.removed(.success(0))) == ["measure 30"])
    }

    @Test func aFailureIsReportedWithTheBacklog() {
        var machine = machine()
        _ = machine.roundDue(serverChanges: 0, hasPublished: false)
        _ = machine.taken(taken(["a"]))
        _ = machine.overridesConfirmed(unchanged, rules: PublisherFixture.Rules(), nowMs: 0)
        #expect(names(machine.appended(.failure(failure))) == ["rollBack", "measure 30"])
        #expect(names(machine.measured((rows: 1, oldestMs: 60_000))) == ["backlog 1!", "wait 1000"])
        #expect(machine.backlog.problem == "away")
    }

    /// Each step's answer comes again, when the next step is under way.
    @Test func aSecondAnswerIsIgnoredAndCounted() throws {
        var machine = machine().machine
        let rules = PublisherFixture.Rules()
        #expect(machine.roundDue(serverChanges: 1, hasPublished: true).count == 1)
        #expect(names(machine.resyncAppended(1, isCertain: true)) == ["resynced 1", "take 2000 2"])
        #expect(machine.resyncAppended(1, isCertain: false).isEmpty)
        #expect(names(machine.taken(2, taken(["a"]))) == ["confirm"])
        #expect(machine.taken(2, .failure(failure)).isEmpty)
        #expect(names(machine.overridesConfirmed(3, unchanged, rules: rules, nowMs: 0)) == ["append a"])
        #expect(machine.overridesConfirmed(3, .failure(failure), rules: rules, nowMs: 0).isEmpty)
        #expect(names(machine.appended(4, .success(()))) == ["remove a 1"])
        #expect(machine.appended(4, .failure(failure)).isEmpty)
        #expect(names(machine.removed(5, .success(1))) == ["swept 1", "measure 30"])
        #expect(machine.removed(5, .success(1)).isEmpty)
        #expect(names(machine.measured(6, (rows: 21, oldestMs: 0))) == ["fold 10"])
        #expect(machine.measured(6, nil).isEmpty)
        #expect(names(machine.folded(7, 10)) == ["fold 10"], "12 are left")
        #expect(machine.folded(7, 10).isEmpty, "counted once")
        #expect(names(machine.folded(8, 10)) == ["folded 20 of 21", "backlog 3", "wait 1000"])
        #expect(machine.folded(8, 10).isEmpty, "the round is over")
    }

    // MARK: Folding

    @Test func tooManyRowsAreFoldedUntilHalfIsLeft() {
        var machine = machine()
        _ = machine.roundDue(serverChanges: 0, hasPublished: false)
        _ = machine.taken(.failure(failure))
        #expect(names(machine.measured((rows: 30, oldestMs: 5))) == ["fold 10"])
        #expect(names(machine.folded(10)) == ["fold 10"], "21 are left")
        #expect(names(machine.folded(10)) == ["fold 10"], "12 are left")
        #expect(names(machine.folded(10)) == ["folded 30 of 30", "backlog 3", "wait 1000"])
        #expect(machine.backlog.folded == 30)
    }

    @Test func rowsLockedByAnotherSweeperAreNotWaitedFor() {
        var machine = machine()
        _ = machine.roundDue(serverChanges: 0, hasPublished: false)
        _ = machine.taken(.failure(failure))
        _ = machine.measured((rows: 25, oldestMs: 5))
        #expect(names(machine.folded(0)) == ["backlog 25", "wait 1000"])
    }

    // MARK: Resync markers

    @Test func everyShardGetsOneMarkerPerChangeOfServer() {
        var machine = machine()
        func round(_ changes: Int) -> [String] {
            let effects = names(machine.roundDue(serverChanges: changes, hasPublished: true))
            guard effects == ["resync 4"] else {
                _ = machine.taken(taken([]))
                _ = machine.measured(nil)
                return effects
            }
            let next = names(machine.resyncAppended(isCertain: changes != 1))
            _ = machine.taken(taken([]))
            _ = machine.measured(nil)
            return effects + next
        }
        #expect(round(0) == ["take 2000 2"], "the same server")
        #expect(round(1) == ["resync 4", "take 2000 2"], "it failed, so the next round repeats it")
        #expect(round(2) == ["resync 4", "resynced 2", "take 2000 2"])
        #expect(round(2) == ["take 2000 2"], "once for each change")
        #expect(round(3) == ["resync 4", "resynced 3", "take 2000 2"])
    }

    @Test func aNodeThatPublishedNothingSendsNoMarker() {
        var machine = machine()
        #expect(names(machine.roundDue(serverChanges: 1, hasPublished: false)) == ["take 2000 2"])
        _ = machine.taken(taken([]))
        _ = machine.measured(nil)
        #expect(names(machine.roundDue(serverChanges: 1, hasPublished: true)) == ["take 2000 2"], "the new one has it")
    }

    @Test func sweepsCountAsPublishing() {
        var machine = machine()
        _ = machine.roundDue(serverChanges: 0, hasPublished: false)
        _ = machine.taken(taken(["a"]))
        _ = machine.overridesConfirmed(.failure(failure), rules: PublisherFixture.Rules(), nowMs: 0)
        _ = machine.measured(nil)
        #expect(names(machine.roundDue(serverChanges: 1, hasPublished: false)) == ["resync 4"])
    }
}
