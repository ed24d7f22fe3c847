import JSON
import LiveModel
import Sessions
import Testing

/// A gateway believes how far its results are fresh only if it holds what the owner says it holds.
@Suite struct SettledTests {
    private let through = StreamID(ms: 90, sequence: 1)

    private func holding(_ results: [(query: Int, result: Int)]) throws -> InterestMachine {
        var machine = InterestMachine(gateway: NodeID("g"), settings: .init())
        for (query, result) in results {
            _ = try machine.subscribed(hub: 0, SessionFixture.query(query), known: nil, nowMs: 0)
            _ = machine.inboxArrived(SessionFixture.result(result, 5, query: SessionFixture.query(query)), nowMs: 1)
        }
        return machine
    }

    private func settled(
        _ results: [(query: Int, result: Int)], except: [Int] = [], epoch: UInt64 = 1
    ) -> InboxMessage {
        .settled(
            shard: SessionFixture.shard, epoch: epoch, through: through,
            except: except.map { SessionFixture.query($0).key },
            held: results.reduce(into: HeldFingerprint()) {
                $0.insert(SessionFixture.query($1.query).key, SessionFixture.digest($1.result))
            })
    }

    /// The event up to which each result is fresh, as announced to a new owner.
    private func freshness(_ machine: inout InterestMachine) -> [Int: StreamID] {
        var found: [Int: StreamID] = [:]
        for action in machine.inboxArrived(.announceAll(shard: SessionFixture.shard, epoch: 9), nowMs: 2) {
            guard case .tell(_, .announce(_, let query, let known, _)) = action, let position = known?.position,
                case .int(let number)? = query.variables["n"]
            else { continue }
            #expect(position.epoch == 1 && position.run == 5, "the rank stays")
            found[Int(number)] = position.id
        }
        return found
    }

    @Test func settledPositionsAdvanceWithoutDeliveries() throws {
        var machine = try holding([(1, 1), (2, 2)])
        #expect(machine.inboxArrived(settled([(1, 1), (2, 2)]), nowMs: 2).isEmpty)
        #expect(freshness(&machine) == [1: through, 2: through])
    }

    @Test func theNextSummarySaysHowFarItBelieved() throws {
        var machine = try holding([(1, 1), (2, 2)])
        func settledSummaries(atMs nowMs: Int64) -> [StreamID?] {
            machine.timeReached(nowMs: nowMs).compactMap {
                if case .tell(_, .summary(_, _, _, let settled)) = $0 { settled } else { nil }
            }
        }
        #expect(settledSummaries(atMs: 20_000) == [.zero])
        _ = machine.inboxArrived(settled([(1, 1)]), nowMs: 2)
        #expect(settledSummaries(atMs: 40_000) == [.zero])
        _ = machine.inboxArrived(settled([(1, 1), (2, 2)]), nowMs: 2)
        #expect(settledSummaries(atMs: 60_000) == [through])
    }

    @Test func exceptionsKeepTheirFreshness() throws {
        var machine = try holding([(1, 1), (2, 2)])
        _ = machine.inboxArrived(settled([(2, 2)], except: [1]), nowMs: 2)
        #expect(freshness(&machine) == [1: SessionFixture.position(5).id, 2: through])
    }

    @Test func aSettledMessageForOtherResultsIsIgnored() throws {
        for reported in [[(1, 1), (2, 3)], [(1, 2), (2, 1)], [(1, 1)], [(1, 1), (2, 2), (3, 3)], []] {
            var machine = try holding([(1, 1), (2, 2)])
            _ = machine.inboxArrived(settled(reported.map { (query: $0.0, result: $0.1) }), nowMs: 2)
            #expect(
                freshness(&machine) == [1: SessionFixture.position(5).id, 2: SessionFixture.position(5).id],
                "\(reported)")
        }
    }

    @Test func queriesThatAwaitAnAnswerAreNotCounted() throws {
        var machine = try holding([(1, 1)])
        _ = try machine.subscribed(
            hub: 0, SessionFixture.query(2), known: SessionFixture.known(2, SessionFixture.position(5)), nowMs: 1)
        _ = machine.inboxArrived(settled([(1, 1)]), nowMs: 2)
        #expect(freshness(&machine) == [1: through, 2: SessionFixture.position(5).id])
    }

    @Test func aConfirmedReportMovesOnToo() throws {
        var machine = try holding([])
        _ = try machine.subscribed(
            hub: 0, SessionFixture.query(), known: SessionFixture.known(1, SessionFixture.position(5)), nowMs: 1)
        _ = machine.inboxArrived(SessionFixture.unchanged(1, 5), nowMs: 1)
        _ = machine.inboxArrived(settled([(0, 1)]), nowMs: 2)
        #expect(freshness(&machine) == [0: through])
    }

    @Test func nothingGoesBack() throws {
        var machine = try holding([])
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0)
        var late = SessionFixture.live(1, 5)
        late.position = Position(epoch: 1, run: 5, id: StreamID(ms: 200, sequence: 0))
        _ = machine.inboxArrived(
            .result(shard: SessionFixture.shard, key: SessionFixture.query().key, result: late, answers: .max), nowMs: 1
        )
        _ = machine.inboxArrived(settled([(0, 1)]), nowMs: 2)
        #expect(freshness(&machine) == [0: StreamID(ms: 200, sequence: 0)])
    }

    @Test func messagesOfAFormerOwnerAreIgnored() throws {
        var machine = try holding([(1, 1)])
        _ = machine.inboxArrived(.announceAll(shard: SessionFixture.shard, epoch: 8), nowMs: 2)
        _ = machine.inboxArrived(settled([(1, 1)]), nowMs: 2)
        #expect(freshness(&machine) == [1: SessionFixture.position(5).id])
    }
}
