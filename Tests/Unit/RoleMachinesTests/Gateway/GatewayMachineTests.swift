import JSON
import LiveModel
import RoleMachines
import Sessions
import Streams
import Testing

@Suite struct GatewayMachineTests {
    private typealias Effect = GatewayMachine.Effect
    private static let startMs: Int64 = 1_700_000_000_000
    private static let first = GatewayMachine.firstAnnouncement(atMs: startMs)

    private let connected = GatewayMachine.BrokerConnection(isConnected: true, reconnects: 0)

    private func machine(_ change: (inout GatewayMachine.Settings) -> Void = { _ in }) -> GatewayMachine {
        var settings = GatewayMachine.Settings()
        settings.interest.announceRetryMs = 2_000
        settings.interest.announceRetryMaxMs = 30_000
        settings.interest.lingerMs = 0
        settings.interest.summaryMs = 1_000_000
        change(&settings)
        return GatewayMachine(gateway: NodeID("g"), settings: settings, nowMs: Self.startMs) { _ in
            ShardRoute(ShardID(1))
        }
    }

    private func query(_ number: Int) -> LiveQuery {
        LiveQuery(
            operation: OperationReference(connector: "c", operation: "q"), version: Digest(of: [0]),
            variables: ["n": .int(Int64(number))], auth: nil)
    }

    private func subscribe(_ number: Int, _ machine: inout GatewayMachine, nowMs: Int64 = 0) throws -> [Effect] {
        try machine.subscribed(hub: 0, query(number), known: nil, reportsTimerRuns: false, nowMs: nowMs).effects
    }

    private func result(_ number: Int, answers: UInt64) -> InboxMessage {
        let result = LiveResult(
            position: Position(epoch: 1, run: 1, id: .zero), digest: Digest(of: [1]),
            answer: OperationAnswer(body: [1]))
        return .result(shard: ShardID(1), key: query(number).key, result: result, answers: answers)
    }

    private func sends(_ effects: [Effect]) -> Bool {
        effects.contains { if case .send = $0 { true } else { false } }
    }

    private func sampled(_ effects: [Effect]) -> GatewayMachine.Counts? {
        for case .sample(let counts) in effects { return counts }
        return nil
    }

    /// The queries of all announcements that wait.
    private func announced(_ machine: inout GatewayMachine) -> Int {
        machine.nextBatch().count { if case .announce = $0.message { true } else { false } }
    }

    /// A machine that follows the query and has its result.
    private func served() throws -> GatewayMachine {
        var machine = machine()
        _ = try subscribe(1, &machine)
        _ = machine.nextBatch()
        _ = machine.inboxRead(.message(result(1, answers: Self.first + 1)), nowMs: 1)
        #expect(machine.nextBatch().isEmpty && machine.isIdle)
        return machine
    }

    @Test func aFormerProcessOfThisNameIsForgottenFirst() throws {
        var machine = machine()
        #expect(sends(machine.started(shardCount: 3)))
        #expect(!sends(try subscribe(1, &machine)), "a batch is to begin")
        let batch = machine.nextBatch()
        #expect(batch.map(\.shard.number) == [0, 1, 2, 1])
        #expect(batch.prefix(3).allSatisfy { $0.message == .leave(gateway: NodeID("g")) })
        guard case .announce(_, _, _, let ask)? = batch.last?.message else {
            Issue.record("no announcement")
            return
        }
        #expect(ask.number == Self.first + 1, "after those of the former process")
    }

    @Test func oneFlightIsUnderWayAtATime() throws {
        var machine = machine()
        #expect(sends(try subscribe(1, &machine)))
        #expect(announced(&machine) == 1)
        #expect(!sends(try subscribe(2, &machine)), "it goes with the batch after this one")
        #expect(!sends(try subscribe(3, &machine)))
        #expect(announced(&machine) == 2)
        #expect(!machine.isIdle)
        #expect(machine.nextBatch().isEmpty && machine.isIdle)
        #expect(sends(try subscribe(4, &machine)))
    }

    @Test func aMessageWithoutRoomIsRepeatedLater() throws {
        var machine = machine { $0.outgoingMax = 2 }
        for number in 1...3 { _ = try subscribe(number, &machine) }
        #expect(machine.outgoingCount == 2)
        #expect(announced(&machine) == 2)
        _ = machine.nextBatch()
        #expect(sends(machine.ticked(connected, nowMs: 2_000)), "no answer came")
        #expect(machine.outgoingCount == 2)
    }

    @Test func manyMessagesLeaveInSeveralBatches() throws {
        var machine = machine { $0.batchBytesMax = 2_000 }
        for number in 1...10 { _ = try subscribe(number, &machine) }
        var sizes: [Int] = []
        while true {
            let batch = machine.nextBatch()
            if batch.isEmpty { break }
            #expect(batch.reduce(0) { $0 + $1.message.byteCount } <= 2_000)
            sizes.append(batch.count)
        }
        #expect(sizes.reduce(0, +) == 10 && sizes.count > 1, "\(sizes)")
    }

    @Test func theBoundOfMessagesFollowsThatOfLiveQueries() throws {
        var machine = machine {
            $0.interest.liveQueriesMax = 2
            $0.messagesPerLiveQueryMax = 3
        }
        _ = machine.started(shardCount: 20)
        #expect(machine.outgoingCount == 6)
    }

