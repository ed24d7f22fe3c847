import LiveModel
import Streams
import Testing

/// Every decision of a reader, without a server: the test performs the plan's actions.
@Suite("Read plan")
struct ReadPlanTests {
    typealias Lane = ReadPlan.Lane
    typealias Action = ReadPlan.Action

    /// Performs a plan's actions at once, up to where it waits.
    struct Performer {
        var plan = ReadPlan(
            .init(blockMs: 5_000, silenceMaxMs: 10_000, reconnectMinMs: 20, reconnectMaxMs: 2_000),
            random: { $0.upperBound })
        var nowMs: UInt64 = 1_000
        var changes: ReadPlan.Changes = [:]
        var maxEntries: Int? = 100
        /// The server that a connection leads to; nil: none can be made.
        var servers: [Lane: String] = [.hot: "A", .cold: "A"]
        var isIdentified = true
        /// Streams that are not as they ought to be.
        var found: [String: ReadPlan.Comparison] = [:]
        /// Streams whose batches the consumer does not take.
        var refused: Set<String> = []
        private(set) var delivered: [StreamBatch] = []
        private var replies: [Result<[StreamBatch], ReadPlan.Refusal>] = []

        var nowNs: UInt64 { nowMs * 1_000_000 }

        static let intact = ReadPlan.Comparison(
            info: StreamInfo(length: 1, firstID: nil, lastID: .max, entriesAdded: 1), cursorExists: true)

        init(following streams: [String] = []) {
            for stream in streams { follow(stream) }
        }

        mutating func follow(_ stream: String, after cursor: UInt64 = 0, server: String? = nil) {
            changes[stream] = .some(.init(cursor: id(cursor), server: server))
        }

        mutating func unfollow(_ stream: String) { changes[stream] = .some(nil) }

        /// - Returns: what was done; the last is what the plan waits for.
        mutating func run() -> [Action] {
            var actions: [Action] = []
            while true {
                let action = plan.next(nowNs: nowNs)
                actions.append(action)
                switch action {
                case .takeRequests:
                    plan.requested(changes, maxEntries: maxEntries, nowNs: nowNs)
                    changes = [:]
                case .connect(let lane):
                    if let server = servers[lane] {
                        plan.connected(server: server, isIdentified: isIdentified, nowNs: nowNs)
                    } else {
                        plan.connectFailed(nowNs: nowNs)
                    }
                case .compare(_, let positions):
                    plan.compared(.success(positions.map { found[$0.stream] ?? Self.intact }), nowNs: nowNs)
                case .takeReply(_, let parts):
                    #expect(parts == replies.count)
                    plan.replied(replies, nowNs: nowNs)
                case .deliver(let batches):
                    let taken = batches.filter { !refused.contains($0.stream) }
                    delivered += taken
                    plan.delivered(Set(taken.map(\.stream)))
                case .read, .fail, .unblock, .close, .disconnect, .countReconnect: break
                case .sleep, .watch, .readMoving: return actions
                }
            }
        }

        /// The answer to a lane's read arrives.
        mutating func answer(_ lane: Lane, results: [Result<[StreamBatch], ReadPlan.Refusal>]) -> [Action] {
            replies = results
            delivered = []
            plan.watched(.readable(hot: lane == .hot, cold: lane == .cold), sinceNs: nowNs, nowNs: nowNs)
            return run()
        }

        mutating func answer(_ lane: Lane, _ parts: [StreamBatch]...) -> [Action] {
            answer(lane, results: parts.map { .success($0) })
        }

        mutating func interrupt(_ interruption: ReadPlan.Interruption) -> [Action] {
            plan.watched(.interrupted(interruption), sinceNs: nowNs, nowNs: nowNs)
            return run()
        }

        mutating func elapse(ms: UInt64) -> [Action] {
            let sinceNs = nowNs
            nowMs += ms
            plan.watched(.elapsed, sinceNs: sinceNs, nowNs: nowNs)
            return run()
        }

        /// The consumer goes away for a while and comes back, with reads in flight.
        mutating func pause(ms: UInt64) -> [Action] {
            let wanted = maxEntries
            maxEntries = nil
            _ = interrupt(.init(isReading: false))
            nowMs += ms
            maxEntries = wanted
            return run()
        }
    }

    private func batch(_ stream: String, _ numbers: ClosedRange<UInt64>) -> StreamBatch {
        StreamBatch(stream: stream, entries: numbers.map { StreamEntry(id: id($0), fields: []) })
    }

