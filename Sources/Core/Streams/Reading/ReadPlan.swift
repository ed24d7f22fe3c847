import LiveModel
import Pacing

/// The state machine of a reader of many streams. It decides which connection reads which streams, when a stream is
/// compared with its cursor, which part of an answer is delivered, when a blocking read is interrupted, when silence
/// means that a connection is dead, and when to reconnect. Pure: `next` returns an action, and its performer reports
/// the outcome.
///
/// Reads block at the server until there is something to return, on one connection for streams that had entries
/// recently and on another for the rest (`ReadLanes`). When the followed streams change, `CLIENT UNBLOCK` interrupts
/// the cold read. It is repeated until the read returns, because the first one may arrive before the server has begun
/// to block.
///
/// A read that did block returns only the stream that ended the blocking, although an event often goes to several at
/// once. So while there is little to read (`ReadConnections.isIdle`), a plain read of the hot streams is sent along:
/// one wake-up for all.
///
/// A stream is compared with its cursor (`GapCheck`) when it is newly followed, after a reconnect, when the reader did
/// not reach the server for longer than `awayMs`, and when a read returns `StreamAppend.lengthMaxFloor` entries of it,
/// or as many as the read's limit. A stream keeps at least that many, so a shorter read without a pause cannot have
/// lost any to trimming by length; trimming by age does not reach entries that young, and a gateway trims only what it
/// has read.
///
/// While a cluster moves the streams' slot to another node, each stream is read individually on the node that has it.
/// Losses in that time are found when ordinary reading resumes, because new connections compare.
///
/// Bound: one batch of each stream, with at most the number of entries that the consumer requested; nothing is read
/// ahead. The file is long because every phase belongs to one round of reading; `ReadLanes` decides which lane reads
/// what, `FollowedStreams` which part of an answer is new.
package struct ReadPlan {
    /// Trimming by age does not reach entries younger than this.
    static let awayMs = 200
    /// A stream is hot for this long after its last entries.
    static let hotMs = 60_000
    /// A read that waited longer than this shows that there is little to read.
    static let idleMs = 2
    static let unblockBackoff = Backoff(minMs: 10, maxMs: 500)
    /// Pause between two rounds over a moving slot that found nothing.
    static let movingPauseMs = 20
    /// How long a slot counts as moving before ordinary reading is tried again.
    static let movingMaxMs = 10_000

    private typealias Reading = FollowedStreams.Reading

    /// The reads of one round that remain to be sent, and all streams that the round must cover.
    private struct Sending {
        let streams: [ReadLanes.Stream]
        var reads: ArraySlice<(lane: Lane, streams: [ReadLanes.Stream])>
        /// Whether the streams of the first read were compared.
        var isCompared = false

        func afterFirst() -> Sending { Sending(streams: streams, reads: reads.dropFirst()) }
    }

    /// The next decision, or the report that must precede it.
    private enum Phase {
        case requests
        case sleep(untilNs: UInt64?)
        case send(Sending)
        case connect(Lane, Sending)
        case compare([String], Sending)
        case watch
        case reply(Lane)
        /// The readings at these indices have so many entries that others may have been trimmed.
        case confirm([Int], [Reading])
        case deliver([Reading])
        case moving(left: [String], [Reading])

        /// The name for traps, without entries.
        var name: String {
            switch self {
            case .requests: "requests"
            case .sleep: "sleep"
            case .send(let sending): "send \(sending.reads.map(\.lane))"
            case .connect(let lane, _): "connect \(lane)"
            case .compare(let streams, _): "compare \(streams)"
            case .watch: "watch"
            case .reply(let lane): "reply \(lane)"
            case .confirm(_, let readings): "confirm \(readings.map(\.batch.stream))"
            case .deliver(let readings): "deliver \(readings.map(\.batch.stream))"
            case .moving(let left, _): "moving \(left)"
            }
        }
    }

    private let settings: Settings
    private let random: (ClosedRange<Int>) -> Int
    private var phase = Phase.requests
    /// Actions without a report, which come first. Bounded: all are taken before the next report, and none adds more
    /// than three.
    private var pending: [Action] = []
    private var streams = FollowedStreams()
    private var maxEntries = 1
    private var connections = ReadConnections()
    private var hasLostConnection = false
    private var backoff: JitteredBackoff
    private var nextAttemptNs: UInt64 = 0
    /// While the cold read is being interrupted: the time of the next repetition and the number of repetitions.
    private var unblocking: (nextNs: UInt64, repetitions: Int)?
    /// Whether the server does not identify itself, so that two connections may lead to different ones.
    private var isAnonymous = false
    /// The time until which all streams share the first connection, because the second failed.
    private var sharedUntilNs: UInt64 = 0
    private var movingUntilNs: UInt64?
    /// Whether reading the moving slot ended with a refusal.
    private var wasMovingRefused = false

    /// - Parameter random: returns a number in a range, for back-off.
    package init(_ settings: Settings, random: @escaping (ClosedRange<Int>) -> Int) {
        self.settings = settings
        self.random = random
        backoff = JitteredBackoff(minMs: settings.reconnectMinMs, maxMs: settings.reconnectMaxMs)
    }

    // MARK: Actions

    package enum Action: Equatable, Sendable {
        /// Take the consumer's requests and report `requested`.
        case takeRequests
        /// Sleep until that time (nil: no limit) or an interruption by the consumer's side.
        case sleep(untilNs: UInt64?)
        /// Report `connected` or `connectFailed`.
        case connect(Lane)
        /// Fetch the stream at each position, on the lane's connection, and report `compared`.
        case compare(Lane, [Position])
        /// Send the read; its answer is awaited later.
        case read(Lane, Read)
        /// Wait for answers on these lanes, until that time or an interruption by the consumer's side; report
        /// `watched`.
        case watch(hot: Bool, cold: Bool, untilNs: UInt64)
        /// Decode the answer that has arrived and report `replied`. `parts` is the number of its replies.
        case takeReply(Lane, parts: Int)
        /// Read one stream of a moving slot without blocking and report `movingReplied`.
        case readMoving(Position, maxEntries: Int)
        /// Hand the batches to the consumer and report `delivered`.
        case deliver([StreamBatch])
        /// End the consumer's read with an error.
        case fail(BrokerError)
        /// Interrupt the cold lane's read.
        case unblock
        /// Drop the lane's connection.
        case close(Lane)
        /// Drop all connections.
        case disconnect(Loss)
        case countReconnect
    }

    /// Returns the next action. An action that names a report is followed by that report, or by `failed` if its
    /// connection failed.
    package mutating func next(nowNs: UInt64) -> Action {
        while true {
            if !pending.isEmpty { return pending.removeFirst() }
            switch phase {
            case .requests: return .takeRequests
            case .sleep(let untilNs):
                phase = .requests
                return .sleep(untilNs: untilNs)
            case .send(let sending): if let action = send(sending, nowNs) { return action }
            case .watch: if let action = watch(nowNs) { return action }
            case .deliver(let readings): return .deliver(readings.map(\.batch))
            case .moving(let left, _):
                guard let name = left.last else { contradiction("next") }
                return .readMoving(streams.position(of: name), maxEntries: maxEntries)
            case .connect, .compare, .reply, .confirm: contradiction("next")
            }
        }
    }

    /// Returns nil when all reads are sent.
    private mutating func send(_ sending: Sending, _ nowNs: UInt64) -> Action? {
        guard let (lane, named) = sending.reads.first else {
            for lane in connections.closeUnused() { pending.append(.close(lane)) }
            if unblocking == nil, connections.isAnyLeftOut(sending.streams) {
                unblock(nowNs)
            }
            phase = .watch
            return nil
        }
        guard connections.isConnected(lane) else {
            phase = .connect(lane, sending)
            return .connect(lane)
        }
        if !sending.isCompared {
            let suspects = named.map(\.name).filter { streams[$0].isSuspect(at: nowNs) }
            if !suspects.isEmpty {
                phase = .compare(suspects, sending)
                return .compare(lane, suspects.map { streams.position(of: $0) })
            }
        }
        phase = .send(sending.afterFirst())
        return .read(lane, read(lane, named, nowNs))
    }

    private mutating func read(_ lane: Lane, _ named: [ReadLanes.Stream], _ nowNs: UInt64) -> Read {
        let hasCompany = connections.isIdle(lane) && named.count > 1
        let hot = hasCompany ? named.filter { streams[$0.name].isHot(at: nowNs) } : []
        connections.sent(lane, named, hasPlainRead: !hot.isEmpty, count: maxEntries, nowNs: nowNs)
        func positions(_ named: [ReadLanes.Stream]) -> [Position] {
            named.map { Position(stream: $0.name, cursor: $0.start.cursor) }
        }
        return Read(
            blocking: positions(named),
            // The plain read returns the remaining entries of hot streams; of the others, this count suffices to detect
            // a long read.
            blockingCount: hot.isEmpty ? maxEntries : min(maxEntries, StreamAppend.lengthMaxFloor),
            blockMs: settings.blockMs, plain: positions(hot), plainCount: maxEntries)
    }

    /// Returns nil if no read is in flight.
    private mutating func watch(_ nowNs: UInt64) -> Action? {
        if let (lane, parts) = connections.answeredLane(nowNs: nowNs) {
            phase = .reply(lane)
            return .takeReply(lane, parts: parts)
        }
        guard let silentNs = connections.silentNs(afterMs: settings.silenceMaxMs) else {
            phase = .requests
            return nil
        }
        return .watch(
            hot: !connections.isFree(.hot), cold: !connections.isFree(.cold),
            untilNs: min(silentNs, unblocking?.nextNs ?? .max))
    }

    private mutating func unblock(repetitions: Int = 0, _ nowNs: UInt64) {
        unblocking = (nowNs.addingMs(Int(Self.unblockBackoff.delayMs(after: repetitions))), repetitions)
        if connections.isConnected(.cold) { pending.append(.unblock) }
    }

    // MARK: Reports

    /// - Parameter maxEntries: the limit for each stream; nil if the consumer does not wait for a read.
    package mutating func requested(_ changes: Changes, maxEntries: Int?, nowNs: UInt64) {
        guard case .requests = phase else { contradiction("requested") }
        streams.change(changes)
        guard let maxEntries, !streams.isEmpty else {
            phase = .sleep(untilNs: nil)
            return
        }
        self.maxEntries = maxEntries
        if nowNs < nextAttemptNs, !connections.isAnyConnected {
            phase = .sleep(untilNs: nextAttemptNs)
        } else if let movingUntilNs, nowNs < movingUntilNs {
            phase = .moving(left: streams.names, [])
        } else {
            movingUntilNs = nil
            let all = streams.forLanes(mayBeHot: !isAnonymous && nowNs >= sharedUntilNs, nowNs: nowNs)
            phase = .send(Sending(streams: all, reads: connections.nextReads(all)[...]))
        }
    }

    /// Ends a pause because another server may have the streams now. Call it before `requested`.
    /// - Parameter isCurrent: whether the connections still lead to the right server.
    package mutating func serverMayHaveMoved(isCurrent: Bool, nowNs: UInt64) {
        if !isCurrent { lose(.lost("no longer the primary"), nowNs) }
        backoff.reset()
        if !connections.isAnyConnected { nextAttemptNs = 0 }
    }

    package mutating func connected(server: String, isIdentified: Bool, nowNs: UInt64) {
        guard case .connect(let lane, let sending) = phase else { contradiction("connected") }
        if lane == .hot, !isIdentified {
            isAnonymous = true
            pending.append(.close(.hot))
            phase = !connections.isConnected(.cold) ? .requests : .send(sending.afterFirst())
        } else if (connections.server ?? server) != server {
            lose(.lost("another server answers"), nowNs)
        } else {
            if hasLostConnection { pending.append(.countReconnect) }
            hasLostConnection = false
            connections.connected(lane, server: server)
            phase = .send(sending)
        }
    }

    package mutating func connectFailed(nowNs: UInt64) {
        guard case .connect(let lane, let sending) = phase else { contradiction("connectFailed") }
        if lane == .hot, connections.isConnected(.cold) {
            sharedUntilNs = nowNs.addingMs(settings.reconnectMaxMs)
            phase = .send(sending.afterFirst())
        } else {
            lose(.unreachable, nowNs)
        }
    }

    /// Reports that a connection failed while an action used it.
    package mutating func failed(_ reason: String, nowNs: UInt64) { lose(.lost(reason), nowNs) }

    private mutating func lose(_ loss: Loss, _ nowNs: UInt64) {
        if connections.isAnyConnected { hasLostConnection = true }
        connections.lost()
        unblocking = nil
        streams.uncover()
        movingUntilNs = nil
        nextAttemptNs = nowNs.addingMs(backoff.nextMs(random))
        pending.append(.disconnect(loss))
        phase = .requests
    }

    /// - Parameter found: the comparisons in the order of the positions.
    package mutating func compared(_ found: Result<[Comparison], Refusal>, nowNs: UInt64) {
        let comparisons: [Comparison]
        switch found {
        case .failure(let refusal): return refused(refusal, nowNs)
        case .success(let found): comparisons = found
        }
        guard let server = connections.server else { contradiction("compared") }
        switch phase {
        case .compare(let suspects, var sending):
            guard suspects.count == comparisons.count else { contradiction("compared") }
            var signals: [Reading] = []
            for (name, comparison) in zip(suspects, comparisons) {
                if let signal = streams.compare(name, comparison, server: server, nowNs: nowNs) {
                    signals.append(signal)
                }
            }
            sending.isCompared = true
            phase = signals.isEmpty ? .send(sending) : .deliver(signals)
        case .confirm(let indices, var readings):
            guard indices.count == comparisons.count else { contradiction("compared") }
            for (index, comparison) in zip(indices, comparisons) {
                streams.confirm(&readings[index], comparison, server: server, nowNs: nowNs)
            }
            deliver(readings, nowNs)
        case .requests, .sleep, .send, .connect, .watch, .reply, .deliver, .moving: contradiction("compared")
        }
    }

    /// - Parameter sinceNs: when the wait began.
    package mutating func watched(_ watched: Watched, sinceNs: UInt64, nowNs: UInt64) {
        guard case .watch = phase, let silentNs = connections.silentNs(afterMs: settings.silenceMaxMs) else {
            contradiction("watched")
        }
        var (hot, cold) = (false, false)
        if case .readable(let isHot, let isCold) = watched { (hot, cold) = (isHot, isCold) }
        connections.watched(hot: hot, cold: cold, sinceNs: sinceNs, nowNs: nowNs)
        switch watched {
        case .readable: break
        case .interrupted where nowNs >= silentNs, .elapsed where nowNs >= silentNs: lose(.lost("no answer"), nowNs)
        case .interrupted(let reason):
            if reason.isClosed {
                phase = .requests
            } else if reason.isMoved {
                lose(.lost("no longer the primary"), nowNs)
            } else if reason.hasChanges, !connections.isFree(.cold) {
                if unblocking == nil { unblock(nowNs) }
            } else if reason.hasChanges || !reason.isReading {
                // Without a consumer, the answer stays in the connection until there is one.
                phase = .requests
            }
        case .elapsed:
            guard let unblocking, nowNs >= unblocking.nextNs else { return }
            unblock(repetitions: unblocking.repetitions + 1, nowNs)
        }
    }

    /// - Parameter answers: one for each part of the read.
    package mutating func replied(_ answers: [Result<[StreamBatch], Refusal>], nowNs: UInt64) {
        guard case .reply(let lane) = phase, let first = answers.first else { contradiction("replied") }
        let (requested, heardNs, count) = connections.answered(lane)
        if lane == .cold { unblocking = nil }
        backoff.reset()
        let batches: [StreamBatch]
        switch Self.merged(first, answers.dropFirst().first) {
        case .failure(let refusal): return refused(refusal, nowNs)
        case .success(let merged): batches = merged
        }
        streams.cover(requested, untilNs: heardNs)
        let longMin = min(count, StreamAppend.lengthMaxFloor)
        let readings = streams.readings(batches, requested: requested, maxEntries: maxEntries, longMin: longMin)
        let long = readings.indices.filter { readings[$0].isLong }
        if long.isEmpty { return deliver(readings, nowNs) }
        phase = .confirm(long, readings)
        pending.append(.compare(lane, long.map { streams.position(of: readings[$0].batch.stream) }))
    }

    /// Merges the parts of an answer. The second has at least as many entries of each stream that both return.
    private static func merged(
        _ first: Result<[StreamBatch], Refusal>, _ second: Result<[StreamBatch], Refusal>?
    ) -> Result<[StreamBatch], Refusal> {
        guard case .success(let batches) = first, let second else { return first }
        return second.map { more in more + batches.filter { one in !more.contains { $0.stream == one.stream } } }
    }

    private mutating func deliver(_ readings: [Reading], _ nowNs: UInt64) {
        phase = readings.isEmpty ? .requests : .deliver(streams.advanced(readings, nowNs: nowNs))
    }

    private mutating func refused(_ refusal: Refusal, _ nowNs: UInt64) {
        switch refusal {
        case .slotIsMoving(let error):
            lose(.lost("its slot is moving: \(error.detail)"), nowNs)
            movingUntilNs = nowNs.addingMs(Self.movingMaxMs)
            // The rounds begin at once, unless the last one ended with a refusal.
            if !wasMovingRefused { nextAttemptNs = 0 }
            wasMovingRefused = false
        case .failed(let error) where error.code == .unavailable: lose(.refused(error.detail), nowNs)
        case .failed(let error):
            pending.append(.fail(error))
            phase = .requests
        }
    }

    /// - Parameter answer: a failure may mean that the move is over.
    package mutating func movingReplied(_ answer: Result<[StreamBatch], BrokerError>, nowNs: UInt64) {
        guard case .moving(var left, var readings) = phase else { contradiction("movingReplied") }
        left.removeLast()
        switch answer {
        case .failure:
            wasMovingRefused = true
            movingUntilNs = nil
            left = []
        case .success(let batches): readings += batches.compactMap { streams.reading($0, nowNs: nowNs) }
        }
        if !left.isEmpty {
            phase = .moving(left: left, readings)
        } else if !readings.isEmpty {
            phase = .deliver(readings)
        } else {
            phase = movingUntilNs == nil ? .requests : .sleep(untilNs: nowNs.addingMs(Self.movingPauseMs))
        }
    }

    /// - Parameter taken: the streams whose batches the consumer took; the others are read again.
    package mutating func delivered(_ taken: Set<String>) {
        guard case .deliver(let readings) = phase else { contradiction("delivered") }
        streams.deliver(readings, taken: taken)
        phase = .requests
    }

    private func contradiction(_ what: String) -> Never {
        preconditionFailure("\(what) in phase \(phase.name), \(connections)")
    }
}
