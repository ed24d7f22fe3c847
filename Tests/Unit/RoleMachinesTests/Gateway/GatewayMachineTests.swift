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
        return GatewayMachine(gateway: NodeID("g"), settings: settings, nowMs: Self.startMs)
    }

    /// A query of shard 1.
    private func query(_ number: Int) -> LiveQuery {
        LiveQuery(
            operation: OperationReference(connector: "c", operation: "q45"), version: Digest(of: [0]),
            variables: ["n": .int(Int64(number))], auth: nil)
    }

    private func subscribe(_ number: Int, _ machine: inout GatewayMachine, nowMs: Int64 = 0) throws -> [Effect] {
        begin(
            try machine.subscribed(hub: 0, query(number), known: nil, reportsTimerRuns: false, nowMs: nowMs).effects,
            &machine)
    }

    /// Begins the batch, if one is to begin.
    private func begin(_ effects: [Effect], _ machine: inout GatewayMachine) -> [Effect] {
        effects.flatMap { if case .gather = $0 { machine.batchDue() } else { [$0] } }
    }

    private func result(_ number: Int, answers: UInt64) -> InboxMessage {
        let result = LiveResult(
            position: Position(epoch: 1, run: 1, id: .zero), digest: Digest(of: [1]),
            answer: OperationAnswer(body: [1]))
        return .result(shard: ShardID(1), key: query(number).key, result: result, answers: answers)
    }

    private func appended(_ effects: [Effect]) -> (call: GatewayMachine.CallID, messages: [GatewayMachine.Outgoing])? {
        for case .append(let call, let messages) in effects { return (call, messages) }
        return nil
    }

    /// The number of announcements that are appended.
    private func announced(_ effects: [Effect]) -> Int {
        appended(effects)?.messages.count { if case .announce = $0.message { true } else { false } } ?? 0
    }

    /// Answers the append among the effects and all that follow it.
    /// - Returns: the messages of each.
    @discardableResult
    private func answerAll(_ effects: [Effect], _ machine: inout GatewayMachine) -> [[GatewayMachine.Outgoing]] {
        var batches: [[GatewayMachine.Outgoing]] = []
        var next = appended(effects)
        while let (call, messages) = next {
            batches.append(messages)
            next = appended(machine.batchAppended(call, problem: nil))
        }
        return batches
    }

    private func sampled(_ effects: [Effect]) -> GatewayMachine.Counts? {
        for case .sample(let counts) in effects { return counts }
        return nil
    }

    /// A machine that follows the query and has its result.
    private func served() throws -> GatewayMachine {
        var machine = machine()
        answerAll(try subscribe(1, &machine), &machine)
        _ = machine.inboxRead(.message(result(1, answers: Self.first + 1)), nowMs: 1)
        #expect(machine.isIdle)
        return machine
    }

    @Test func aFormerProcessOfThisNameIsForgottenFirst() throws {
        var machine = machine { $0.interest.shardCount = 3 }
        let started = begin(machine.started(), &machine)
        #expect(appended(try subscribe(1, &machine)) == nil, "a batch is in flight")
        let batches = answerAll(started, &machine)
        #expect(batches.first?.map(\.shard.number) == [0, 1, 2])
        #expect(batches.first?.allSatisfy { $0.message == .leave(gateway: NodeID("g")) } == true)
        #expect(batches.last?.map(\.shard) == [machine.shard(of: query(1))])
        guard case .announce(_, _, _, let ask)? = batches.last?.last?.message else {
            Issue.record("no announcement")
            return
        }
        #expect(ask.number == Self.first + 1, "after those of the former process")
    }

    @Test func oneBatchIsInFlightAtATime() throws {
        var machine = machine()
        let (first, messages) = try #require(appended(try subscribe(1, &machine)))
        #expect(messages.map(\.shard.number) == [1])
        #expect(appended(try subscribe(2, &machine)) == nil, "it goes with the batch after this one")
        #expect(appended(try subscribe(3, &machine)) == nil)
        let effects = machine.batchAppended(first, problem: nil)
        #expect(announced(effects) == 2 && effects.count == 1)
        #expect(machine.batchAppended(first, problem: nil).isEmpty, "its call is over")
        let (second, _) = try #require(appended(effects))
        #expect(!machine.isIdle)
        #expect(machine.batchAppended(second, problem: nil).isEmpty && machine.isIdle)
        #expect(machine.batchAppended(second, problem: nil).isEmpty, "nothing is in flight")
        #expect(announced(try subscribe(4, &machine)) == 1)
    }

    @Test func messagesThatAreQueuedMeanwhileGoWithTheFirstBatch() throws {
        var machine = machine()
        let starts = try (1...3).map {
            try machine.subscribed(hub: 0, query($0), known: nil, reportsTimerRuns: false, nowMs: 0).effects
        }
        #expect(starts.map(\.count) == [1, 0, 0], "one batch is to begin")
        #expect(announced(machine.batchDue()) == 3)
    }

    @Test func aFailedBatchIsReportedAndNotResent() throws {
        var machine = machine()
        let (first, _) = try #require(appended(try subscribe(1, &machine)))
        _ = try subscribe(2, &machine)
        let effects = machine.batchAppended(first, problem: "away")
        guard case .reportUnsent(1, "away")? = effects.first else {
            Issue.record("the failure is not reported")
            return
        }
        #expect(effects.count == 2 && announced(effects) == 1, "the one that was queued")
        answerAll(effects, &machine)
        #expect(machine.isIdle && machine.counts.awaiting == 2)
    }

    @Test func aMessageWithoutRoomIsRepeatedLater() throws {
        var machine = machine { $0.outgoingMax = 2 }
        for number in 1...3 { _ = try subscribe(number, &machine) }
        #expect(machine.outgoingCount == 2)
        #expect(announced(machine.batchAppended(1, problem: nil)) == 1)
        #expect(machine.batchAppended(2, problem: nil).isEmpty)
        #expect(announced(begin(machine.ticked(connected, nowMs: 2_000), &machine)) == 2, "no answer came")
        #expect(machine.outgoingCount == 2)
    }

    @Test func manyMessagesLeaveInSeveralBatches() throws {
        var machine = machine { $0.batchBytesMax = 2_000 }
        let first = try subscribe(0, &machine)
        for number in 1...10 { _ = try subscribe(number, &machine) }
        let batches = answerAll(first, &machine).dropFirst()
        for batch in batches { #expect(batch.reduce(0) { $0 + $1.message.byteCount } <= 2_000) }
        let sizes = batches.map(\.count)
        #expect(sizes.reduce(0, +) == 10 && sizes.count > 1, "\(sizes)")
    }

    @Test func theBoundOfMessagesFollowsThatOfLiveQueries() throws {
        var machine = machine {
            $0.interest.liveQueriesMax = 2
            $0.messagesPerLiveQueryMax = 3
            $0.interest.shardCount = 20
        }
        _ = begin(machine.started(), &machine)
        #expect(machine.outgoingCount == 6)
    }

    /// The inbox outlives a process that was killed, and the next one reads it from the start.
    @Test(arguments: [Int64(-5_000), -1, 1, 5_000])
    func answersToAFormerProcessAreIgnored(clockAheadMs: Int64) throws {
        var machine = machine()
        _ = try subscribe(1, &machine)
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
        let effects = begin(machine.inboxRead(.lost(.signal(.serverChanged)), nowMs: 2), &machine)
        guard case .reportLoss(.signal(.serverChanged))? = effects.first else {
            Issue.record("the loss is not reported")
            return
        }
        #expect(announced(effects) == 1)
    }

    @Test func aBatchIsItsSignalItsMessagesAndWhatIsUnreadable() throws {
        let message = InboxMessage.announceAll(shard: ShardID(1), epoch: 7)
        let entries = [StreamEntry(id: StreamID(ms: 1, sequence: 0), fields: message.fields.map { ($0.0, $0.1) })]
        let damaged = StreamEntry(id: StreamID(ms: 2, sequence: 0), fields: [("m", [1])])
        let batch = StreamBatch(stream: "inbox", signal: .trimmed(firstID: nil), entries: entries + [damaged])
        var facts: [InboxFact] = []
        batch.forEachInboxFact { facts.append($0) }
        // After the signal, the unreadable entry needs no further announcements.
        #expect(facts == [.lost(.signal(.trimmed(firstID: nil))), .message(message), .read(upTo: damaged.id)])
        facts = []
        StreamBatch(stream: "inbox", signal: nil, entries: [damaged] + entries + [damaged]).forEachInboxFact {
            facts.append($0)
        }
        #expect(facts == [.lost(.unreadable(damaged.id)), .message(message), .read(upTo: damaged.id)])
    }

    @Test func entriesTrimmedByAFormerProcessAreNotReported() throws {
        var machine = try served()
        func isReported() -> Bool {
            machine.inboxRead(.lost(.signal(.trimmed(firstID: nil))), nowMs: 2).contains {
                if case .reportLoss = $0 { true } else { false }
            }
        }
        #expect(!isReported())
        _ = machine.inboxRead(.read(upTo: StreamID(ms: 1, sequence: 0)), nowMs: 2)
        #expect(isReported())
    }

    @Test func anUnreadableEntryIsALoss() throws {
        var machine = try served()
        #expect(announced(begin(machine.inboxRead(.lost(.unreadable(.zero)), nowMs: 2), &machine)) == 1)
    }

    @Test func unansweredQueriesAreAnnouncedWhenTheLinkIsBack() throws {
        var machine = machine()
        let subscribed = try subscribe(1, &machine)
        // With the first summary.
        _ = begin(machine.ticked(connected, nowMs: 1), &machine)
        answerAll(subscribed, &machine)
        _ = begin(machine.ticked(.init(isConnected: false, reconnects: 0), nowMs: 600), &machine)
        #expect(machine.outgoingCount == 0)
        // Half way: connected for reading alone.
        #expect(appended(begin(machine.ticked(.init(isConnected: false, reconnects: 1), nowMs: 700), &machine)) == nil)
        let back = begin(machine.ticked(.init(isConnected: true, reconnects: 1), nowMs: 800), &machine)
        #expect(announced(back) == 1)
        answerAll(back, &machine)
        #expect(appended(begin(machine.ticked(.init(isConnected: true, reconnects: 1), nowMs: 900), &machine)) == nil)
    }

    @Test func answeredQueriesAreNotAnnouncedWhenTheLinkIsBack() throws {
        var machine = try served()
        answerAll(begin(machine.ticked(connected, nowMs: 2), &machine), &machine)
        #expect(machine.isIdle)
        #expect(appended(begin(machine.ticked(.init(isConnected: true, reconnects: 1), nowMs: 3), &machine)) == nil)
    }

    // MARK: Time and the end

    @Test func theInboxIsTrimmedBehindWhatWasReadTwoRoundsAgo() {
        var machine = machine { $0.trimMs = 10_000 }
        func trimmed(_ nowMs: Int64) -> StreamID? {
            for case .trimInbox(let minimumID) in machine.ticked(connected, nowMs: Self.startMs + nowMs) {
                return minimumID
            }
            return nil
        }
        func read(_ ms: UInt64) { _ = machine.inboxRead(.read(upTo: StreamID(ms: ms, sequence: 0)), nowMs: 0) }
        #expect(trimmed(0) == nil)
        read(5)
        #expect(trimmed(9_999) == nil && trimmed(10_000) == nil)
        read(6)
        read(7)
        #expect(trimmed(19_999) == nil && trimmed(20_000) == StreamID(ms: 5, sequence: 0))
        // Also when nothing has been read since: the last attempt may have failed.
        #expect(trimmed(30_000) == StreamID(ms: 7, sequence: 0) && trimmed(40_000) == StreamID(ms: 7, sequence: 0))
        // Another server, whose clock is behind.
        _ = machine.inboxRead(.lost(.signal(.regressed(lastID: .zero))), nowMs: 0)
        read(3)
        #expect(trimmed(50_000) == nil && trimmed(60_000) == StreamID(ms: 3, sequence: 0))
        // Its ids are not compared with those of the former, whatever the order of the facts.
        read(2)
        #expect(trimmed(70_000) == nil && trimmed(80_000) == StreamID(ms: 2, sequence: 0))
    }

    @Test func countsAreSampledWithEverySoManyTicks() throws {
        var machine = machine { $0.sampleEveryTicks = 3 }
        _ = try subscribe(1, &machine)
        let samples = (0..<7).map { sampled(machine.ticked(connected, nowMs: $0)) }
        #expect(samples.map { $0 != nil } == [true, false, false, true, false, false, true])
        #expect(samples[0]?.liveQueries == 1 && samples[0]?.subscriptions == 1 && samples[0]?.awaiting == 1)
    }

    @Test func leavingWithdrawsEverything() throws {
        var machine = try served()
        let effects = begin(machine.leave(), &machine)
        #expect(machine.counts.liveQueries == 0 && !machine.isIdle)
        #expect(answerAll(effects, &machine).map { $0.map(\.message) } == [[.leave(gateway: NodeID("g"))]])
        #expect(machine.isIdle)
    }
}