    /// The inbox outlives a process that was killed, and the next one reads it from the start.
    @Test(arguments: [Int64(-5_000), -1, 1, 5_000])
    func answersToAFormerProcessAreIgnored(clockAheadMs: Int64) throws {
        var machine = machine()
        _ = try subscribe(1, &machine)
        _ = machine.nextBatch()
        let former = GatewayMachine.firstAnnouncement(atMs: Self.startMs + clockAheadMs) + 1
        let effects = machine.inboxRead(.message(result(1, answers: former)), nowMs: 1)
        #expect(!effects.contains { if case .deliver = $0 { true } else { false } })
        #expect(machine.counts.awaiting == 1, "its own announcement is still to be answered")
        _ = machine.inboxRead(.message(result(1, answers: Self.first + 1)), nowMs: 2)
        #expect(machine.counts.awaiting == 0)
    }

    @Test func aResultGoesToTheHubsThatHaveSubscriptions() throws {
        var machine = machine()
        _ = try subscribe(1, &machine)
        _ = try machine.subscribed(hub: 3, query(1), known: nil, reportsTimerRuns: false, nowMs: 0)
        let effects = machine.inboxRead(.message(result(1, answers: Self.first + 1)), nowMs: 1)
        guard case .deliver(let hubs, let key, .result, let answers)? = effects.last else {
            Issue.record("nothing is delivered")
            return
        }
        #expect(effects.count == 2 && hubs == [0, 3] && key == query(1).key && answers == Self.first + 1)
    }

    // MARK: Losses

    /// The inbox's reader signals another server; owners may believe that this gateway holds what was lost.
    @Test func everythingIsAnnouncedAgainAfterALoss() throws {
        var machine = try served()
        let effects = machine.inboxRead(.lost(.signal(.serverChanged)), nowMs: 2)
        #expect(sends(effects))
        guard case .reportLoss(.signal(.serverChanged))? = effects.first else {
            Issue.record("the loss is not reported")
            return
        }
        #expect(announced(&machine) == 1)
    }

    @Test func aBatchIsItsSignalItsMessagesAndWhatIsUnreadable() throws {
        let message = InboxMessage.announceAll(shard: ShardID(1), epoch: 7)
        let entries = [StreamEntry(id: StreamID(ms: 1, sequence: 0), fields: message.fields.map { ($0.0, $0.1) })]
        let damaged = StreamEntry(id: StreamID(ms: 2, sequence: 0), fields: [("m", [1])])
        let batch = StreamBatch(stream: "inbox", signal: .trimmed(firstID: nil), entries: entries + [damaged])
        var facts: [InboxFact] = []
        batch.forEachInboxFact { facts.append($0) }
        // What is unreadable needs no further announcements.
        #expect(facts == [.lost(.signal(.trimmed(firstID: nil))), .message(message)])
        facts = []
        StreamBatch(stream: "inbox", signal: nil, entries: [damaged] + entries + [damaged]).forEachInboxFact {
            facts.append($0)
        }
        #expect(facts == [.lost(.unreadable(damaged.id)), .message(message)])
    }

    @Test func anUnreadableEntryIsALoss() throws {
        var machine = try served()
        #expect(sends(machine.inboxRead(.lost(.unreadable(.zero)), nowMs: 2)))
        #expect(announced(&machine) == 1)
    }

    @Test func unansweredQueriesAreAnnouncedWhenTheLinkIsBack() throws {
        var machine = machine()
        _ = try subscribe(1, &machine)
        // With the first summary.
        _ = machine.ticked(connected, nowMs: 1)
        while !machine.nextBatch().isEmpty {}
        _ = machine.ticked(.init(isConnected: false, reconnects: 0), nowMs: 600)
        #expect(machine.outgoingCount == 0)
        // Half way: connected for reading alone.
        #expect(!sends(machine.ticked(.init(isConnected: false, reconnects: 1), nowMs: 700)))
        #expect(sends(machine.ticked(.init(isConnected: true, reconnects: 1), nowMs: 800)))
        #expect(announced(&machine) == 1)
        #expect(!sends(machine.ticked(.init(isConnected: true, reconnects: 1), nowMs: 900)), "once for each time")
    }

    @Test func answeredQueriesAreNotAnnouncedWhenTheLinkIsBack() throws {
        var machine = try served()
        _ = machine.ticked(connected, nowMs: 2)
        while !machine.nextBatch().isEmpty {}
        #expect(!sends(machine.ticked(.init(isConnected: true, reconnects: 1), nowMs: 3)))
    }

    // MARK: Time and the end

    @Test func countsAreSampledWithEverySoManyTicks() throws {
        var machine = machine { $0.sampleEveryTicks = 3 }
        _ = try subscribe(1, &machine)
        let samples = (0..<7).map { sampled(machine.ticked(connected, nowMs: $0)) }
        #expect(samples.map { $0 != nil } == [true, false, false, true, false, false, true])
        #expect(samples[0]?.liveQueries == 1 && samples[0]?.subscriptions == 1 && samples[0]?.awaiting == 1)
    }

    @Test func leavingWithdrawsEverything() throws {
        var machine = try served()
        #expect(sends(machine.leave()))
        #expect(machine.counts.liveQueries == 0 && !machine.isIdle)
        #expect(machine.nextBatch().map(\.message) == [.leave(gateway: NodeID("g"))])
        #expect(machine.nextBatch().isEmpty && machine.isIdle)
    }
}
