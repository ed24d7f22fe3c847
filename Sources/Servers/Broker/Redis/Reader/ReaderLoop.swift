import Clocks
import LiveModel
import Logging
import Streams

/// The operations of the command connections that a reader's thread needs.
protocol ReaderHelper: Sendable {
    /// Interrupts the blocking read on a connection.
    func unblock(_ connection: RedisConnection)
    func countReconnect()
}

/// The thread behind a reader: performs the actions of a `ReadPlan` on its own connections and reports their results.
/// Never leaves its thread.
struct ReaderLoop {
    private typealias Lane = ReadPlan.Lane

    private let inbox: ReaderInbox
    private let resolver: any RedisEndpointResolver
    private let name: String
    private let logger: Logger
    private let helper: any ReaderHelper
    private var plan: ReadPlan
    private var hot: RedisConnection?
    private var cold: RedisConnection?
    private var movingSlot: MovingSlot?
    private var resolverVersion = 0

    init(
        _ inbox: ReaderInbox, _ configuration: RedisConfiguration, resolver: any RedisEndpointResolver, name: String,
        helper: any ReaderHelper, logger: Logger
    ) {
        self.inbox = inbox
        self.resolver = resolver
        self.name = name
        self.helper = helper
        self.logger = logger
        let settings = ReadPlan.Settings(
            blockMs: min(configuration.readBlockMs, resolver.blockMsMax),
            silenceMaxMs: configuration.readBlockMs + configuration.commandTimeoutMs,
            reconnectMinMs: configuration.reconnectMinMs, reconnectMaxMs: configuration.reconnectMaxMs)
        plan = ReadPlan(settings) { Int.random(in: $0) }
    }

    /// Runs until the reader is closed.
    mutating func run() {
        var isOpen = true
        while isOpen {
            do throws(RedisConnection.Failure) {
                isOpen = try perform(plan.next(nowNs: MonotonicClock.nowNs()))
            } catch {
                plan.failed(error.reason, nowNs: MonotonicClock.nowNs())
            }
        }
        (hot, cold, movingSlot) = (nil, nil, nil)
        inbox.end()
    }

    /// - Returns: false when the reader was closed.
    private mutating func perform(_ action: ReadPlan.Action) throws(RedisConnection.Failure) -> Bool {
        switch action {
        case .takeRequests: return takeRequests()
        case .sleep(let untilNs): _ = inbox.wake.wait(waitMs: untilNs.map { msUntil($0) })
        case .connect(let lane): connect(lane)
        case .compare(let lane, let positions):
            let found = try compare(positions, on: try connection(of: lane))
            plan.compared(found, nowNs: MonotonicClock.nowNs())
        case .read(let lane, let read): try send(read, on: try connection(of: lane))
        case .watch(let hot, let cold, let untilNs): watch(hot: hot, cold: cold, untilNs: untilNs)
        case .takeReply(let lane, let parts):
            let connection = try connection(of: lane)
            var answers: [Result<[StreamBatch], ReadPlan.Refusal>] = []
            for _ in 0..<parts {
                let answer = try connection.reply(StreamBatch.decodeAll)
                answers.append(answer.mapError { refused($0, by: connection) })
            }
            plan.replied(answers, nowNs: MonotonicClock.nowNs())
        case .readMoving(let position, let maxEntries): try readMoving(position, maxEntries: maxEntries)
        case .deliver(let batches): plan.delivered(inbox.deliver(batches))
        case .fail(let error): inbox.fail(error)
        case .unblock: if let cold { helper.unblock(cold) }
        case .close(.hot): hot = nil
        case .close(.cold): cold = nil
        case .disconnect(let loss): disconnect(loss)
        case .countReconnect: helper.countReconnect()
        }
        return true
    }

    private mutating func takeRequests() -> Bool {
        let (changes, maxEntries, isClosed) = inbox.take()
        if isClosed { return false }
        if resolver.version != resolverVersion {
            resolverVersion = resolver.version
            plan.serverMayHaveMoved(isCurrent: isCurrent, nowNs: MonotonicClock.nowNs())
        }
        plan.requested(changes, maxEntries: maxEntries, nowNs: MonotonicClock.nowNs())
        return true
    }

    private var isCurrent: Bool {
        (hot.map { resolver.isCurrent($0.endpoint) } ?? true) && (cold.map { resolver.isCurrent($0.endpoint) } ?? true)
    }

    // MARK: Connections

    private func connection(of lane: Lane) throws(RedisConnection.Failure) -> RedisConnection {
        guard let connection = lane == .hot ? hot : cold else {
            preconditionFailure("the plan uses the \(lane) lane, which is not connected")
        }
        return connection
    }