    private func read(in actions: [Action], _ lane: Lane) -> ReadPlan.Read? {
        for case .read(lane, let read) in actions { return read }
        return nil
    }

    private func compared(in actions: [Action]) -> Set<String> {
        var names: Set<String> = []
        for case .compare(_, let positions) in actions { names.formUnion(positions.map(\.stream)) }
        return names
    }

    private func names(_ count: Int) -> [String] { (0..<count).map { "s\($0)" } }

    // MARK: Which reads go where

    @Test("a followed stream is compared and read on one connection")
    func first() {
        var performer = Performer()
        performer.follow("a", after: 3)
        let at = ReadPlan.Position(stream: "a", cursor: id(3))
        let read = ReadPlan.Read(blocking: [at], blockingCount: 100, blockMs: 5_000, plainCount: 100)
        #expect(
            performer.run() == [
                .takeRequests, .connect(.cold), .compare(.cold, [at]), .read(.cold, read),
                .watch(hot: false, cold: true, untilNs: 11_000_000_000),
            ])
    }

    @Test("nothing is done without a consumer or streams")
    func idle() {
        var performer = Performer()
        #expect(performer.run() == [.takeRequests, .sleep(untilNs: nil)])
        performer.follow("a")
        performer.maxEntries = nil
        #expect(performer.run() == [.takeRequests, .sleep(untilNs: nil)])
    }

    @Test("streams with recent entries are read on a connection of their own while there are many")
    func split() {
        var performer = Performer(following: names(20))
        _ = performer.run()
        let actions = performer.answer(.cold, [batch("s3", 1...2)])
        #expect(actions.contains(.connect(.hot)))
        #expect(read(in: actions, .hot)?.blocking == [.init(stream: "s3", cursor: id(2))])
        #expect(read(in: actions, .cold)?.blocking.count == 19)
        // Cold again a minute later, it stays there while the cold read in flight does not name it.
        performer.nowMs += 60_000
        #expect(read(in: performer.answer(.hot, []), .hot)?.blocking.map(\.stream) == ["s3"])
    }

    @Test("a connection without a read is closed")
    func unused() {
        var performer = Performer(following: names(17))
        _ = performer.run()
        let actions = performer.answer(.cold, names(17).map { batch($0, 1...1) })
        #expect(read(in: actions, .hot)?.blocking.count == 17)
        #expect(read(in: actions, .cold) == nil && actions.contains(.close(.cold)))
    }

    @Test("all streams share the first connection without a second one, until it is tried again")
    func shared() {
        var performer = Performer(following: names(20))
        _ = performer.run()
        performer.servers[.hot] = nil
        var actions = performer.answer(.cold, [batch("s3", 1...2)])
        #expect(read(in: actions, .cold)?.blocking.count == 19)
        // s3 is in no read now.
        #expect(actions.contains(.unblock))
        actions = performer.answer(.cold, [])
        #expect(!actions.contains(.connect(.hot)) && read(in: actions, .cold)?.blocking.count == 20)
        performer.nowMs += 2_000
        performer.servers[.hot] = "A"
        actions = performer.answer(.cold, [])
        #expect(read(in: actions, .hot)?.blocking.map(\.stream) == ["s3"])
    }

    @Test("a server that does not identify itself gets one connection")
    func anonymous() {
        var performer = Performer(following: names(20))
        performer.isIdentified = false
        _ = performer.run()
        var actions = performer.answer(.cold, [batch("s3", 1...2)])
        #expect(actions.contains(.close(.hot)) && actions.contains(.unblock))
        actions = performer.answer(.cold, [])
        #expect(!actions.contains(.connect(.hot)) && read(in: actions, .cold)?.blocking.count == 20)
    }

    @Test("connections to two servers are both dropped")
    func twoServers() {
        var performer = Performer(following: names(20))
        _ = performer.run()
        performer.servers[.hot] = "B"
        let actions = performer.answer(.cold, [batch("s3", 1...2)])
        #expect(actions.contains(.disconnect(.lost("another server answers"))))
    }

    @Test("a plain read of the hot streams goes along while there is little to read")
    func plain() {
        var performer = Performer(following: ["a", "b"])
        _ = performer.run()
        performer.nowMs += 3
        var actions = performer.answer(.cold, [batch("b", 1...2)])
        var next = read(in: actions, .cold)
        #expect(next?.plain == [.init(stream: "b", cursor: id(2))] && next?.plainCount == 100)
        #expect(next?.blockingCount == StreamAppend.lengthMaxFloor)
        // The plain part has at least as much of what both have.
        performer.nowMs += 3
        actions = performer.answer(.cold, [batch("a", 1...1), batch("b", 3...3)], [batch("b", 3...4)])
        #expect(Set(performer.delivered.map(\.stream)) == ["a", "b"])
        #expect(performer.delivered.first { $0.stream == "b" } == batch("b", 3...4))
        // An answer at once may hold what the last event appended elsewhere; two mean that there is much to read.
        actions = performer.answer(.cold, [], [batch("b", 5...5)])
        #expect(read(in: actions, .cold)?.plain.isEmpty == false)
        actions = performer.answer(.cold, [], [batch("b", 6...6)])
        next = read(in: actions, .cold)
        #expect(next?.plain == [] && next?.blockingCount == 100)
        // A read that waits ends that.
        performer.nowMs += 3
        actions = performer.answer(.cold, [batch("b", 7...7)])
        #expect(read(in: actions, .cold)?.plain.isEmpty == false)
    }

    // MARK: Changes while a read blocks

    @Test("a stream that is followed while a read blocks interrupts it, with growing pauses until it returns")
    func followWhileBlocked() {
        var performer = Performer(following: ["a"])
        _ = performer.run()
        performer.follow("b")
        var actions = performer.interrupt(.init(hasChanges: true))
        for pauseMs in [10, 20, 40, 80, 160, 320, 500, 500] as [UInt64] {
            let untilNs = performer.nowNs + pauseMs * 1_000_000
            #expect(actions == [.unblock, .watch(hot: false, cold: true, untilNs: untilNs)])
            #expect(performer.interrupt(.init(hasChanges: true)).count == 1)
            actions = performer.elapse(ms: pauseMs)
        }
        actions = performer.answer(.cold, [])
        #expect(compared(in: actions).contains("b"))
        #expect(Set(read(in: actions, .cold)?.blocking.map(\.stream) ?? []) == ["a", "b"])
        #expect(performer.elapse(ms: 20).count == 1)
    }

    @Test("entries that the other lane brought first are dropped")
    func duplicates() {
        var performer = Performer(following: names(20))
        _ = performer.run()
        performer.servers[.hot] = nil
        _ = performer.answer(.cold, [batch("s3", 1...5)])
        _ = performer.answer(.cold, [])
        // The cold read names all; then the hot one names s3, too.
        performer.servers[.hot] = "A"
        let actions = performer.pause(ms: 2_000)
        #expect(read(in: actions, .hot)?.blocking == [.init(stream: "s3", cursor: id(5))])
        #expect(read(in: actions, .cold) == nil)
        _ = performer.answer(.hot, [batch("s3", 6...7)])
        #expect(performer.delivered == [batch("s3", 6...7)])
        _ = performer.answer(.cold, [batch("s3", 6...8)])
        #expect(performer.delivered == [batch("s3", 8...8)])
    }

    @Test("a new cursor voids the read in flight")
    func replacedCursor() {
        var performer = Performer(following: ["a", "b"])
        _ = performer.run()
        performer.follow("a", after: 7)
        #expect(performer.pause(ms: 0).contains(.unblock))
        let actions = performer.answer(.cold, [batch("a", 1...2), batch("b", 1...2)])
        #expect(performer.delivered == [batch("b", 1...2)])
        #expect(read(in: actions, .cold)?.blocking.contains(.init(stream: "a", cursor: id(7))) == true)
    }

    @Test("a batch of an unfollowed stream is dropped")
    func unfollowed() {
        var performer = Performer(following: ["a", "b"])
        _ = performer.run()
        performer.unfollow("a")
        #expect(!performer.pause(ms: 0).contains(.unblock))
        let actions = performer.answer(.cold, [batch("a", 1...2)])
        #expect(performer.delivered.isEmpty)
        #expect(read(in: actions, .cold)?.blocking == [.init(stream: "b", cursor: .zero)])
    }

    @Test("entries that the consumer did not take are read again")
    func notTaken() {
        var performer = Performer(following: ["a", "b"])
        _ = performer.run()
        performer.refused = ["a"]
        let actions = performer.answer(.cold, [batch("a", 1...2), batch("b", 1...2)])
        #expect(
            Set(read(in: actions, .cold)?.blocking ?? [])
                == [.init(stream: "a", cursor: .zero), .init(stream: "b", cursor: id(2))])
    }

    @Test("each stream delivers at most as many entries as requested, and the rest is read again")
    func bounded() {
        var performer = Performer(following: ["a"])
        performer.maxEntries = 3
        #expect(read(in: performer.run(), .cold)?.blockingCount == 3)
        performer.maxEntries = 2
        _ = performer.pause(ms: 0)
        let actions = performer.answer(.cold, [batch("a", 1...3)])
        #expect(performer.delivered == [batch("a", 1...2)])
        #expect(read(in: actions, .cold)?.blocking == [.init(stream: "a", cursor: id(2))])
    }

    // MARK: Gaps

    private let trimmed = ReadPlan.Comparison(
        info: StreamInfo(length: 4, firstID: id(6), lastID: id(9), entriesAdded: 9), cursorExists: false)

    @Test("a loss is reported once, before the remaining entries")
    func signal() {
        var performer = Performer()
        performer.follow("a", after: 3)
        performer.follow("b", after: 3)
        performer.found["a"] = trimmed
        var actions = performer.run()
        #expect(performer.delivered == [StreamBatch(stream: "a", signal: .trimmed(firstID: id(6)), entries: [])])
        #expect(read(in: actions, .cold)?.blocking.count == 2)
        actions = performer.answer(.cold, [batch("a", 6...9)])
        #expect(performer.delivered == [batch("a", 6...9)])
        // Compared once more, after the reader was away.
        performer.found["a"] = Performer.intact
        actions = performer.pause(ms: 300) + performer.answer(.cold, [], [])
        #expect(performer.delivered.isEmpty)
    }

    @Test("a signal that the consumer did not take is reported again")
    func signalNotTaken() {
        var performer = Performer()
        performer.follow("a", after: 3)
        performer.found["a"] = trimmed
        performer.refused = ["a"]
        for _ in 0..<3 {
            // As `run`, up to the first delivery.
            var action = performer.plan.next(nowNs: performer.nowNs)
            while true {
                if case .deliver(let batches) = action {
                    #expect(batches.map(\.signal) == [.trimmed(firstID: id(6))])
                    performer.plan.delivered([])
                    break
                }
                switch action {
                case .takeRequests:
                    performer.plan.requested(performer.changes, maxEntries: 100, nowNs: performer.nowNs)
                    performer.changes = [:]
                case .connect: performer.plan.connected(server: "A", isIdentified: true, nowNs: performer.nowNs)
                case .compare: performer.plan.compared(.success([trimmed]), nowNs: performer.nowNs)
                default: Issue.record("\(action)")
                }
                action = performer.plan.next(nowNs: performer.nowNs)
            }
        }
    }

    @Test("streams are compared again after more than 200 ms without a read", arguments: [200, 201] as [UInt64])
    func away(ms: UInt64) {
        var performer = Performer(following: ["a"])
        _ = performer.run()
        performer.nowMs += 1_000
        performer.maxEntries = nil
        _ = performer.answer(.cold, [])
        performer.nowMs += ms
        performer.maxEntries = 100
        #expect(compared(in: performer.run()) == (ms > 200 ? ["a"] : []))
    }

    @Test("an answer that came without a watch covers its streams only until the watch before")
    func heardLate() {
        var performer = Performer(following: ["a"])
        _ = performer.run()
        performer.nowMs += 100
        // Watched up to here.
        _ = performer.pause(ms: 5_000)
        let actions = performer.answer(.cold, [batch("a", 1...2)])
        #expect(performer.delivered == [batch("a", 1...2)])
        #expect(compared(in: actions) == ["a"])
        #expect(compared(in: performer.answer(.cold, [batch("a", 3...3)])) == [])
    }

    @Test("a long answer is compared before it is delivered")
    func longAnswer() {
        var performer = Performer(following: ["a", "b"])
        _ = performer.run()
        let last = UInt64(StreamAppend.lengthMaxFloor)
        performer.found["a"] = .init(
            info: StreamInfo(length: 10, firstID: id(200), lastID: id(209), entriesAdded: 209), cursorExists: false)
        var actions = performer.answer(.cold, [batch("a", 1...last), batch("b", 1...last - 1)])
        #expect(compared(in: actions) == ["a"])
        #expect(performer.delivered.first?.signal == .trimmed(firstID: id(200)))
        #expect(performer.delivered.first?.entries.count == StreamAppend.lengthMaxFloor)
        #expect(performer.delivered.last == batch("b", 1...last - 1))
        // Replaced after it was read: its entries belong to the past.
        performer.found["a"] = .init(info: nil, cursorExists: false)
        actions = performer.answer(.cold, [batch("a", 101...200)], [batch("a", 101...200)])
        #expect(performer.delivered == [StreamBatch(stream: "a", signal: .regressed(lastID: .zero), entries: [])])
        #expect(read(in: actions, .cold)?.blocking.contains(.init(stream: "a", cursor: .zero)) == true)
    }

    @Test("an answer with as many entries as the read may return is long, too", arguments: [3, 2] as [Int])
    func fullAnswer(wanted: Int) {
        var performer = Performer(following: ["a"])
        performer.maxEntries = 3
        _ = performer.run()
        performer.maxEntries = wanted
        _ = performer.pause(ms: 0)
        performer.found["a"] = .init(
            info: StreamInfo(length: 70, firstID: id(31), lastID: id(100), entriesAdded: 100), cursorExists: false)
        #expect(compared(in: performer.answer(.cold, [batch("a", 31...33)])) == ["a"])
        #expect(performer.delivered.first?.signal == .trimmed(firstID: id(31)))
        #expect(performer.delivered.first?.entries.count == wanted)
    }

    @Test("another server than the cursor's is reported once")
    func serverChanged() {
        var performer = Performer()
        performer.follow("a", after: 3, server: "Z")
        performer.follow("b", after: 3, server: "A")
        performer.follow("c", after: 3)
        _ = performer.run()
        #expect(performer.delivered == [StreamBatch(stream: "a", signal: .serverChanged, entries: [])])
        performer.servers = [.hot: "B", .cold: "B"]
        performer.plan.failed("gone", nowNs: performer.nowNs)
        _ = performer.run()
        performer.nowMs += 20
        _ = performer.run()
        #expect(performer.delivered.count == 4 && performer.delivered.allSatisfy { $0.signal == .serverChanged })
        #expect(Set(performer.delivered.dropFirst().map(\.stream)) == ["a", "b", "c"])
    }

    // MARK: Connections

    @Test("silence means that the connection is dead")
    func silence() {
        var performer = Performer(following: ["a"])
        _ = performer.run()
        #expect(performer.elapse(ms: 9_999).count == 1)
        var actions = performer.elapse(ms: 1)
        #expect(
            actions == [
                .disconnect(.lost("no answer")), .takeRequests, .sleep(untilNs: performer.nowNs + 20_000_000),
            ])
        performer.nowMs += 20
        actions = performer.run()
        #expect(actions.contains(.countReconnect) && compared(in: actions) == ["a"])
        // Interruptions do not hide it.
        performer.nowMs += 10_000
        #expect(performer.interrupt(.init(hasChanges: true)).first == .disconnect(.lost("no answer")))
    }

    @Test("attempts to connect back off until the server moves or answers")
    func backOff() {
        var performer = Performer(following: ["a"])
        performer.servers = [:]
        for waitMs in [20, 40, 80, 160, 320, 640, 1_280, 2_000, 2_000] as [UInt64] {
            let actions = performer.run()
            #expect(
                actions == [
                    .takeRequests, .connect(.cold), .disconnect(.unreachable), .takeRequests,
                    .sleep(untilNs: performer.nowNs + waitMs * 1_000_000),
                ])
            performer.nowMs += waitMs - 1
            #expect(performer.run() == [.takeRequests, .sleep(untilNs: performer.nowNs + 1_000_000)])
            performer.nowMs += 1
        }
        _ = performer.run()
        performer.plan.serverMayHaveMoved(isCurrent: true, nowNs: performer.nowNs)
        #expect(performer.run().last == .sleep(untilNs: performer.nowNs + 20_000_000))
        performer.servers = [.hot: "A", .cold: "A"]
        performer.nowMs += 20
        // None was lost, so none counts as made again.
        #expect(!performer.run().contains(.countReconnect))
        performer.nowMs += 1
        _ = performer.answer(.cold, [])
        performer.plan.failed("gone", nowNs: performer.nowNs)
        #expect(performer.run().last == .sleep(untilNs: performer.nowNs + 20_000_000))
    }

    @Test("a connection to a former primary is left at once, also while a read blocks")
    func moved() {
        var performer = Performer(following: ["a"])
        _ = performer.run()
        performer.plan.watched(
            .interrupted(.init(isMoved: true)), sinceNs: performer.nowNs, nowNs: performer.nowNs)
        #expect(performer.plan.next(nowNs: performer.nowNs) == .disconnect(.lost("no longer the primary")))
        performer.plan.serverMayHaveMoved(isCurrent: true, nowNs: performer.nowNs)
        let actions = performer.run()
        #expect(actions.contains(.connect(.cold)) && actions.contains(.countReconnect))
        performer.maxEntries = nil
        _ = performer.interrupt(.init(isReading: false))
        performer.plan.serverMayHaveMoved(isCurrent: false, nowNs: performer.nowNs)
        #expect(performer.run().first == .disconnect(.lost("no longer the primary")))
    }

    @Test("a refused read ends the consumer's, unless the server is to blame")
    func refusals() {
        var performer = Performer(following: ["a"])
        _ = performer.run()
        let wrongType = BrokerError(.rejected, "WRONGTYPE")
        #expect(performer.answer(.cold, results: [.failure(.failed(wrongType))]).contains(.fail(wrongType)))
        let actions = performer.answer(.cold, results: [.failure(.failed(BrokerError(.unavailable, "LOADING")))])
        #expect(actions.first == .takeReply(.cold, parts: 1))
        #expect(actions.contains(.disconnect(.refused("LOADING"))))
    }

    @Test("closing the reader ends a wait")
    func closed() {
        var performer = Performer(following: ["a"])
        _ = performer.run()
        performer.maxEntries = nil
        #expect(performer.interrupt(.init(isClosed: true, isReading: false)).first == .takeRequests)
    }

    // MARK: A moving slot

    private let asked = ReadPlan.Refusal.slotIsMoving(BrokerError(.unavailable, "ASK 1 b:1"))

    @Test("streams of a moving slot are read one by one, in rounds")
    func movingSlot() {
        var performer = Performer(following: ["a", "b"])
        _ = performer.run()
        var actions = performer.answer(.cold, results: [.failure(asked)])
        #expect(actions.contains(.disconnect(.lost("its slot is moving: ASK 1 b:1"))))
        var read: Set<String> = []
        for _ in 0..<2 {
            guard case .readMoving(let position, 100) = actions.last else {
                Issue.record("\(actions)")
                return
            }
            read.insert(position.stream)
            performer.plan.movingReplied(.success([batch(position.stream, 1...2)]), nowNs: performer.nowNs)
            actions = performer.run()
        }
        #expect(read == ["a", "b"])
        #expect(Set(performer.delivered.map(\.stream)) == ["a", "b"])
        // Empty rounds are followed by a pause.
        for _ in 0..<2 {
            guard case .readMoving(let position, 100) = actions.last else {
                Issue.record("\(actions)")
                return
            }
            #expect(position.cursor == id(2))
            performer.plan.movingReplied(.success([]), nowNs: performer.nowNs)
            actions = performer.run()
        }
        #expect(actions == [.sleep(untilNs: performer.nowNs + 20_000_000)])
        // The wait for the move ends, and losses meanwhile are found.
        performer.nowMs += 10_000
        actions = performer.run()
        #expect(actions.contains(.connect(.cold)) && compared(in: actions) == ["a", "b"])
    }

    @Test("a refusal ends the rounds; the next one waits before they begin again")
    func movingRefused() {
        var performer = Performer(following: ["a", "b"])
        _ = performer.run()
        _ = performer.answer(.cold, results: [.failure(asked)])
        performer.plan.movingReplied(.success([batch("b", 1...1)]), nowNs: performer.nowNs)
        _ = performer.run()
        performer.plan.movingReplied(.failure(BrokerError(.unavailable, "MOVED 1 b:1")), nowNs: performer.nowNs)
        var actions = performer.run()
        #expect(performer.delivered == [batch("b", 1...1)])
        #expect(actions.contains(.connect(.cold)))
        // "b" is hot, so a plain read went along.
        actions = performer.answer(.cold, results: [.failure(asked), .failure(asked)])
        #expect(actions.last == .sleep(untilNs: performer.nowNs + 20_000_000))
        performer.nowMs += 20
        guard case .readMoving = performer.run().last else {
            Issue.record("not read")
            return
        }
        // A lost connection ends them, too.
        performer.plan.failed("gone", nowNs: performer.nowNs)
        #expect(performer.run().contains(.disconnect(.lost("gone"))))
        performer.nowMs += 2_000
        #expect(performer.run().contains(.connect(.cold)))
    }
}

private func id(_ number: UInt64) -> StreamID { StreamID(ms: number, sequence: 0) }
