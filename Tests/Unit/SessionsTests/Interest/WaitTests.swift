import LiveModel
import Sessions
import Sharding
import Testing

/// A wait of a session is over once a ticket of each of its shards came back, and no live query of the session may hold
/// a result from before it.
@Suite struct WaitTests {
    private static let key = SessionFixture.query().key

    private static func machine(_ change: (inout InterestMachine.Settings) -> Void = { _ in }) -> InterestMachine {
        var settings = InterestMachine.Settings()
        change(&settings)
        return InterestMachine(gateway: NodeID("g"), settings: settings, firstAnnouncement: 100)
    }

    /// A gateway that holds the first result of one live query.
    private static func holding() throws -> InterestMachine {
        var machine = machine()
        try follow(&machine)
        _ = machine.inboxArrived(SessionFixture.result(1, 1), nowMs: 5)
        return machine
    }

    private static func follow(_ machine: inout InterestMachine, _ query: LiveQuery = SessionFixture.query()) throws {
        _ = try machine.subscribed(hub: 0, query, known: nil, nowMs: 0)
    }

    /// Begins a wait whose event is in the streams.
    /// - Returns: its number, and what follows.
    private static func wait(
        _ machine: inout InterestMachine, _ keys: Set<LiveQueryKey> = [key], nowMs: Int64 = 10
    ) throws -> (id: UInt64, actions: [String]) {
        let id = try machine.waitBegan(hub: 1, keys: keys, nowMs: nowMs)
        return (id, texts(machine.waitAppended(id, problem: nil, nowMs: nowMs)))
    }

    private static func back(
        _ number: UInt64, epoch: UInt64 = 1, _ machine: inout InterestMachine, nowMs: Int64 = 20
    ) -> [String] {
        texts(machine.inboxArrived(.ticket(shard: SessionFixture.shard, epoch: epoch, number: number), nowMs: nowMs))
    }

    private static func texts(_ actions: [InterestMachine.Action]) -> [String] {
        actions.compactMap { action in
            switch action {
            case .appendTicket(let shard, let number): "ticket \(number) to \(shard.number)"
            case .answerWait(let hub, let id, let error, _): "\(id) on \(hub) \(error?.code.rawValue ?? "over")"
            case .deliver: "deliver"
            default: nil
            }
        }
    }

    @Test func aWaitIsOverWhenItsTicketIsBack() throws {
        var machine = try Self.holding()
        let wait = try Self.wait(&machine)
        #expect(wait.actions == ["ticket 101 to 0"])
        #expect(Self.back(101, &machine) == ["1 on 1 over"])
        #expect(Self.back(101, &machine) == [] && machine.waitCount == 0)
    }

    @Test func withoutLiveQueriesItIsOverAtOnce() throws {
        var machine = try Self.holding()
        #expect(try Self.wait(&machine, []).actions == ["1 on 1 over"])
        #expect(try Self.wait(&machine, [SessionFixture.query(9).key]).actions == ["2 on 1 over"], "it has ended")
    }