    private mutating func connect(_ lane: Lane) {
        movingSlot = nil
        do throws(RedisConnection.Failure) {
            let made = try resolver.connect(name: name)
            switch lane {
            case .hot: hot = made
            case .cold: cold = made
            }
            plan.connected(server: made.serverID, isIdentified: made.isIdentified, nowNs: MonotonicClock.nowNs())
        } catch {
            plan.connectFailed(nowNs: MonotonicClock.nowNs())
        }
    }

    private mutating func disconnect(_ loss: ReadPlan.Loss) {
        (hot, cold, movingSlot) = (nil, nil, nil)
        resolver.failed()
        if let reason = loss.reason {
            logger.warning("redis reader lost its connection", metadata: ["reason": "\(reason)"])
        }
    }

    // MARK: Reading

    private func send(_ read: ReadPlan.Read, on connection: RedisConnection) throws(RedisConnection.Failure) {
        var commands = CommandBuffer()
        commands.addRead(count: read.blockingCount, blockMs: read.blockMs, read.blocking)
        if !read.plain.isEmpty { commands.addRead(count: read.plainCount, read.plain) }
        try connection.write(commands.bytes)
        try connection.flush()
    }

    private mutating func watch(hot watchesHot: Bool, cold watchesCold: Bool, untilNs: UInt64) {
        let sinceNs = MonotonicClock.nowNs()
        let (isRaised, isHotReadable, isColdReadable) = inbox.wake.wait(
            sockets: (watchesHot ? hot?.fd : nil, watchesCold ? cold?.fd : nil), waitMs: msUntil(untilNs))
        let nowNs = MonotonicClock.nowNs()
        var watched = ReadPlan.Watched.elapsed
        if isHotReadable || isColdReadable {
            watched = .readable(hot: isHotReadable, cold: isColdReadable)
        } else if isRaised {
            var interruption = inbox.interruption()
            interruption.isMoved = resolver.version != resolverVersion && !isCurrent
            watched = .interrupted(interruption)
        }
        plan.watched(watched, sinceNs: sinceNs, nowNs: nowNs)
    }

    private mutating func readMoving(
        _ position: ReadPlan.Position, maxEntries: Int
    ) throws(RedisConnection.Failure) {
        var slot = movingSlot ?? MovingSlot(resolver, name: name)
        movingSlot = nil
        var command = CommandBuffer()
        command.addRead(count: maxEntries, [position])
        let answer = try slot.answer(command).mapError(\.brokerError)
        movingSlot = slot
        if case .failure(let error) = answer {
            logger.info("reading of a moving slot ends", metadata: ["reason": "\(error.detail)"])
        }
        plan.movingReplied(answer, nowNs: MonotonicClock.nowNs())
    }

    private func compare(
        _ positions: [ReadPlan.Position], on connection: RedisConnection
    ) throws(RedisConnection.Failure) -> Result<[ReadPlan.Comparison], ReadPlan.Refusal> {
        var commands = CommandBuffer()
        for position in positions {
            let cursor = position.cursor.description
            commands.add(["XINFO", "STREAM", position.stream])
            commands.add(["XRANGE", position.stream, cursor, cursor])
        }
        let values = try connection.call(commands)
        do throws(StreamReplyError) {
            var found: [ReadPlan.Comparison] = []
            for index in positions.indices {
                let info = try StreamInfo.decode(values[2 * index])
                found.append(.init(info: info, cursorExists: !(values[2 * index + 1].array ?? []).isEmpty))
            }
            return .success(found)
        } catch {
            return .failure(refused(error, by: connection))
        }
    }

    /// Reports a refusal to the resolver, so that a redirection is followed without waiting for the next map.
    private func refused(_ error: StreamReplyError, by connection: RedisConnection) -> ReadPlan.Refusal {
        guard case .refused(let failure) = error else { return .failed(error.brokerError) }
        resolver.refused(failure, by: connection.endpoint)
        return failure.isSlotMoving ? .slotIsMoving(error.brokerError) : .failed(error.brokerError)
    }
}

extension CommandBuffer {
    /// - Parameter blockMs: nil for a read that does not block.
    fileprivate mutating func addRead(count: Int, blockMs: Int? = nil, _ positions: [ReadPlan.Position]) {
        begin(argumentCount: 4 + (blockMs == nil ? 0 : 2) + 2 * positions.count)
        argument(literal: "XREAD")
        argument(literal: "COUNT")
        argument(count)
        if let blockMs {
            argument(literal: "BLOCK")
            argument(blockMs)
        }
        argument(literal: "STREAMS")
        for position in positions { argument(position.stream) }
        for position in positions { argument(position.cursor) }
    }
}