    /// A wait that begins while a ticket is under way may be too late for it.
    @Test func waitsShareTheNextTicket() throws {
        var machine = try Self.holding()
        _ = try Self.wait(&machine)
        for _ in 0..<3 { #expect(try Self.wait(&machine).actions == []) }
        #expect(Self.back(101, &machine) == ["1 on 1 over", "ticket 102 to 0"])
        #expect(Self.back(102, &machine) == ["2 on 1 over", "3 on 1 over", "4 on 1 over"])
    }

    @Test func aTicketThatDoesNotComeBackIsAppendedAgain() throws {
        var machine = try Self.holding()
        _ = try Self.wait(&machine)
        _ = try Self.wait(&machine)
        #expect(Self.texts(machine.timeReached(nowMs: 600)) == [])
        #expect(Self.texts(machine.timeReached(nowMs: 1_100)) == ["ticket 102 to 0"])
        // The first one after all: it is too early for the second wait.
        #expect(Self.back(101, &machine) == ["1 on 1 over"])
        #expect(Self.back(102, &machine) == ["2 on 1 over"])
        #expect(Self.texts(machine.timeReached(nowMs: 5_000)) == [])
    }

    @Test func aWaitFailsAfterItsTime() throws {
        var machine = try Self.holding()
        _ = try Self.wait(&machine)
        let unpublished = try machine.waitBegan(hub: 0, keys: [Self.key], nowMs: 500)
        #expect(Self.texts(machine.timeReached(nowMs: 10_010)) == ["1 on 1 TIMEOUT"])
        #expect(Self.texts(machine.timeReached(nowMs: 10_600)) == ["2 on 0 TIMEOUT"])
        #expect(Self.texts(machine.waitAppended(unpublished, problem: nil, nowMs: 10_700)) == [])
        #expect(Self.back(101, &machine) == [] && machine.waitCount == 0)
    }

    @Test func anEventThatCannotBeFoundFailsIt() throws {
        var machine = try Self.holding()
        let id = try machine.waitBegan(hub: 0, keys: [Self.key], nowMs: 0)
        let problem = RequestError(.unavailable, "no database")
        #expect(Self.texts(machine.waitAppended(id, problem: problem, nowMs: 1)) == ["1 on 0 UNAVAILABLE"])
    }

    @Test func waitsAreBounded() throws {
        var machine = Self.machine { $0.waitsMax = 2 }
        try Self.follow(&machine)
        for _ in 0..<2 { _ = try machine.waitBegan(hub: 0, keys: [Self.key], nowMs: 0) }
        let error = #expect(throws: RequestError.self) { try machine.waitBegan(hub: 0, keys: [Self.key], nowMs: 0) }
        #expect(error?.code == .limitExceeded)
        machine.waitEnded(1)
        _ = try machine.waitBegan(hub: 0, keys: [Self.key], nowMs: 0)
    }

    /// The owner may not know yet that this gateway wants the ticket.
    @Test func ticketsFollowTheFirstAnswers() throws {
        var machine = Self.machine()
        try Self.follow(&machine)
        #expect(try Self.wait(&machine).actions == [])
        let actions = Self.texts(machine.inboxArrived(SessionFixture.result(1, 1), nowMs: 15))
        #expect(actions == ["deliver", "ticket 101 to 0"])
        #expect(Self.back(101, &machine) == ["1 on 1 over"])
    }

    /// A ticket of a new owner says nothing about results that it has not confirmed.
    @Test func afterATakeOverTheAnswersOfTheNewOwnerAreWaitedFor() throws {
        var machine = try Self.holding()
        _ = try Self.wait(&machine)
        _ = machine.inboxArrived(.announceAll(shard: SessionFixture.shard, epoch: 2), nowMs: 12)
        #expect(Self.back(101, epoch: 2, &machine) == [])
        let actions = Self.texts(machine.inboxArrived(SessionFixture.unchanged(1, 1, epoch: 2), nowMs: 30))
        #expect(actions == ["deliver", "1 on 1 over"])
        // One that it has never announced to the new owner is not confirmed either.
        machine = try Self.holding()
        _ = try Self.wait(&machine)
        #expect(Self.back(101, epoch: 2, &machine) == [])
        let replaced = Self.texts(machine.inboxArrived(SessionFixture.result(2, 2, epoch: 2), nowMs: 30))
        #expect(replaced.last == "1 on 1 over")
    }

    @Test func aTicketOfAFormerOwnerDoesNotCount() throws {
        var machine = try Self.holding()
        _ = machine.inboxArrived(SessionFixture.result(2, 1, epoch: 2), nowMs: 6)
        _ = try Self.wait(&machine)
        #expect(Self.back(101, epoch: 1, &machine) == [])
        #expect(Self.back(101, epoch: 2, &machine) == ["1 on 1 over"])
    }

    @Test func afterALossEverythingIsConfirmedFirst() throws {
        var machine = try Self.holding()
        _ = try Self.wait(&machine)
        _ = machine.inboxLost(nowMs: 15)
        #expect(Self.back(101, &machine) == [])
        #expect(Self.texts(machine.inboxArrived(SessionFixture.unchanged(1, 1), nowMs: 30)).last == "1 on 1 over")
    }

    @Test func onlyTheSessionsOwnLiveQueriesAreWaitedFor() throws {
        var machine = try Self.holding()
        try Self.follow(&machine, SessionFixture.query(7))
        #expect(try Self.wait(&machine).actions == ["ticket 101 to 0"])
        #expect(Self.back(101, &machine) == ["1 on 1 over"])
    }

    @Test func aLiveQueryThatEndsIsNotWaitedFor() throws {
        var machine = Self.machine()
        try Self.follow(&machine)
        _ = try Self.wait(&machine)
        let actions = machine.unsubscribed(hub: 0, Self.key, lingers: false, nowMs: 20)
        #expect(Self.texts(actions) == ["1 on 1 over"])
    }

    /// Numbers of a former process of this name, and of tickets that nobody appended.
    @Test func onlyTicketsOfThisProcessCount() throws {
        var machine = try Self.holding()
        _ = try Self.wait(&machine)
        #expect(Self.back(100, &machine) == [] && Self.back(102, &machine) == [])
        #expect(Self.back(101, &machine) == ["1 on 1 over"])
    }

    @Test func aMovedLiveQueryNeedsATicketOfItsNewShard() throws {
        var machine = try Self.holding()
        _ = try Self.wait(&machine)
        var overrides = ClusterOverrides()
        overrides.generation = 1
        overrides.splits[SessionFixture.operation] = .init(splits: 8, formerSplits: 1, untilMs: 0, version: 77)
        let actions = Self.texts(machine.overridesChanged(overrides, nowMs: 20))
        let route = machine.route(of: SessionFixture.query())
        try #require(route.shard != SessionFixture.shard)
        #expect(actions == ["ticket 101 to \(route.shard.number)"])
        #expect(Self.back(101, &machine) == [], "the old shard says nothing about it")
        let moved = InboxMessage.ticket(shard: route.shard, epoch: 1, number: 101)
        #expect(Self.texts(machine.inboxArrived(moved, nowMs: 25)) == [], "it has no answer there yet")
        let answer = InboxMessage.result(
            shard: route.shard, key: Self.key, result: SessionFixture.live(2, 9), answers: .max)
        #expect(Self.texts(machine.inboxArrived(answer, nowMs: 30)) == ["deliver", "1 on 1 over"])
    }

    @Test func nothingIsLeftOfEndedWaits() throws {
        var machine = try Self.holding()
        let first = try Self.wait(&machine)
        let second = try Self.wait(&machine)
        machine.waitEnded(first.id)
        machine.waitEnded(second.id)
        #expect(machine.waitCount == 0)
        #expect(Self.back(101, &machine) == [], "nobody needs another ticket")
        #expect(try Self.wait(&machine).actions == ["ticket 102 to 0"])
    }
}
